#include "meshwright/intra/planner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/decode.h"
#include "meshwright/intra/groups.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/pins.h"
#include "meshwright/intra/problem_builder.h"
#include "meshwright/intra/propagate.h"

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
// Usage limits, in terms of the least possible, at which plans of little memory are looked for.
constexpr double kLimitSlacks[] = {1.0, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5};

// Axes longer than 1 that planning takes on: the ways to shard a value, and with them time,
// multiply with every axis.
constexpr int kMaxAxes = 3;

absl::Status CheckMesh(const Mesh& mesh) {
  const auto axes = std::count_if(mesh.axes.begin(), mesh.axes.end(),
                                  [](const MeshAxis& axis) { return axis.size > 1; });
  if (axes <= kMaxAxes) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("the mesh has ", axes,
                                           " axes longer than 1, planning takes up to ", kMaxAxes,
                                           "; join some, as 2x2x2x2 to 4x4"));
}

bool HasAnswer(const solve::Solution& solution) {
  return solution.outcome == solve::Outcome::kOptimal ||
         solution.outcome == solve::Outcome::kFeasible;
}

std::vector<std::string> UnsupportedWarnings(const Graph& graph, const IntraPlan& plan) {
  std::map<std::string, std::vector<std::string>> by_opcode;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (plan.ops[i].rule.supported) continue;
    const Instruction& instruction = *graph.ops[i].instruction;
    std::string kind(OpcodeName(instruction.opcode));
    if (!instruction.custom_call_target.empty())
      StrAppend(&kind, " to ", instruction.custom_call_target);
    by_opcode[kind].push_back(graph.ops[i].name);
  }
  std::vector<std::string> warnings;
  for (const auto& [kind, names] : by_opcode) {
    warnings.push_back(StrCat("no sharding rule for ", kind, ": ", names.size(),
                              names.size() == 1 ? " operator is" : " operators are",
                              " replicated (", names[0], names.size() > 1 ? ", ...)" : ")"));
  }
  return warnings;
}

class Planner {
 public:
  Planner(const Graph& graph, const CostModel& cost_model, const PlannerOptions& options)
      : graph_(graph), cost_model_(cost_model), options_(options), start_(Clock::now()) {}

  absl::StatusOr<IntraPlan> Plan() {
    MW_RETURN_IF_ERROR(CheckMesh(cost_model_.mesh()));
    std::vector<std::string> warnings = graph_.warnings;
    const FusionInfo fusion = AnalyzeFusion(graph_);
    schedule_ = ScheduleForMemory(graph_, fusion);
    const std::vector<Interval> intervals = Liveness(graph_, fusion, schedule_);
    std::vector<int32_t> tied = TiedParameters(graph_, options_.tie_outputs_by_position);
    MW_ASSIGN_OR_RETURN(Pins pins,
                        ResolvePins(graph_, cost_model_.mesh(), options_.fixes, &tied, &warnings));
    if (Propagates()) PropagatePins(graph_, fusion, cost_model_.mesh(), tied, &pins);
    std::vector<bool> pinned(graph_.values.size());
    for (size_t i = 0; i < pinned.size(); ++i) pinned[i] = pins.values[i].has_value();
    const Groups groups = FormGroups(graph_, fusion, pinned);
    CandidateSets sets(graph_, fusion, groups, cost_model_, options_.space);
    const ProblemInputs inputs{.graph = graph_,
                               .cost_model = cost_model_,
                               .fusion = fusion,
                               .groups = groups,
                               .intervals = intervals,
                               .pins = pins,
                               .tied = tied,
                               .space = options_.space};
    MW_ASSIGN_OR_RETURN(problem_, BuildProblem(inputs, &sets));
    decode_ = [&](const std::vector<int32_t>& choice) {
      choice_ = choice;
      return DecodePlan(inputs, problem_, sets, schedule_, choice);
    };
    MW_ASSIGN_OR_RETURN(IntraPlan plan, SolveWithinBudget());
    if (Propagates() && cost_model_.overlap().has_value())
      JudgeAsXlaRuns(fusion, inputs, sets, &plan);
    for (std::string& w : UnsupportedWarnings(graph_, plan)) warnings.push_back(std::move(w));
    plan.warnings = std::move(warnings);
    return plan;
  }

 private:
  // Published models bring strategies of their own.
  bool Propagates() const {
    return options_.completion == Completion::kPropagate && options_.space == StrategySpace::kFull;
  }

  double Remaining() const {
    const double used = std::chrono::duration<double>(Clock::now() - start_).count();
    return std::max(0.1, options_.solver.deadline_seconds - used);
  }

  absl::StatusOr<solve::Solution> SolveAt(int64_t limit, double share,
                                          const std::vector<int32_t>& hint) {
    problem_.problem.usage_limit = limit;
    solve::SolverOptions solver = options_.solver;
    solver.deadline_seconds = Remaining() * share;
    if (!hint.empty()) {
      solver.hints.push_back(hint);
      solver.max_search_steps /= kHintedShare;
    }
    return solve::Solve(problem_.problem, solver);
  }

  // What XLA's scheduler makes of the plan while it fits into memory. Every value's sharding is
  // given, so there is nothing to choose between.
  void JudgeAsXlaRuns(const FusionInfo& fusion, const ProblemInputs& inputs,
                      const CandidateSets& sets, IntraPlan* plan) const {
    const Schedule deferred = DeferUnneeded(graph_, schedule_);
    const std::vector<Interval> intervals = Liveness(graph_, fusion, deferred);
    const ProblemInputs late{.graph = inputs.graph,
                             .cost_model = inputs.cost_model,
                             .fusion = inputs.fusion,
                             .groups = inputs.groups,
                             .intervals = intervals,
                             .pins = inputs.pins,
                             .tied = inputs.tied,
                             .space = inputs.space};
    IntraPlan judged = DecodePlan(late, problem_, sets, deferred, choice_);
    if (judged.peak.bytes > cost_model_.mesh().cluster.device.memory_bytes) return;
    plan->schedule = std::move(judged.schedule);
    plan->intervals = std::move(judged.intervals);
    plan->peak = std::move(judged.peak);
    plan->collectives = std::move(judged.collectives);
    plan->step_seconds = judged.step_seconds;
  }

  IntraPlan Finish(IntraPlan plan, const solve::Solution& first) const {
    plan.bound = std::min(plan.objective, static_cast<double>(first.bound) / problem_.ticks);
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
    IntraPlan plan = decode_(first.choice);
    if (plan.peak.bytes <= budget) return Finish(std::move(plan), first);
    // The limit that would just fit if the hidden buffers stay as they are; adjusted until it does.
    int64_t limit = budget;
    std::vector<int32_t> hint = first.choice;
    for (int i = 0; i < kMaxLimitAdjustments; ++i) {
      limit -= plan.peak.bytes - budget;
      if (limit <= 0) break;
      MW_ASSIGN_OR_RETURN(const solve::Solution next, SolveAt(limit, 0.3, hint));
      if (!HasAnswer(next)) break;
      plan = decode_(next.choice);
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
    problem_.problem.usage_limit = solve::kUnlimited;
    solve::SolverOptions solver = options_.solver;
    solver.deadline_seconds = Remaining();
    MW_ASSIGN_OR_RETURN(const solve::Solution smallest,
                        solve::MinimizePeak(problem_.problem, solver));
    if (!HasAnswer(smallest)) {
      return absl::ResourceExhaustedError(
          "no plan found before the deadline; give it more time with --deadline");
    }
    IntraPlan plan = decode_(smallest.choice);
    const auto least = static_cast<double>(smallest.peak);
    for (double slack : kLimitSlacks) {
      const double limit = least * slack;
      if (limit > static_cast<double>(plan.peak.bytes)) break;
      MW_ASSIGN_OR_RETURN(const solve::Solution next,
                          SolveAt(static_cast<int64_t>(limit), 0.3, smallest.choice));
      if (!HasAnswer(next)) continue;
      IntraPlan other = decode_(next.choice);
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
  Schedule schedule_;
  PlanningProblem problem_;
  std::vector<int32_t> choice_;  // that was decoded last
  std::function<IntraPlan(const std::vector<int32_t>&)> decode_;
};

}  // namespace

absl::StatusOr<IntraPlan> PlanIntra(const Graph& graph, const CostModel& cost_model,
                                    const PlannerOptions& options) {
  return Planner(graph, cost_model, options).Plan();
}

}  // namespace meshwright
