#include "meshwright/solve/dual_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "meshwright/solve/fixed_multipliers.h"
#include "meshwright/solve/row_slack.h"
#include "meshwright/solve/simd.h"

// The state is a reparametrisation: for every edge e = (a, b) two message vectors t_a, t_b that are
// added to the nodes and taken off the edge. Whatever the messages are, every choice costs the same
// as before, so
//
//   sum_v min_s (c_v + sum_e t_v)(s)  +  sum_e min (M_e - t_a - t_b)   <=   optimum.
//
// A pass keeps the edges' minima at 0 or above, so the bound is the sum over the nodes. Visiting
// node v in order:
//   pull  t_v(s) = min_s' (M_e(s', s) - t_u(s'))  from each neighbour u visited before it in this
//   pass,
//         which makes the edge's minimum zero for every s;
//   push  the same share of what v's strategies cost above the cheapest onto each edge to a later
//   neighbour,
//         share = 1 / max(earlier, later neighbours).
// That is TRW-S (Kolmogorov, "Convergent tree-reweighted message passing", PAMI 2006) in the
// notation of SRMP: the bound never falls, and its fixed points satisfy weak tree agreement.
// Messages are integers in units of 2^-scale: shares are rounded down and what rounding leaves
// stays with the node, so nothing has to be proven about errors.
//
// Rows are relaxed with Lagrange multipliers p >= 0: usage costs p, capacity earns it. With usage
// costs rounded down and the earnings rounded up the inequality above holds for the original
// problem.
//
// In a state with edges >= 0, a choice with strategy s at v costs at least bound + total_v(s) - min
// total_v: the reduced cost (min-marginal) by which AllowedBelow removes strategies against an
// incumbent. The totals that a pass leaves behind are older than the pushes of the same pass: good
// guides for a search, no proof.
//
// A pass costs one look at every matrix entry. Left out: higher-order consistency (cycles, rows as
// factors), so on loopy cores a gap to the optimum remains that branching has to close.

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr Number kScaledInf = Number{1} << (kWide ? 96 : 61);
constexpr Int128 kMostMoved = kInf / 16;

// out[j] = min over i of in[i] + m[i * cols + j]
MW_SIMD void MinOverRows(const Number* __restrict m, const Number* __restrict in,
                         Number* __restrict out, int32_t rows, int32_t cols) {
  for (int32_t j = 0; j < cols; ++j) out[j] = kScaledInf;
  for (int32_t i = 0; i < rows; ++i) {
    const Number add = in[i];
    const Number* __restrict row = m + static_cast<int64_t>(i) * cols;
    for (int32_t j = 0; j < cols; ++j) {
      const Number sum = row[j] + add;
      out[j] = sum < out[j] ? sum : out[j];
    }
  }
}

// out[i] = min over j of in[j] + m[i * cols + j]
MW_SIMD void MinOverCols(const Number* __restrict m, const Number* __restrict in,
                         Number* __restrict out, int32_t rows, int32_t cols) {
  for (int32_t i = 0; i < rows; ++i) {
    const Number* __restrict row = m + static_cast<int64_t>(i) * cols;
    Number least = kScaledInf;
    for (int32_t j = 0; j < cols; ++j) {
      const Number sum = row[j] + in[j];
      least = sum < least ? sum : least;
    }
    out[i] = least;
  }
}

}  // namespace

DualBound::DualBound(const Model& model)
    : capacity_(model.capacity), multipliers_(model.capacity.size(), 0.0) {
  const int32_t n = model.size();
  absl::flat_hash_map<const Matrix*, int32_t> seen;
  for (const ModelEdge& edge : model.edges)
    seen.try_emplace(edge.matrix.get(), static_cast<int32_t>(seen.size()));
  scale_ = CostScale(model);
  const auto scaled = [this](Number c) { return IsInf(c) ? kScaledInf / 2 : c << scale_; };

  std::vector<int32_t> degree(n, 0);
  for (const ModelEdge& edge : model.edges) {
    ++degree[edge.a];
    ++degree[edge.b];
  }
  int32_t most = 0;
  for (int32_t d : degree) most = std::max(most, d);
  limit_ = kScaledInf / 2 / (most + 4);

  constant_ = model.constant;
  node_.resize(n);
  int32_t at = 0, first = 0;
  for (int32_t v = 0; v < n; ++v) {
    node_[v] = {at, model.strategies(v), first, first, first};
    at += node_[v].k;
    first += degree[v];
    for (Number c : model.nodes[v].cost) cost_.push_back(scaled(c));
    segments_.push_back(model.nodes[v].segments);
  }
  usage_cost_.assign(at, 0);
  total_ = cost_;
  least_.assign(n, 0);
  for (int32_t v = 0; v < n; ++v) {
    least_[v] =
        *std::min_element(cost_.begin() + node_[v].at, cost_.begin() + node_[v].at + node_[v].k);
  }
  links_.resize(first);
  matrices_.resize(seen.size());
  std::vector<bool> filled(seen.size(), false);
  int64_t messages = 0;
  for (const ModelEdge& edge : model.edges) {
    const int32_t matrix = seen.at(edge.matrix.get());
    if (!filled[matrix]) {
      filled[matrix] = true;
      matrices_[matrix] = {edge.matrix->rows, edge.matrix->cols,
                           static_cast<int64_t>(entries_.size())};
      for (Number c : edge.matrix->cost) entries_.push_back(scaled(c));
    }
    const auto at_a = static_cast<int32_t>(messages), at_b = at_a + node_[edge.a].k;
    messages = at_b + node_[edge.b].k;
    links_[node_[edge.a].last++] = {edge.b, at_a, at_b, matrix, true};
    links_[node_[edge.b].last++] = {edge.a, at_b, at_a, matrix, false};
    steps_per_pass_ += static_cast<int64_t>(edge.matrix->cost.size());
  }
  message_.assign(messages, 0);
  int32_t widest = 1;
  for (int32_t v = 0; v < n; ++v) {
    Node& node = node_[v];
    std::stable_sort(links_.begin() + node.first, links_.begin() + node.last,
                     [](const Link& a, const Link& b) { return a.other < b.other; });
    for (node.split = node.first; node.split < node.last && links_[node.split].other < v;)
      ++node.split;
    widest = std::max(widest, node.k);
  }
  steps_per_pass_ += at;
  work_.resize(widest);
  other_work_.resize(widest);
  decoded_.assign(n, 0);
  // Messages start at zero, where edges with negative entries would break the invariant: pull once
  // into the later end, after which every edge is at zero or above.
  for (int32_t v = 0; v < n; ++v) {
    for (int32_t i = node_[v].first; i < node_[v].split; ++i) Pull(node_[v], links_[i]);
  }
}

void DualBound::Pull(const Node& node, const Link& link) {
  PullInto(node, link, other_work_.data(), message_.data() + link.mine);
}

void DualBound::PullInto(const Node& node, const Link& link, Number* scratch, Number* mine) const {
  const Scaled& m = matrices_[link.matrix];
  const Number* theirs = message_.data() + link.theirs;
  const int32_t k = node_[link.other].k;
  for (int32_t i = 0; i < k; ++i) scratch[i] = -theirs[i];
  if (link.row) {
    MinOverCols(entries_.data() + m.at, scratch, mine, m.rows, m.cols);
  } else {
    MinOverRows(entries_.data() + m.at, scratch, mine, m.rows, m.cols);
  }
  for (int32_t s = 0; s < node.k; ++s) mine[s] = std::min(mine[s], limit_);
}

void DualBound::CostGiven(int32_t v, bool forward, const Choice& choice, Number* work) const {
  const Node& node = node_[v];
  for (int32_t s = 0; s < node.k; ++s) work[s] = cost_[node.at + s] + usage_cost_[node.at + s];
  for (int32_t i = node.first; i < node.last; ++i) {
    const Link& link = links_[i];
    if (forward == (i >= node.split)) {
      for (int32_t s = 0; s < node.k; ++s) work[s] += message_[link.mine + s];
      continue;
    }
    const Scaled& m = matrices_[link.matrix];
    const int64_t u = choice[link.other];
    const Number* entry = entries_.data() + m.at + (link.row ? u : u * m.cols);
    const int64_t stride = link.row ? m.cols : 1;
    for (int32_t s = 0; s < node.k; ++s)
      work[s] = std::min(work[s] + entry[s * stride], kScaledInf);
  }
}

Choice DualBound::DecodeFitting() const {
  Choice choice(node_.size(), 0);
  RowSlack slack(capacity_);
  std::vector<Number> work(work_.size());
  for (int32_t v = 0; v < static_cast<int32_t>(node_.size()); ++v) {
    CostGiven(v, true, choice, work.data());
    Number least = 2 * kScaledInf;
    for (int32_t s = 0; s < node_[v].k; ++s) {
      if (work[s] < least && slack.Fits(segments_[v], s)) {
        least = work[s];
        choice[v] = s;
      }
    }
    slack.Take(segments_[v], choice[v]);
  }
  return choice;
}

int64_t DualBound::Pass() {
  const auto n = static_cast<int32_t>(node_.size());
  for (int32_t step = 0; step < n; ++step) {
    const int32_t v = forward_ ? step : n - 1 - step;
    const Node& node = node_[v];
    const int32_t pull_first = forward_ ? node.first : node.split,
                  pull_last = forward_ ? node.split : node.last;
    const int32_t push_first = forward_ ? node.split : node.first,
                  push_last = forward_ ? node.last : node.split;
    for (int32_t i = pull_first; i < pull_last; ++i) Pull(node, links_[i]);
    Number* total = total_.data() + node.at;
    for (int32_t s = 0; s < node.k; ++s) total[s] = cost_[node.at + s] + usage_cost_[node.at + s];
    for (int32_t i = node.first; i < node.last; ++i) {
      const Number* message = message_.data() + links_[i].mine;
      for (int32_t s = 0; s < node.k; ++s) total[s] += message[s];
    }
    const Number least = least_[v] = *std::min_element(total, total + node.k);
    CostGiven(v, forward_, decoded_, work_.data());
    decoded_[v] = static_cast<int32_t>(std::min_element(work_.begin(), work_.begin() + node.k) -
                                       work_.begin());
    const int32_t parts = std::max(node.split - node.first, node.last - node.split);
    if (push_first == push_last) continue;
    for (int32_t s = 0; s < node.k; ++s) work_[s] = (total[s] - least) / parts;
    for (int32_t i = push_first; i < push_last; ++i) {
      Number* message = message_.data() + links_[i].mine;
      for (int32_t s = 0; s < node.k; ++s) message[s] = std::max(message[s] - work_[s], -limit_);
    }
  }
  forward_ = !forward_;
  return steps_per_pass_;
}

Int128 DualBound::bound() const {
  Int128 sum = multiplier_constant_;
  for (Number least : least_) sum += least;
  // Rounded up: model costs are integers.
  const Int128 unit = Int128{1} << scale_;
  Int128 whole = sum >> scale_;
  if (whole * unit < sum) ++whole;
  return constant_ + whole;
}

void DualBound::SetMultipliers(const std::vector<double>& multipliers) {
  multipliers_ = multipliers;
  const FixedMultipliers fixed(multipliers, capacity_, scale_);
  multiplier_constant_ = fixed.constant();
  for (size_t v = 0; v < node_.size(); ++v) {
    Number* usage_cost = usage_cost_.data() + node_[v].at;
    for (int32_t s = 0; s < node_[v].k; ++s) usage_cost[s] = fixed.Of(segments_[v], s);
  }
}

std::vector<double> DualBound::ExpectedUsage(double temperature) const {
  std::vector<double> usage(capacity_.size() + 1, 0.0);
  std::vector<double> share;
  for (size_t v = 0; v < node_.size(); ++v) {
    if (segments_[v].empty()) continue;
    share.assign(node_[v].k, 0.0);
    double sum = 0;
    for (int32_t s = 0; s < node_[v].k; ++s) {
      sum += share[s] = std::exp(-ReducedCost(static_cast<int32_t>(v), s) / temperature);
    }
    for (const Segment& g : segments_[v]) {
      double amount = 0;
      for (int32_t s = 0; s < node_[v].k; ++s)
        amount += share[s] * static_cast<double>(g.amount[s]);
      usage[g.begin] += amount / sum;
      usage[g.end] -= amount / sum;
    }
  }
  for (size_t r = 1; r < usage.size(); ++r) usage[r] += usage[r - 1];
  usage.pop_back();
  return usage;
}

StrategyMask DualBound::AllowedBelow(Int128 cost) const {
  Int128 sum = multiplier_constant_;
  for (Number least : least_) sum += least;
  // A cost beyond all sums of costs allows everything.
  const Int128 most = std::min(cost - constant_, Int128{1} << (kWide ? 110 : 70)) << scale_;
  StrategyMask allowed(node_.size());
  std::vector<Number> scratch(work_.size()), message(work_.size());
  std::vector<Int128> total;
  for (size_t v = 0; v < node_.size(); ++v) {
    // total_ will not do: it is from before the pass pushed parts of it to the neighbours, whose
    // least totals count them by now. Pulling all there is back into this one node is again a state
    // with edges at zero or above, in which the other nodes' least totals stand.
    const Node& node = node_[v];
    total.assign(node.k, sum - least_[v]);
    for (int32_t s = 0; s < node.k; ++s) total[s] += cost_[node.at + s] + usage_cost_[node.at + s];
    for (int32_t i = node.first; i < node.last; ++i) {
      PullInto(node, links_[i], scratch.data(), message.data());
      for (int32_t s = 0; s < node.k; ++s) total[s] += message[s];
    }
    allowed[v].resize(node.k);
    for (int32_t s = 0; s < node.k; ++s) allowed[v][s] = total[s] < most;
  }
  return allowed;
}

Model DualBound::Reparametrised(Model model) const {
  const auto moved = [this](int64_t at) { return message_[at] >> scale_; };
  Int128 most = 0;  // that sums of costs change by
  for (size_t v = 0; v < node_.size(); ++v) {
    for (int32_t i = node_[v].first; i < node_[v].last; ++i) {
      Number largest = 0;
      for (int32_t s = 0; s < node_[v].k; ++s)
        largest = std::max(largest, Magnitude(moved(links_[i].mine + s)));
      most += largest;
    }
  }
  if (most > kMostMoved) return model;
  int64_t at = 0;  // messages are in the order of the model's edges
  for (ModelEdge& edge : model.edges) {
    const int64_t at_a = at, at_b = at_a + node_[edge.a].k;
    at = at_b + node_[edge.b].k;
    const auto first = message_.begin() + at_a, last = message_.begin() + at;
    if (std::all_of(first, last, [](Number t) { return t == 0; })) continue;  // still shared
    auto matrix = std::make_shared<Matrix>(*edge.matrix);
    for (int32_t i = 0; i < matrix->rows; ++i) {
      for (int32_t j = 0; j < matrix->cols; ++j) {
        Number& entry = matrix->cost[static_cast<int64_t>(i) * matrix->cols + j];
        if (!IsInf(entry)) entry -= moved(at_a + i) + moved(at_b + j);
      }
    }
    edge.matrix = std::move(matrix);
    for (int32_t i = 0; i < node_[edge.a].k; ++i) {
      Number& cost = model.nodes[edge.a].cost[i];
      cost = AddCost(cost, moved(at_a + i));
    }
    for (int32_t j = 0; j < node_[edge.b].k; ++j) {
      Number& cost = model.nodes[edge.b].cost[j];
      cost = AddCost(cost, moved(at_b + j));
    }
  }
  return model;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
