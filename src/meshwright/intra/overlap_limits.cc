// With K seconds of kernels, C of collectives, O during which both run and the share c that a
// hidden second costs, a step takes
//
//   end + c max(0, K + C - end),  where  end >= K + C - O,
//
// which grows with `end`, so it takes K + C - (1 - c) O or more. A collective overlaps only with
// kernels that neither come before its operand's producer nor after its users; what they take under
// their slowest strategies is I. So O is at most the sum of min(C_e, I_e) over all collectives, and
// the step at least
//
//   K + sum over collectives of  C_e - (1 - c) min(C_e, I_e),
//
// a sum over operators and moves as the assignment problem has it. Collectives that are combined
// take at least the sum of what CombinedCostModel charges for each, overlap with no kernel that one
// of them cannot overlap with, and the term above grows with C and does not grow with I, so that
// the sum stays a bound. A move that no other move can run in parallel with is never combined.
//
// A value that is moved in the same way for several of its users is moved once. Each of the k that
// may share a move counts for one part in k of it, with the largest I of them.
//
// Reachability takes bits quadratic in the number of operators; of programs for which that is too
// much every I counts as unlimited, and the bound is a weaker one.

#include "meshwright/intra/overlap_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "meshwright/intra/timeline.h"

namespace meshwright {
namespace {

constexpr int64_t kMostReachabilityBytes = int64_t{256} << 20;
constexpr double kGridRatio = 1.01;

std::vector<int64_t> Sizes() {
  std::vector<int64_t> sizes;
  for (double size = 1; size < static_cast<double>(kCombinedBytes); size *= kGridRatio) {
    const auto bytes = static_cast<int64_t>(size);
    if (sizes.empty() || bytes > sizes.back()) sizes.push_back(bytes);
  }
  sizes.push_back(kCombinedBytes);
  return sizes;
}

// Sets of a graph's operators, one for each operator.
class OperatorSets {
 public:
  explicit OperatorSets(size_t operators)
      : words_((operators + 63) / 64), bits_(operators * words_, 0) {}
  static int64_t Bytes(size_t operators) {
    return static_cast<int64_t>(operators) * static_cast<int64_t>((operators + 63) / 64) * 8;
  }
  void Add(size_t set, size_t op) { Of(set)[op / 64] |= uint64_t{1} << (op % 64); }
  void AddAll(size_t set, size_t other) {
    uint64_t* const to = Of(set);
    const uint64_t* const from = Of(other);
    for (size_t w = 0; w < words_; ++w) to[w] |= from[w];
  }
  const uint64_t* Of(size_t set) const { return &bits_[set * words_]; }
  size_t words() const { return words_; }

 private:
  uint64_t* Of(size_t set) { return &bits_[set * words_]; }

  size_t words_;
  std::vector<uint64_t> bits_;
};

// A value that may be moved: after its producer, before `users`.
struct Move {
  OpId producer;
  std::vector<OpId> users;
  double runs = 1;
};

class LimitFinder {
 public:
  LimitFinder(const ProblemInputs& in, const PlanningProblem& planning)
      : graph_(in.graph),
        known_(2 * OperatorSets::Bytes(in.graph.ops.size()) <= kMostReachabilityBytes),
        before_(known_ ? in.graph.ops.size() : 0),
        after_(known_ ? in.graph.ops.size() : 0) {
    if (!known_) return;
    const size_t n = graph_.ops.size();
    for (size_t i = 0; i < n; ++i) {
      before_.Add(i, i);
      after_.Add(i, i);
      for (ValueId v : graph_.ops[i].operands) before_.AddAll(i, graph_[v].producer.index());
    }
    for (size_t i = n; i-- > 0;) {
      for (ValueId v : graph_.ops[i].operands) after_.AddAll(graph_[v].producer.index(), i);
    }
    seconds_.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      const solve::NodeId node = planning.node_of_op[i];
      if (!node.valid() || !in.groups.is_leader(OpId(i))) continue;
      const PlanningNode& of = planning.nodes[node.index()];
      if (of.kind != PlanningNode::Kind::kGroup) continue;
      for (int32_t s : of.allowed)
        seconds_[i] = std::max(seconds_[i], of.set->cost[s] * graph_.ops[i].multiplicity);
    }
    // What is fused may have to be stored.
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (!IsStoredForMove(in, ValueId(v))) continue;
      const Value& value = graph_.values[v];
      seconds_[value.producer.index()] +=
          StoreSeconds(in, ValueId(v), Sharding::Replicated(value.shape.rank())) *
          graph_[value.producer].multiplicity;
    }
  }

  bool known() const { return known_; }

  // What the kernels that can run beside `move` take at most.
  double Limit(const Move& move) const {
    const std::vector<uint64_t> ordered = Ordered(move);
    double seconds = 0;
    for (size_t w = 0; w < ordered.size(); ++w) {
      for (uint64_t rest = ~ordered[w]; rest != 0; rest &= rest - 1) {
        const size_t op = 64 * w + static_cast<size_t>(__builtin_ctzll(rest));
        if (op >= seconds_.size()) break;
        seconds += seconds_[op];
      }
    }
    return seconds;
  }

  bool MayOverlap(const Move& a, const Move& b) const { return !Follows(a, b) && !Follows(b, a); }

 private:
  // Operators before the producer or after a user.
  std::vector<uint64_t> Ordered(const Move& move) const {
    const uint64_t* const before = before_.Of(move.producer.index());
    std::vector<uint64_t> ordered(before, before + before_.words());
    for (OpId user : move.users) {
      const uint64_t* const after = after_.Of(user.index());
      for (size_t w = 0; w < ordered.size(); ++w) ordered[w] |= after[w];
    }
    return ordered;
  }

  // Whether `b` waits for `a`.
  bool Follows(const Move& a, const Move& b) const {
    const uint64_t* const before = before_.Of(b.producer.index());
    return std::any_of(a.users.begin(), a.users.end(), [&](OpId user) {
      return (before[user.index() / 64] >> (user.index() % 64) & 1) != 0;
    });
  }

  const Graph& graph_;
  const bool known_;
  OperatorSets before_, after_;
  std::vector<double> seconds_;  // by op: under its slowest strategy
};

// Gives moves of one value for several users their shares.
void ShareMoves(const PlanningProblem& planning, MovePricing* pricing) {
  absl::flat_hash_map<int32_t, std::vector<size_t>> edges_of;  // by value
  for (size_t e = 0; e < planning.edges.size(); ++e) {
    const PlanningEdge& edge = planning.edges[e];
    if (edge.to != planning.offered[edge.value.index()]) edges_of[edge.value.value].push_back(e);
  }
  for (const auto& [value, edges] : edges_of) {
    size_t users = 0;
    double most_hidden = 0;
    for (size_t e : edges) {
      users += 1 + planning.edges[e].also.size();
      most_hidden = std::max(most_hidden, pricing->edges[e].most_hidden);
    }
    if (users == 1) continue;
    for (size_t e : edges) {
      pricing->edges[e].share = 1.0 / static_cast<double>(users);
      pricing->edges[e].most_hidden = most_hidden;
    }
  }
}

}  // namespace

CombinedCostModel::CombinedCostModel(const CostModel& prices)
    : CostModel(prices.mesh()), prices_(prices), sizes_(Sizes()) {}

const CombinedCostModel::Rates& CombinedCostModel::RatesOf(CollectiveKind kind,
                                                           const AxisList& axes) const {
  Rates& rates = rates_[{static_cast<int>(kind), axes}];
  if (!rates.empty()) return rates;
  rates.resize(sizes_.size());
  double least = std::numeric_limits<double>::infinity();
  // Times grow with size: between two sizes of the grid a byte costs no less than the time at the
  // smaller one over the bytes of the larger one.
  for (size_t i = sizes_.size(); i-- > 0;) {
    const int64_t next = i + 1 < sizes_.size() ? sizes_[i + 1] : sizes_[i];
    const double seconds = prices_.CollectiveSeconds(kind, axes, sizes_[i]) +
                           CombinedCopySeconds(prices_, kind, sizes_[i]);
    least = std::min(least, seconds / static_cast<double>(next));
    rates[i] = least;
  }
  return rates;
}

double CombinedCostModel::CollectiveSeconds(CollectiveKind kind, const AxisList& axes,
                                            int64_t bytes) const {
  const double alone = prices_.CollectiveSeconds(kind, axes, bytes);
  if (bytes <= 0 || bytes >= kCombinedBytes) return alone;
  const Rates& rates = RatesOf(kind, axes);
  const auto above = std::upper_bound(sizes_.begin(), sizes_.end(), bytes);
  const auto grid = static_cast<size_t>(above - sizes_.begin()) - 1;
  return std::min(alone, static_cast<double>(bytes) * rates[grid]);
}

MovePricing PricingOfBound(const ProblemInputs& inputs, const CandidateSets& sets,
                           const PlanningProblem& planning, const Overlap& overlap) {
  const Graph& graph = inputs.graph;
  const LimitFinder finder(inputs, planning);
  const std::vector<OpId> exits = LoopExits(graph);
  MovePricing pricing;
  pricing.nodes.resize(planning.nodes.size());
  pricing.edges.resize(planning.edges.size());
  std::vector<std::pair<Move, MoveTerms*>> moves;
  for (size_t i = 0; i < planning.nodes.size(); ++i) {
    const PlanningNode& node = planning.nodes[i];
    if (node.kind != PlanningNode::Kind::kParameter || node.set->stored == node.set->results[0])
      continue;
    moves.push_back({{node.op, graph[node.value].users, 1}, &pricing.nodes[i]});
  }
  for (size_t e = 0; e < planning.edges.size(); ++e) {
    const PlanningEdge& edge = planning.edges[e];
    const OpId producer = graph[edge.value].producer;
    std::vector<OpId> users;
    if (edge.user == producer) {
      users = graph[edge.value].users;
    } else if (const OpId waits = WaitsForMove(graph, exits, edge.value, edge.user);
               waits.valid()) {
      users = {waits};
    }
    moves.push_back({{producer, std::move(users), edge.multiplicity}, &pricing.edges[e]});
  }
  absl::flat_hash_map<std::pair<int32_t, int32_t>, double> limits;  // by producer and single user
  for (auto& [move, terms] : moves) {
    terms->discount = 1 - overlap.cost;
    terms->combined = move.runs == 1;
    if (!finder.known()) continue;
    double limit;
    if (move.users.size() == 1) {
      const auto [known, fresh] = limits.try_emplace({move.producer.value, move.users[0].value}, 0);
      if (fresh) known->second = finder.Limit(move);
      limit = known->second;
    } else {
      limit = finder.Limit(move);
    }
    // Rounded up to a power of two, so that moves share matrices.
    terms->most_hidden = limit > 0 ? std::exp2(std::ceil(std::log2(limit))) : 0;
  }
  ShareMoves(planning, &pricing);
  if (!finder.known()) return pricing;
  for (auto& [move, terms] : moves) {
    if (!terms->combined) continue;
    terms->combined = std::any_of(moves.begin(), moves.end(), [&, &move = move](const auto& other) {
      return other.first.runs == 1 && &other.first != &move && finder.MayOverlap(move, other.first);
    });
  }
  return pricing;
}

}  // namespace meshwright
