#ifndef MESHWRIGHT_SOLVE_BRANCH_AND_BOUND_H_
#define MESHWRIGHT_SOLVE_BRANCH_AND_BOUND_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

struct BranchOptions {
  Int128 upper = kInfCost;  // only cheaper choices are wanted
  int64_t max_steps = 0;    // elementary steps of bounding
  int64_t max_entries =
      1 << 16;  // of all tables when what is left is eliminated exactly instead of branched on
  std::vector<double> multipliers;  // by row, to start from; may be empty
  int root_rounds = 100;            // of bounding before the first branch
  std::function<bool()> stop;       // asked now and then; may be empty
};

struct BranchResult {
  Choice choice;           // the cheapest below `upper` that was found; empty if none
  Int128 cost = kInfCost;  // of it
  bool complete = false;   // nothing cheaper than min(upper, cost) exists
  int64_t steps = 0;
};

// The cheapest feasible choice below `upper`, by depth-first branch and bound. See the .cc file.
BranchResult BranchAndBound(const Model& model, const BranchOptions& options);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_BRANCH_AND_BOUND_H_
