#ifndef MESHWRIGHT_TESTS_SOLVE_CBC_H_
#define MESHWRIGHT_TESTS_SOLVE_CBC_H_

#include <optional>

#include "meshwright/solve/problem.h"

namespace meshwright::solve {

// The cost of the optimum according to CBC, a general MILP solver; nullopt if infeasible. Costs and
// usages must be exact as doubles.
std::optional<double> SolveWithCbc(const Problem& problem);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_TESTS_SOLVE_CBC_H_
