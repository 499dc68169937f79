#ifndef MESHWRIGHT_PLAN_MAKE_TIME_USE_H_
#define MESHWRIGHT_PLAN_MAKE_TIME_USE_H_

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/plan_time_use.h"

namespace meshwright {

// Of a step of `graph` on one mesh. Requires a cost model in seconds, whose step `intra` has.
PlanTimeUse TimeUse(const Graph& graph, const Mesh& mesh, const IntraPlan& intra);

// The same of a pipeline, over the devices of all its stages.
PlanTimeUse TimeUse(const PipelinePlan& pipeline);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_TIME_USE_H_
