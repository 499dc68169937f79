#include "meshwright/intra/planner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/intra/prepared_problem.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

// How often the usage limit is adjusted when the buffers of reshardings, which the assignment
// problem does not see, push a solution's real peak over the budget.
constexpr int kMaxLimitAdjustments = 6;
// Share of the deadline for the first solve; the rest is for such adjustments.
constexpr double kFirstSolveShare = 0.7;
// What a search that starts from the answer to nearly the same limit needs of the steps of the
// first.
constexpr int64_t kHintedShare = 10;
// Share of its deadline that MinimizePeak spends on finding any assignment, nearly.
constexpr double kShareOfFeasibility = 0.2;
// Usage limits, in terms of the least possible, at which plans of little memory are looked for.
constexpr double kLimitSlacks[] = {1.0, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5};

class Planner {
 public:
  Planner(const Graph& graph, const CostModel& cost_model, const PlannerOptions& options)
      : graph_(graph), cost_model_(cost_model), options_(options), start_(Clock::now()) {}

  absl::StatusOr<IntraPlan> Plan() {
    MW_ASSIGN_OR_RETURN(prepared_, PreparedProblem::Make(graph_, cost_model_, options_));
    prepared_->problem().usage_limit = options_.budget_bytes;
    solve::SolverOptions solver = options_.solver;
    solver.deadline_seconds = Remaining();
    hints_ = prepared_->ChoicesToStartFrom(solver);
    MW_ASSIGN_OR_RETURN(IntraPlan plan, SolveWithinBudget());
    if (prepared_->propagated() && cost_model_.overlap().has_value()) JudgeAsXlaRuns(&plan);
    plan.warnings = prepared_->WarningsOf(plan);
    return plan;
  }

 private:
  double Remaining() const {
    const double used = std::chrono::duration<double>(Clock::now() - start_).count();
    return std::max(0.1, options_.solver.deadline_seconds - used);
  }

  absl::StatusOr<solve::Solution> SolveAt(int64_t limit, double share,
                                          const std::vector<int32_t>& hint) {
    prepared_->problem().usage_limit = limit;
    solve::SolverOptions solver = options_.solver;
    solver.deadline_seconds = Remaining() * share;
    solver.hints.insert(solver.hints.end(), hints_.begin(), hints_.end());
    if (!hint.empty()) {
      solver.hints.push_back(hint);
      solver.max_search_steps /= kHintedShare;
    }
    return solve::Solve(prepared_->problem(), solver);
  }

  IntraPlan Decode(const std::vector<int32_t>& choice) {
    choice_ = choice;
    return prepared_->Decode(choice);
  }

  // What XLA's scheduler makes of the plan while it fits into memory. Every value's sharding is
  // given, so there is nothing to choose between.
  void JudgeAsXlaRuns(IntraPlan* plan) const {
    IntraPlan judged = prepared_->DecodeDeferred(choice_);
    if (judged.peak.bytes > cost_model_.mesh().cluster.device.memory_bytes) return;
    plan->schedule = std::move(judged.schedule);
    plan->intervals = std::move(judged.intervals);
    plan->peak = std::move(judged.peak);
    plan->collectives = std::move(judged.collectives);
    plan->step_seconds = judged.step_seconds;
  }

  IntraPlan Finish(IntraPlan plan, const solve::Solution& first) const {
    plan.bound = std::min(plan.objective, static_cast<double>(first.bound) / prepared_->ticks());
    plan.gap = plan.objective > 0 ? (plan.objective - plan.bound) / plan.objective : 0;
    if (first.outcome == solve::Outcome::kOptimal && plan.gap < kRoundingGap) {
      plan.bound = plan.objective;
      plan.gap = 0;
    }
    plan.reduced_nodes = first.reduced_nodes;
    return plan;
  }

  absl::StatusOr<IntraPlan> SolveWithinBudget() {
    const int64_t budget = options_.budget_bytes;
    MW_ASSIGN_OR_RETURN(const solve::Solution first, SolveAt(budget, kFirstSolveShare, {}));
    if (!HasAnswer(first)) return SmallestThatFits(first);
    IntraPlan plan = Decode(first.choice);
    if (plan.peak.bytes <= budget) return Finish(std::move(plan), first);
    // The limit that would just fit if the hidden buffers stay as they are; adjusted until it does.
    int64_t limit = budget;
    std::vector<int32_t> hint = first.choice;
    for (int i = 0; i < kMaxLimitAdjustments; ++i) {
      limit -= plan.peak.bytes - budget;
      if (limit <= 0) break;
      MW_ASSIGN_OR_RETURN(const solve::Solution next, SolveAt(limit, 0.3, hint));
      if (!HasAnswer(next)) break;
      plan = Decode(next.choice);
      if (plan.peak.bytes <= budget) return Finish(std::move(plan), first);
      hint = next.choice;
    }
    return SmallestThatFits(first);
  }

  // The plan of least memory. It may still fit the budget, if the search for a cheaper one gave up.
  // What the assignment problem calls least is least without the buffers of reshardings; a cheaper
  // assignment with a little more usage reshards less and may need less in all, so a few of those
  // are judged too.
  absl::StatusOr<IntraPlan> SmallestThatFits(const solve::Solution& first) {
    prepared_->problem().usage_limit = solve::kUnlimited;
    solve::SolverOptions solver = options_.solver;
    solver.deadline_seconds = Remaining();
    MW_ASSIGN_OR_RETURN(const solve::Solution smallest,
                        solve::MinimizePeak(prepared_->problem(), solver));
    if (!HasAnswer(smallest)) {
      const double used = solver.deadline_seconds - Remaining();
      return prepared_->NoAnswer(smallest, used > kShareOfFeasibility * solver.deadline_seconds);
    }
    IntraPlan plan = Decode(smallest.choice);
    const auto least = static_cast<double>(smallest.peak);
    for (double slack : kLimitSlacks) {
      const double limit = least * slack;
      if (limit > static_cast<double>(plan.peak.bytes)) break;
      MW_ASSIGN_OR_RETURN(const solve::Solution next,
                          SolveAt(static_cast<int64_t>(limit), 0.3, smallest.choice));
      if (!HasAnswer(next)) continue;
      IntraPlan other = Decode(next.choice);
      if (other.peak.bytes < plan.peak.bytes) plan = std::move(other);
      if (plan.peak.bytes <= options_.budget_bytes) break;
    }
    plan = Finish(std::move(plan), first);
    plan.fits = plan.peak.bytes <= options_.budget_bytes;
    plan.smallest_budget = plan.fits ? 0 : plan.peak.bytes;
    return plan;
  }

  // Objective and bound are sums of thousands of costs, each rounded to the problem's ticks.
  static constexpr double kRoundingGap = 1e-6;

  const Graph& graph_;
  const CostModel& cost_model_;
  const PlannerOptions& options_;
  const Clock::time_point start_;
  std::unique_ptr<PreparedProblem> prepared_;
  std::vector<std::vector<int32_t>> hints_;  // to start the search from
  std::vector<int32_t> choice_;              // that was decoded last
};

}  // namespace

absl::StatusOr<IntraPlan> PlanIntra(const Graph& graph, const CostModel& cost_model,
                                    const PlannerOptions& options) {
  return Planner(graph, cost_model, options).Plan();
}

}  // namespace meshwright
