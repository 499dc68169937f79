#include "meshwright/blocks/contractions.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "meshwright/sharding/rule.h"

// For y = x w the backward phase computes dx = dy w' and dw = x' dy. Both share an operand with the
// forward matmul, and contract just the dimensions of it that the forward matmul keeps. Siblings
// (queries, keys and values) share x as well: which of their weights a dw is for shows from dy,
// once the dx that takes the same dy is known. Where the weights are used again (micro-batches one
// after the other) a dx may belong to each use, and only both together tell.

namespace meshwright {
namespace {

// Inner products (of a norm) are none: they are no more work than a sum.
bool IsContraction(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kInstruction || op.operands.size() < 2) return false;
  switch (op.instruction->opcode) {
    case Opcode::kDot:
      return graph[op.results[0]].shape.rank() > std::ssize(op.instruction->dot.lhs_batch);
    case Opcode::kConvolution:
    case Opcode::kRaggedDot:
      return true;
    default:
      return false;
  }
}

// The fate of one operand's indices, as ranges of its origin.
struct OperandUse {
  ValueId root;
  IndexRanges contracted, kept;
};

class ContractionMatcher {
 public:
  ContractionMatcher(const Graph& graph, Origins& origins, std::vector<Contraction> contractions)
      : graph_(graph), origins_(origins), contractions_(std::move(contractions)) {}

  std::vector<Contraction> Run() {
    for (size_t c = 0; c < contractions_.size(); ++c) {
      uses_.push_back(UsesOf(contractions_[c].op));
      contractions_[c].forward = static_cast<int32_t>(c);
      if (contractions_[c].phase != Phase::kForward) continue;
      for (const OperandUse& use : uses_[c]) by_root_[use.root].push_back(static_cast<int32_t>(c));
    }
    std::vector<int32_t> open;
    for (size_t c = 0; c < contractions_.size(); ++c) {
      if (contractions_[c].phase != Phase::kBackward) continue;
      const std::vector<Match> matches = MatchesOf(static_cast<int32_t>(c));
      if (matches.size() == 1) {
        Take(static_cast<int32_t>(c), matches[0]);
      } else {
        open.push_back(static_cast<int32_t>(c));
      }
    }
    ResolveTogether(open);
    for (int32_t c : open) {
      if (contractions_[c].forward == c) Resolve(c);
    }
    return std::move(contractions_);
  }

 private:
  struct Match {
    int32_t forward = -1;
    int operand = 0;        // of the later one: that which both share
    bool gradient = false;  // else recomputation
  };

  std::array<OperandUse, 2> UsesOf(OpId id) {
    const Op& op = graph_[id];
    const Rule rule = RuleFor(graph_, op);
    std::array<OperandUse, 2> uses;
    for (size_t i = 0; i < uses.size(); ++i) {
      const Origin& origin = origins_.Of(op.operands[i]);
      uses[i].root = origin.root;
      for (size_t d = 0; d < origin.dims.size(); ++d) {
        for (FactorIndex f : rule.operands[i].dims[d]) {
          const FactorKind kind = rule.factors[f].kind;
          if (kind == FactorKind::kWhole) continue;  // a window
          IndexRanges& ranges = kind == FactorKind::kReduction ? uses[i].contracted : uses[i].kept;
          ranges.insert(ranges.end(), origin.dims[d].begin(), origin.dims[d].end());
          break;  // contractions have a factor a dimension
        }
      }
      uses[i].contracted = Joined(uses[i].contracted);
      uses[i].kept = Joined(uses[i].kept);
    }
    return uses;
  }

  // Matches of `kept`, without what both operands have (batch dimensions): those are kept by all.
  std::vector<Match> MatchesOf(int32_t later) const {
    std::vector<Match> matches;
    for (int i = 0; i < 2; ++i) {
      const OperandUse& use = uses_[later][i];
      const auto users = by_root_.find(use.root);
      if (users == by_root_.end()) continue;
      for (int32_t forward : users->second) {
        for (const OperandUse& other : uses_[forward]) {
          if (other.root != use.root) continue;
          if (use.contracted == other.contracted) {
            if (SharesBoth(later, forward)) matches.push_back({forward, i, false});
          } else if (!use.contracted.empty() && Within(use.contracted, other.kept)) {
            matches.push_back({forward, i, true});
          }
        }
      }
    }
    return matches;
  }

  // Recomputation has the same weights and, of what is computed anew, the same shape.
  bool SharesBoth(int32_t later, int32_t forward) const {
    return graph_[graph_[contractions_[later].op].results[0]].shape ==
           graph_[graph_[contractions_[forward].op].results[0]].shape;
  }

  static bool Within(const IndexRanges& part, const IndexRanges& whole) {
    return std::all_of(part.begin(), part.end(), [&](const IndexRange& range) {
      return std::any_of(whole.begin(), whole.end(), [&](const IndexRange& other) {
        return other.stride <= range.stride &&
               range.stride * range.size <= other.stride * other.size;
      });
    });
  }

  void Take(int32_t later, const Match& match) {
    contractions_[later].forward = match.forward;
    if (match.gradient)
      gradient_of_.try_emplace(uses_[later][1 - match.operand].root, match.forward);
  }

  // What several take for the gradient of a result is that of the only one which all of them can
  // belong with.
  void ResolveTogether(const std::vector<int32_t>& open) {
    std::map<ValueId, std::vector<std::pair<int32_t, std::vector<Match>>>> takers;
    for (int32_t c : open) {
      std::map<ValueId, std::vector<Match>> by_gradient;
      for (const Match& match : MatchesOf(c)) {
        if (match.gradient) by_gradient[uses_[c][1 - match.operand].root].push_back(match);
      }
      for (auto& [gradient, matches] : by_gradient)
        takers[gradient].emplace_back(c, std::move(matches));
    }
    for (const auto& [gradient, group] : takers) {
      if (group.size() < 2 || gradient_of_.contains(gradient)) continue;
      std::map<int32_t, size_t> votes;
      for (const auto& [later, matches] : group) {
        std::set<int32_t> forwards;
        for (const Match& match : matches) forwards.insert(match.forward);
        for (int32_t forward : forwards) ++votes[forward];
      }
      std::vector<int32_t> common;
      for (const auto& [forward, count] : votes) {
        if (count == group.size()) common.push_back(forward);
      }
      if (common.size() != 1) continue;
      for (const auto& [later, matches] : group) contractions_[later].forward = common[0];
      gradient_of_.try_emplace(gradient, common[0]);
    }
  }

  void Resolve(int32_t later) {
    for (const OperandUse& use : uses_[later]) {
      const auto known = gradient_of_.find(use.root);
      if (known == gradient_of_.end()) continue;
      contractions_[later].forward = known->second;
      return;
    }
    // The backward phase goes through the forward one's operators from the last to the first.
    const std::vector<Match> matches = MatchesOf(later);
    for (auto match = matches.rbegin(); match != matches.rend(); ++match) {
      const ValueId gradient = graph_[contractions_[later].op].operands[1 - match->operand];
      const ValueId result = graph_[contractions_[match->forward].op].results[0];
      if (match->gradient && ElementsOf(gradient) != ElementsOf(result)) continue;
      Take(later, *match);
      return;
    }
  }

  int64_t ElementsOf(ValueId v) const { return graph_[v].shape.elements(); }

  const Graph& graph_;
  Origins& origins_;
  std::vector<Contraction> contractions_;
  std::vector<std::array<OperandUse, 2>> uses_;  // by contraction
  std::unordered_map<ValueId, std::vector<int32_t>, absl::Hash<ValueId>>
      by_root_;                                                            // of the forward phase
  std::unordered_map<ValueId, int32_t, absl::Hash<ValueId>> gradient_of_;  // of which one's result
};

}  // namespace

std::vector<Contraction> FindContractions(const Graph& graph, const std::vector<Phase>& phases,
                                          Origins& origins) {
  std::vector<Contraction> contractions;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (IsContraction(graph, graph.ops[i])) contractions.push_back({OpId(i), phases[i]});
  }
  return ContractionMatcher(graph, origins, std::move(contractions)).Run();
}

}  // namespace meshwright
