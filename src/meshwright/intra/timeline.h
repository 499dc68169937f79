#ifndef MESHWRIGHT_INTRA_TIMELINE_H_
#define MESHWRIGHT_INTRA_TIMELINE_H_

#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// Seconds of one step of `plan` when collectives run beside kernels and small ones are combined, as
// XLA's latency hiding scheduler and collective combiner arrange it. Needs the plan's schedule, ops
// and collectives. timeline.cc has the model.
double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_TIMELINE_H_
