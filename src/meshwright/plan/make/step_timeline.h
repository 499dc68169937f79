#ifndef MESHWRIGHT_PLAN_MAKE_STEP_TIMELINE_H_
#define MESHWRIGHT_PLAN_MAKE_STEP_TIMELINE_H_

#include <optional>

#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// When everything of a step of `intra` runs (intra/timeline.h), in the order of a plan's
// instructions and their collectives; none where `cost_model` has no overlap.
std::optional<PlanStepTimeline> StepTimelineOf(const Graph& graph, const CostModel& cost_model,
                                               const IntraPlan& intra);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_STEP_TIMELINE_H_
