#ifndef MESHWRIGHT_INTRA_TIMELINE_H_
#define MESHWRIGHT_INTRA_TIMELINE_H_

#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// How often each part of a plan runs.
struct StepRuns {
  std::vector<double> ops;          // by OpId
  std::vector<double> collectives;  // as in IntraPlan::collectives; 0: left out
};

// Seconds of one step of `plan` when collectives overlap with kernels and small ones are combined,
// as XLA's latency hiding scheduler and collective combiner arrange it. Needs the plan's schedule,
// ops and collectives. timeline.cc has the model.
double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan);
// The same of what `runs` says instead of all that the step has.
double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan, const StepRuns& runs);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_TIMELINE_H_
