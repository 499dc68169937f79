#ifndef MESHWRIGHT_PLAN_MAKE_TIME_USE_H_
#define MESHWRIGHT_PLAN_MAKE_TIME_USE_H_

#include <string_view>

#include "meshwright/cluster/mesh.h"
#include "meshwright/cost/stated_error.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// What the devices do during a step, in two partitions: by what the missing MFU goes to, and by
// class of work, without a pipeline's bubble, which grows and shrinks with the stages' times.
struct StepUse {
  PlanTimeUse use;
  TimeByClass classes = {};
};

// Of a step of `graph` on one mesh. Requires a cost model in seconds, whose step `intra` has.
StepUse UseOfStep(const Graph& graph, const Mesh& mesh, const IntraPlan& intra);

// The same of a pipeline, over the devices of all its stages.
StepUse UseOfStep(const PipelinePlan& pipeline);

// Sets what the plan's step is used for and the errors that are stated of it, predicted by this
// cost model for these devices: of several types the largest error. Memory is as the plan has it.
void SetUse(const StepUse& step, std::string_view cost_model,
            const std::vector<DeviceType>& devices, Plan* plan);
// Of a model's plan, whose whole step is so far off (ErrorOfModel).
void SetModelErrors(const ClassError& off, Plan* plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_TIME_USE_H_
