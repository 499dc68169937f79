#ifndef MESHWRIGHT_INTRA_UNIFORM_CANDIDATES_H_
#define MESHWRIGHT_INTRA_UNIFORM_CANDIDATES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/intra/prepared_problem.h"

namespace meshwright {

// Calls `offer` with the choices of `prepared` that come nearest to what is written by hand, until
// it returns false: on every axis of the mesh data parallelism, ZeRO-1 or FSDP, and their products.
// Inputs are sharded along their first dimension that divides; of the state (parameters that
// outputs replace) nothing, what no contraction reads, or everything along its largest dimension;
// the rest follows as in XLA (propagate.h). Shardings that are given stay. `options` are those of
// `prepared`.
void OfferUniformChoices(const Graph& graph, const CostModel& cost_model,
                         const PlannerOptions& options, const PreparedProblem& prepared,
                         const std::function<bool(const std::vector<int32_t>&)>& offer);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_UNIFORM_CANDIDATES_H_
