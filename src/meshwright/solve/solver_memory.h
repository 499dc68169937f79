#ifndef MESHWRIGHT_SOLVE_SOLVER_MEMORY_H_
#define MESHWRIGHT_SOLVE_SOLVER_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "meshwright/solve/problem.h"
#include "meshwright/solve/solver.h"

namespace meshwright::solve {

// Remembers what reducing problems came to, for others that are much alike, such as one problem
// with this or that strategy forbidden. Not for two calls at a time.
struct SolverMemory {
  int64_t max_bytes = int64_t{64} << 20;
  std::shared_ptr<void> narrow, wide;  // the solver's own, for numbers of either width
};

// Solve with the same results, several times as fast for problems like those that `memory` is of.
absl::StatusOr<Solution> Solve(const Problem& problem, const SolverOptions& options,
                               SolverMemory* memory);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_SOLVER_MEMORY_H_
