#ifndef MESHWRIGHT_SOLVE_COMPILE_H_
#define MESHWRIGHT_SOLVE_COMPILE_H_

#include <cstdint>
#include <vector>

#include "meshwright/solve/model.h"
#include "meshwright/solve/problem.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {

// A Model of a Problem. Nodes and strategies are the same, so a Choice means the same in both.
struct Compiled {
  Model model;
  std::vector<int32_t> row_time;  // the time point that a row stands for
  // A time at which even the smallest usages exceed the limit; -1 if there is none.
  int32_t infeasible_time = -1;
};

// `problem` must be valid, and FitsNarrow unless this is the wide one.
Compiled Compile(const Problem& problem);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_COMPILE_H_
