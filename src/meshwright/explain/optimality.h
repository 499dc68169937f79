#ifndef MESHWRIGHT_EXPLAIN_OPTIMALITY_H_
#define MESHWRIGHT_EXPLAIN_OPTIMALITY_H_

#include <string>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// How near the plan is to the best, by its bound, and what that holds for: "proven: no plan on this
// mesh with 2 shardings as given within the memory is faster under this cost model". The bound is
// one of `objective_seconds`; where the step of a pipeline differs from that, the text says so and
// compares with the objective. No full stop.
std::string OptimalityText(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_OPTIMALITY_H_
