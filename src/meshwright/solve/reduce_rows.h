#ifndef MESHWRIGHT_SOLVE_REDUCE_ROWS_H_
#define MESHWRIGHT_SOLVE_REDUCE_ROWS_H_

#include "meshwright/solve/core.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Simplifies the memory side of a core, repeatedly until little changes:
//
// * usage that all strategies of a node share comes off the capacities;
// * strategies that alone exceed what is left of some row's capacity are removed;
// * rows that cannot be exceeded even by the largest usages are dropped;
// * rows that are kept whenever their neighbour in time is kept are dropped:
//   sum_v max_s (u_v(s, r) - u_v(s, r')) <= capacity(r) - capacity(r') means that r' implies r;
// * segments with equal usage that touch are joined, so nodes lose usages and dominance finds more.
//
// Rows are renumbered. O(size of all segments) a round. Sets the core infeasible if a capacity is
// exceeded by the smallest usages. Nodes that changed are queued.
void ReduceRows(Core* core);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_REDUCE_ROWS_H_
