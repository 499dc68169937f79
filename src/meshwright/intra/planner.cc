#include "meshwright/intra/planner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/intra/prepared_problem.h"
#include "meshwright/intra/step_search.h"
#include "meshwright/intra/uniform_candidates.h"

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
// Elementary steps of simulations that the search for the shortest step may take.
constexpr int64_t kMostStepWork = 15'000'000;
// What part of its work a first look takes.
constexpr int64_t kFirstLookShare = 20;
// Shares of the deadline after which what is written by hand is looked at behind the first solve
// instead of before it, and after which no more of it is.
constexpr double kUniformFirstShare = 0.1, kUniformShare = 0.3;
// Share of its deadline that MinimizePeak spends on finding any assignment, nearly.
constexpr double kShareOfFeasibility = 0.2;
// Usage limits, in terms of the least possible, at which plans of little memory are looked for.
constexpr double kLimitSlacks[] = {1.0, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5};

class Planner {
 public:
  Planner(const Graph& graph, const CostModel& cost_model, const PlannerOptions& options)
      : graph_(graph), cost_model_(cost_model), options_(WithWork(options)), start_(Clock::now()) {}

  absl::StatusOr<IntraPlan> Plan() {
    MW_ASSIGN_OR_RETURN(prepared_, PreparedProblem::Make(graph_, cost_model_, options_));
    prepared_->problem().usage_limit = options_.budget_bytes;
    std::unique_ptr<StepSearch> steps;
    const bool search = cost_model_.overlap().has_value() && !prepared_->propagated();
    if (search && Used() < kUniformFirstShare) {
      steps = MakeStepSearch();
      OfferUniform(*steps, kUniformShare);
    }
    solve::SolverOptions solver = options_.solver;
    solver.deadline_seconds = Remaining();
    std::vector<std::vector<int32_t>> joined = prepared_->ChoicesToStartFrom(solver);
    hints_.insert(hints_.end(), joined.begin(), joined.end());
    if (GivesUp()) return OutOfTime();
    absl::StatusOr<IntraPlan> solved = SolveWithinBudget();
    if (search && steps == nullptr && !GivesUp()) {
      steps = MakeStepSearch();
      OfferUniform(*steps, 1);
    }
    const bool found = steps != nullptr && steps->found();
    if (!solved.ok() && !(found && absl::IsResourceExhausted(solved.status())))
      return solved.status();
    IntraPlan plan;
    if (steps != nullptr) {
      plan = Shortest(std::move(solved), *steps);
    } else {
      plan = *std::move(solved);
      // Where every sharding is given there is one plan.
      plan.step_bound = cost_model_.overlap().has_value() ? plan.step_seconds : plan.bound;
    }
    plan.step_gap =
        plan.step_seconds > 0 ? (plan.step_seconds - plan.step_bound) / plan.step_seconds : 0;
    plan.warnings = prepared_->WarningsOf(plan);
    plan.limited =
        search && (plan.gap > options_.solver.target_gap || (steps != nullptr && steps->limited()));
    plan.cut = cut_ || (steps != nullptr && steps->cut());
    if (plan.cut) plan.warnings.push_back(CutText(plan));
    return plan;
  }

 private:
  static PlannerOptions WithWork(PlannerOptions options) {
    if (options.first_look) options.solver.max_search_steps /= kFirstLookShare;
    return options;
  }

  double Left() const {
    const double used = std::chrono::duration<double>(Clock::now() - start_).count();
    return options_.solver.deadline_seconds - used;
  }
  double Remaining() const { return std::max(0.1, Left()); }
  // Share of the deadline.
  double Used() const { return 1 - Left() / options_.solver.deadline_seconds; }

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
    const double before = Left();
    absl::StatusOr<solve::Solution> solution = solve::Solve(prepared_->problem(), solver);
    cut_ |= Stopped() || before - Left() >= solver.deadline_seconds;
    return solution;
  }

  IntraPlan Decode(const std::vector<int32_t>& choice) {
    choice_ = choice;
    return prepared_->DecodeAsRun(choice, options_.budget_bytes);
  }

  std::unique_ptr<StepSearch> MakeStepSearch() {
    StepSearch::Options search{
        .budget_bytes = options_.budget_bytes,
        .solver = options_.solver,
        .seconds_left = [this] { return Left(); },
        .max_work = kMostStepWork / (options_.first_look ? kFirstLookShare : 1)};
    search.solver.max_search_steps /= kHintedShare;
    return std::make_unique<StepSearch>(*prepared_, *cost_model_.overlap(), search);
  }

  // Offers what is written by hand, so that there is a plan where the assignment problem gets none
  // in time, until the share `most` of the deadline is used.
  void OfferUniform(StepSearch& steps, double most) {
    OfferUniformChoices(graph_, cost_model_, options_, *prepared_,
                        [&](const std::vector<int32_t>& choice) {
                          steps.Offer(choice);
                          return !Stopped() && Used() < most;
                        });
    if (steps.found()) hints_.push_back(steps.best());
  }

  // The plan of the shortest step, from `solved`, that of the least sum of parts or the error that
  // none was found in time. Nothing is searched for where nothing fits.
  IntraPlan Shortest(absl::StatusOr<IntraPlan> solved, StepSearch& steps) {
    if (solved.ok() && solved->fits) steps.Offer(choice_);
    if (!steps.found()) {
      IntraPlan plan = *std::move(solved);
      plan.step_bound = std::min(steps.bound_seconds(), plan.step_seconds);
      return plan;
    }
    steps.Run(hints_);
    IntraPlan plan = prepared_->DecodeAsRun(steps.best(), options_.budget_bytes);
    plan.step_bound = std::min(steps.bound_seconds(), plan.step_seconds);
    if (solved.ok()) {
      plan.bound = std::min(solved->bound, plan.objective);
      plan.gap = plan.objective > 0 ? (plan.objective - plan.bound) / plan.objective : 0;
      plan.reduced_nodes = solved->reduced_nodes;
    } else {
      plan.gap = 1;
    }
    return plan;
  }

  bool Stopped() const { return Left() <= 0 || (options_.solver.stop && options_.solver.stop()); }

  bool GivesUp() const { return options_.optional && Stopped(); }

  std::string CutText(const IntraPlan& plan) const {
    const bool interrupted = options_.solver.stop && options_.solver.stop();
    return StrCat("the search was ", interrupted ? "interrupted" : "cut off by the deadline",
                  ": the plan is the best found until then, and its gap of ",
                  absl::StrFormat("%.3g %%", 100 * plan.step_gap),
                  interrupted ? "" : " would be smaller with a longer --deadline");
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
    if (GivesUp()) return OutOfTime();
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
      if (options_.first_look || limit > static_cast<double>(plan.peak.bytes)) break;
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
  const PlannerOptions options_;
  const Clock::time_point start_;
  std::unique_ptr<PreparedProblem> prepared_;
  std::vector<std::vector<int32_t>> hints_;  // to start the search from
  std::vector<int32_t> choice_;              // that was decoded last
  bool cut_ = false;                         // the deadline or an interrupt ended a search
};

}  // namespace

absl::StatusOr<IntraPlan> PlanIntra(const Graph& graph, const CostModel& cost_model,
                                    const PlannerOptions& options) {
  return Planner(graph, cost_model, options).Plan();
}

}  // namespace meshwright
