#ifndef MESHWRIGHT_SOLVE_REDUCE_FOLLOW_H_
#define MESHWRIGHT_SOLVE_REDUCE_FOLLOW_H_

#include <cstdint>

#include "meshwright/solve/core.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Functional merge: if every strategy of v allows exactly one of a neighbour (or the other way
// around), the neighbour has no choice of its own. It joins v, with its edges, cost and usage.
// Exact, unlike Alpa's merging of followers by a heuristic. Looks at v's edges; true if something
// was merged.
//
// Assumes v is tidy. O(entries of v's matrices); a merge costs the entries of the merged node's
// matrices.
bool MergeFollowers(Core* core, int32_t v);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_REDUCE_FOLLOW_H_
