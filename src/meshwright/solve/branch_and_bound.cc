#include "meshwright/solve/branch_and_bound.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "meshwright/solve/dual_bound.h"
#include "meshwright/solve/eliminate.h"
#include "meshwright/solve/reduce.h"
#include "meshwright/solve/subgradient_ascent.h"

// Depth-first branch and bound (Land and Doig 1960). Each search node
//   1. reduces its model exactly (reduce.h), which may leave nothing;
//   2. eliminates it exactly if no rows are left and the tables are small;
//   3. bounds it by message passing and multipliers (dual_bound.h), collecting the feasible choices
//   this decodes;
//   4. removes the strategies whose reduced cost reaches the incumbent (reduced-cost fixing), and
//   starts over if there were many;
//   5. else branches on the node whose strategies' reduced costs are most alike: first with its
//   best strategy, then without it.
// Reductions make fixing one node of a core often solve it, so trees are small although bounds are
// only those of the local polytope. Left out: cover cuts for the knapsack rows, learning from
// failures.

namespace meshwright::solve::MW_SOLVE_WIDTH {
namespace {

constexpr int64_t kPoolBytes = int64_t{16} << 20;

class Search {
 public:
  explicit Search(const BranchOptions& options) : options_(options) {}

  // The cheapest choice of `model` below `upper`, if one was found.
  std::optional<std::pair<Choice, Int128>> Solve(Model model,
                                                 const std::vector<double>& multipliers,
                                                 const StrategyMask* allowed, Int128 upper,
                                                 int depth);
  bool cut_short() const { return cut_short_; }
  int64_t steps() const { return steps_; }

 private:
  bool OutOfSteps() {
    if (steps_ >= options_.max_steps || (options_.stop && options_.stop())) cut_short_ = true;
    return cut_short_;
  }

  const BranchOptions& options_;
  MatrixPool pool_{kPoolBytes};  // nodes of the tree that are near each other differ little
  int64_t steps_ = 0;
  bool cut_short_ = false;
};

struct Branch {
  int32_t node = -1, strategy = -1;
};

// Rounds of bounding below the root. Messages start anew in every node of the tree, but reductions
// have changed the model so much that the old ones would be of little use.
constexpr int kBranchRounds = 5;
// In shares of the gap: what an edge counts as much as a difference of usage costs, and the reduced
// cost that counts as decided.
constexpr double kEdgeWeight = 0.01, kDecided = 0.1;

// The node to branch on, and the strategy to try first there: one that the bound is undecided about
// (its second best strategy has next to no reduced cost) and that matters (its strategies' usage
// costs differ, or many edges hang on it).
Branch ChooseBranch(const Model& model, const DualBound& bound, const StrategyMask& allowed,
                    double gap) {
  std::vector<int32_t> degree(model.size(), 0);
  for (const ModelEdge& edge : model.edges) {
    ++degree[edge.a];
    ++degree[edge.b];
  }
  Branch best;
  double best_score = -1;
  for (int32_t v = 0; v < model.size(); ++v) {
    int32_t first = -1, count = 0;
    double second = 1e300, least_usage = 1e300, most_usage = 0;
    for (int32_t s = 0; s < model.strategies(v); ++s) {
      if (!allowed[v][s]) continue;
      ++count;
      least_usage = std::min(least_usage, bound.UsageCost(v, s));
      most_usage = std::max(most_usage, bound.UsageCost(v, s));
      const double reduced_cost = bound.ReducedCost(v, s);
      if (first < 0 || reduced_cost < bound.ReducedCost(v, first)) {
        if (first >= 0) second = std::min(second, bound.ReducedCost(v, first));
        first = s;
      } else {
        second = std::min(second, reduced_cost);
      }
    }
    if (count < 2) continue;
    const double score =
        (most_usage - least_usage + kEdgeWeight * gap * degree[v]) / (second + kDecided * gap);
    if (score > best_score) {
      best_score = score;
      best = {v, first};
    }
  }
  return best;
}

constexpr int kMaxDepth = 400;
// About what reducing a model takes, in the steps that a pass over as many entries takes.
constexpr int64_t kReduceSteps = 20'000, kReduceStepsPerNode = 500;

std::optional<std::pair<Choice, Int128>> Search::Solve(Model model,
                                                       const std::vector<double>& multipliers,
                                                       const StrategyMask* allowed, Int128 upper,
                                                       int depth) {
  steps_ += kReduceSteps + kReduceStepsPerNode * model.size();
  if (OutOfSteps() || depth > kMaxDepth) {
    cut_short_ = true;
    return std::nullopt;
  }
  for (const ModelEdge& edge : model.edges)
    steps_ += 2 * static_cast<int64_t>(edge.matrix->cost.size());
  Reduced reduced = Reduce(std::move(model), {}, allowed, &pool_);
  if (reduced.infeasible) return std::nullopt;
  const Model& core = reduced.model;
  std::optional<std::pair<Choice, Int128>> best;
  const auto offer = [&](const Choice& choice, Int128 cost) {
    if (cost >= upper) return;
    upper = cost;
    best.emplace(reduced.Expand(choice), cost);
  };
  if (core.size() == 0) {
    offer({}, core.constant);
    return best;
  }
  if (core.rows() == 0) {
    if (std::optional<Choice> exact = EliminateExactly(core, options_.max_entries);
        exact.has_value()) {
      steps_ += options_.max_entries;
      if (!exact->empty()) offer(*exact, ModelCost(core, *exact));
      return best;
    }
  }
  DualBound bound(core);
  if (!multipliers.empty() && core.rows() > 0) {
    bound.SetMultipliers(reduced.ProjectMultipliers(multipliers));
  }
  SubgradientAscent ascent(core, &bound);
  const int rounds =
      depth == 0 ? options_.root_rounds : std::min(kBranchRounds, options_.root_rounds);
  const Int128 target = upper < kInfCost ? upper : Int128{0};
  Int128 checked = -kInfCost;
  for (int round = 0; round < rounds; ++round) {
    if (core.rows() > 0) {
      steps_ += ascent.Step(upper < kInfCost ? target : ascent.best() + ascent.best() / 20 + 1);
    } else {
      steps_ += bound.Pass() + bound.Pass();
    }
    const Int128 now = core.rows() > 0 ? ascent.best() : bound.bound();
    if (now >= upper) return best;
    if (round % 5 == 4) {
      const Choice choice = bound.DecodeFitting();
      if (Fits(core, choice)) offer(choice, ModelCost(core, choice));
      if (OutOfSteps()) return best;
      if (core.rows() == 0 && now == checked) break;  // converged
      checked = now;
    }
  }
  if (core.rows() > 0) {
    ascent.RestoreBest();
    for (int i = 0; i < 4; ++i) steps_ += bound.Pass();
  }
  if (bound.bound() >= upper) return best;
  const Choice choice = bound.DecodeFitting();
  if (Fits(core, choice)) offer(choice, ModelCost(core, choice));
  StrategyMask open = bound.AllowedBelow(upper);
  std::vector<double> present = bound.multipliers();
  int64_t all = 0, removed = 0;
  for (const auto& strategies : open) {
    all += static_cast<int64_t>(strategies.size());
    removed += std::count(strategies.begin(), strategies.end(), false);
  }
  const auto descend = [&](const StrategyMask& mask) {
    if (auto found = Solve(core, present, &mask, upper, depth + 1); found.has_value()) {
      offer(found->first, found->second);
    }
  };
  if (removed * 8 > all) {
    descend(open);
    return best;
  }
  const Branch branch =
      ChooseBranch(core, bound, open, std::max(1.0, static_cast<double>(upper - bound.bound())));
  if (branch.node <
      0) {  // one strategy left everywhere, and it is not cheap enough or does not fit
    descend(open);
    return best;
  }
  StrategyMask with = open;
  for (size_t s = 0; s < with[branch.node].size(); ++s) {
    with[branch.node][s] = static_cast<int32_t>(s) == branch.strategy;
  }
  descend(with);
  open[branch.node][branch.strategy] = false;
  descend(open);
  return best;
}

}  // namespace

BranchResult BranchAndBound(const Model& model, const BranchOptions& options) {
  Search search(options);
  BranchResult result;
  if (auto found = search.Solve(model, options.multipliers, nullptr, options.upper, 0);
      found.has_value()) {
    result.choice = std::move(found->first);
    result.cost = found->second;
  }
  result.complete = !search.cut_short();
  result.steps = search.steps();
  return result;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
