#ifndef MESHWRIGHT_SOLVE_REDUCE_COMPONENTS_H_
#define MESHWRIGHT_SOLVE_REDUCE_COMPONENTS_H_

#include <cstdint>

#include "meshwright/solve/core.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Solves connected components apart: one that uses no row meets the others nowhere, so any of its
// optima will do. Fixes the nodes of those whose elimination tables stay within `max_entries`
// together; components that are equal (same costs and matrices in the same order of nodes) are
// solved once. A model that is one such component is left to the caller. The number of components
// solved.
//
// Assumes that the core is tidy and that segments are not tangled.
int64_t SolveComponents(Core* core, int64_t max_entries);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_REDUCE_COMPONENTS_H_
