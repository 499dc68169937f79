#include "meshwright/intra/priced_planner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "meshwright/base/status.h"

namespace meshwright {
namespace {

// `ticks` for every byte in use at `time`.
void AddMemoryPrice(double ticks, int32_t time, solve::Problem* problem) {
  if (ticks <= 0) return;
  for (solve::Node& node : problem->nodes) {
    for (const solve::Usage& usage : node.usages) {
      if (time < usage.begin || time >= usage.end) continue;
      for (size_t s = 0; s < node.cost.size(); ++s) {
        const double price = ticks * static_cast<double>(usage.amount[s]);
        if (price >= static_cast<double>(solve::kForbidden)) {
          node.cost[s] = solve::kForbidden;
        } else {
          node.cost[s] = std::min(solve::kForbidden, node.cost[s] + static_cast<int64_t>(price));
        }
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<PricedPlanner>> PricedPlanner::Make(const Graph& graph,
                                                                   const CostModel& cost_model,
                                                                   const PlannerOptions& options,
                                                                   OpId at) {
  std::unique_ptr<PricedPlanner> planner(new PricedPlanner(options, at));
  MW_ASSIGN_OR_RETURN(planner->prepared_, PreparedProblem::Make(graph, cost_model, options));
  planner->nodes_ = planner->prepared_->problem().nodes;
  return planner;
}

absl::StatusOr<IntraPlan> PricedPlanner::Plan(double seconds_per_byte) {
  if (options_.optional && options_.solver.stop && options_.solver.stop()) return OutOfTime();
  solve::Problem& problem = prepared_->problem();
  problem.nodes = nodes_;
  problem.usage_limit = solve::kUnlimited;
  AddMemoryPrice(seconds_per_byte * prepared_->ticks(), prepared_->schedule().time[at_.index()],
                 &problem);
  solve::SolverOptions solver = options_.solver;
  if (!hint_.empty()) solver.hints.push_back(hint_);
  const auto start = std::chrono::steady_clock::now();
  MW_ASSIGN_OR_RETURN(const solve::Solution solution, solve::Solve(problem, solver));
  if (!HasAnswer(solution)) {
    const std::chrono::duration<double> used = std::chrono::steady_clock::now() - start;
    return prepared_->NoAnswer(solution, used.count() >= solver.deadline_seconds);
  }
  hint_ = solution.choice;
  IntraPlan plan = prepared_->Decode(solution.choice);
  // With memory in the objective its bound is no bound on seconds.
  if (seconds_per_byte <= 0) {
    plan.bound = std::min(plan.objective, static_cast<double>(solution.bound) / prepared_->ticks());
  }
  plan.gap = plan.objective > 0 ? (plan.objective - plan.bound) / plan.objective : 0;
  plan.reduced_nodes = solution.reduced_nodes;
  plan.warnings = prepared_->WarningsOf(plan);
  return plan;
}

}  // namespace meshwright
