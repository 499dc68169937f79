#ifndef MESHWRIGHT_SOLVE_REPAIR_H_
#define MESHWRIGHT_SOLVE_REPAIR_H_

#include <cstdint>
#include <functional>

#include "meshwright/solve/local_state.h"
#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// Tries to make a choice feasible, and then cheaper, by changing one node at a time to what is
// cheapest when a forbidden entry and a unit of excess usage have a penalty. Penalties of rows that
// stay exceeded, and of forbidden entries that stay used, rise from sweep to sweep (breakout local
// search, Morris 1993). Returns the cheapest feasible choice met, or an empty one. At most
// `max_sweeps` sweeps of O(entries met + rows covered by usages), fewer if `stop` says so.
Choice Repair(const Model& model, const Neighbourhoods& near, Choice start, int max_sweeps,
              const std::function<bool()>& stop);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_REPAIR_H_
