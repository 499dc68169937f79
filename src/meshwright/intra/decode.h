#ifndef MESHWRIGHT_INTRA_DECODE_H_
#define MESHWRIGHT_INTRA_DECODE_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/liveness.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/planner.h"
#include "meshwright/intra/problem_builder.h"

namespace meshwright {

// What the solution `choice` of `problem` means for the graph: every operator's strategy, every
// value's sharding, the collectives, and time and memory added up anew from those. Memory counts
// what the assignment problem leaves out: the buffers of reshardings while their user runs. Fills
// all of IntraPlan but bound, gap, fits, smallest_budget, warnings and the statistics.
IntraPlan DecodePlan(const ProblemInputs& inputs, const PlanningProblem& problem,
                     const CandidateSets& sets, const Schedule& schedule,
                     const std::vector<int32_t>& choice);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_DECODE_H_
