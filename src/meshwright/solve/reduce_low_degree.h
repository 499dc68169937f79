#ifndef MESHWRIGHT_SOLVE_REDUCE_LOW_DEGREE_H_
#define MESHWRIGHT_SOLVE_REDUCE_LOW_DEGREE_H_

#include <cstdint>

#include "meshwright/solve/core.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Removes v if it has at most two edges and no usage, or only one strategy:
//   degree 0: its cheapest strategy;  degree 1: its cheapest strategy for each of the neighbour's,
//   added there; degree 2: likewise for each pair, an edge between the neighbours (a min-plus
//   product of its two matrices).
// A chain of any length is one edge afterwards, and a chain of equal parts is computed once per
// length (MatrixPool). A degree-2 node whose product would take more than `max_steps` stays. True
// if v was removed.
bool EliminateLowDegree(Core* core, int32_t v, int64_t max_steps);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_REDUCE_LOW_DEGREE_H_
