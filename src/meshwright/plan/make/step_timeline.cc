#include "meshwright/plan/make/step_timeline.h"

#include <utility>
#include <vector>

#include "meshwright/intra/timeline.h"

namespace meshwright {

std::optional<PlanStepTimeline> StepTimelineOf(const Graph& graph, const CostModel& cost_model,
                                               const IntraPlan& intra) {
  const std::optional<Overlap> overlap = cost_model.overlap();
  if (!overlap.has_value()) return std::nullopt;
  StepTimes times = TimesOfStep(graph, cost_model, *overlap, intra);
  // Instructions list their collectives in the plan's order (AddInstructions).
  std::vector<int64_t> count(graph.ops.size()), position;
  for (const PlannedCollective& collective : intra.collectives)
    position.push_back(count[collective.user.index()]++);
  PlanStepTimeline timeline;
  timeline.contention_seconds = times.contention_seconds;
  timeline.launch_seconds = times.launch_seconds;
  timeline.start = std::move(times.op_start);
  for (const StepTimes::Run& run : times.runs) {
    PlanCollectiveRun& one = timeline.collectives.emplace_back();
    one.start = run.start;
    one.seconds = run.seconds;
    for (const int32_t collective : run.collectives) {
      const auto i = static_cast<size_t>(collective);
      one.instructions.push_back(static_cast<int64_t>(intra.collectives[i].user.index()));
      one.positions.push_back(position[i]);
    }
  }
  return timeline;
}

}  // namespace meshwright
