#ifndef MESHWRIGHT_SOLVE_COMPILE_H_
#define MESHWRIGHT_SOLVE_COMPILE_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/model.h"
#include "meshwright/solve/problem.h"

namespace meshwright::solve {

// A Model of a Problem. Nodes and strategies are the same, so a Choice means the same in both.
struct Compiled {
  Model model;
  std::vector<int32_t> row_time;  // the time point that a row stands for
  // Costs were divided by 2^cost_shift (rounded down), because their sums might not fit 64 bits.
  // Only then is the model's cost not the problem's: multiplied back it is a lower bound of it.
  int cost_shift = 0;
  // Usages were divided by 2^usage_shift (rounded up) and the limit with them (rounded down): what
  // fits the model fits the problem, but not the other way around.
  int usage_shift = 0;
  // A time at which even the smallest usages exceed the limit; -1 if there is none.
  int32_t infeasible_time = -1;

  bool exact() const { return cost_shift == 0 && usage_shift == 0; }
};

// `problem` must be valid.
Compiled Compile(const Problem& problem);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_COMPILE_H_
