#ifndef MESHWRIGHT_SOLVE_OPTIMISE_H_
#define MESHWRIGHT_SOLVE_OPTIMISE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/solve/model.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

struct OptimiseOptions {
  double target_gap = 0;
  Int128 enough = -kInfCost;  // a choice that costs at most this ends the work
  int threads = 1;
  uint64_t seed = 1;
  int64_t max_steps = 0;
  int64_t max_table_entries = 0;
  std::vector<double> multipliers;            // by row, nearly right ones; empty: none are known
  std::function<bool()> stop;                 // the deadline
  std::function<void(Int128 cost)> improved;  // a better choice was found
  std::function<void(const char* phase, Int128 bound)> report;
};

struct Optimised {
  Choice choice;  // empty: none found
  Int128 cost = kInfCost;
  Int128 bound = -kInfCost;
  int64_t steps = 0;      // taken
  bool complete = false;  // cost is optimal; or, without a choice, the model is infeasible
};

// Solves a model: exactly by elimination where tables allow, else by bounds, search and branch and
// bound in turns. `starts` are choices to begin with, feasible or not.
Optimised Optimise(const Model& model, const OptimiseOptions& options, std::vector<Choice> starts);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_OPTIMISE_H_
