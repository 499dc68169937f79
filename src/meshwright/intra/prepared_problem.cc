#include "meshwright/intra/prepared_problem.h"

#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/intra/decode.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/propagate.h"

namespace meshwright {

PreparedProblem::PreparedProblem(const Graph& graph, const CostModel& cost_model,
                                 const PlannerOptions& options)
    : graph_(graph),
      cost_model_(cost_model),
      options_(options),
      // Published models bring strategies of their own.
      propagated_(options.completion == Completion::kPropagate &&
                  options.space == StrategySpace::kFull) {}

absl::StatusOr<std::unique_ptr<PreparedProblem>> PreparedProblem::Make(
    const Graph& graph, const CostModel& cost_model, const PlannerOptions& options) {
  std::unique_ptr<PreparedProblem> prepared(new PreparedProblem(graph, cost_model, options));
  MW_RETURN_IF_ERROR(prepared->Build());
  return prepared;
}

absl::Status PreparedProblem::Build() {
  const Mesh& mesh = cost_model_.mesh();
  warnings_ = graph_.warnings;
  fusion_ = AnalyzeFusion(graph_);
  schedule_ = ScheduleForMemory(graph_, fusion_);
  intervals_ = Liveness(graph_, fusion_, schedule_);
  tied_ = TiedParameters(graph_, options_.tie_outputs_by_position);
  for (const auto& [output, parameter] : options_.ties) {
    if (tied_[output] < 0) tied_[output] = parameter;
  }
  MW_ASSIGN_OR_RETURN(pins_, ResolvePins(graph_, mesh, options_.fixes, &tied_, &warnings_));
  if (propagated_) PropagatePins(graph_, fusion_, mesh, tied_, &pins_);
  std::vector<bool> pinned(graph_.values.size());
  for (size_t i = 0; i < pinned.size(); ++i) pinned[i] = pins_.values[i].has_value();
  groups_ = FormGroups(graph_, fusion_, pinned);
  sets_ = std::make_unique<CandidateSets>(graph_, fusion_, groups_, cost_model_, options_.space);
  MW_ASSIGN_OR_RETURN(planning_, BuildProblem(Inputs(intervals_), sets_.get()));
  return absl::OkStatus();
}

ProblemInputs PreparedProblem::Inputs(const std::vector<Interval>& intervals) const {
  return {.graph = graph_,
          .cost_model = cost_model_,
          .fusion = fusion_,
          .groups = groups_,
          .intervals = intervals,
          .pins = pins_,
          .tied = tied_,
          .space = options_.space};
}

IntraPlan PreparedProblem::Decode(const std::vector<int32_t>& choice) const {
  return DecodePlan(Inputs(intervals_), planning_, *sets_, schedule_, choice);
}

IntraPlan PreparedProblem::DecodeDeferred(const std::vector<int32_t>& choice) const {
  const Schedule deferred = DeferUnneeded(graph_, schedule_);
  const std::vector<Interval> intervals = Liveness(graph_, fusion_, deferred);
  return DecodePlan(Inputs(intervals), planning_, *sets_, deferred, choice);
}

}  // namespace meshwright
