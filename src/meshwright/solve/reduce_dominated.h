#ifndef MESHWRIGHT_SOLVE_REDUCE_DOMINATED_H_
#define MESHWRIGHT_SOLVE_REDUCE_DOMINATED_H_

#include <cstdint>

#include "meshwright/solve/core.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Removes strategies a of v for which some b is never worse, whatever the neighbours do:
//
//   c_b - c_a + sum_j max_s (M_j(b, s) - M_j(a, s)) <= 0   and   usage_b <= usage_a in every
//   segment.
//
// (Dead-end elimination, Goldstein 1994; of equal strategies one stays.) Assumes v and its edges
// are tidy. O(k^2) pairs, most of them decided by cost alone; the maxima are computed once per
// different matrix. Skips nodes for which that table would take more than `max_steps`. True if
// something was removed.
bool RemoveDominated(Core* core, int32_t v, int64_t max_steps);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_REDUCE_DOMINATED_H_
