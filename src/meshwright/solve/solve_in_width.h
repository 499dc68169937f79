#ifndef MESHWRIGHT_SOLVE_SOLVE_IN_WIDTH_H_
#define MESHWRIGHT_SOLVE_SOLVE_IN_WIDTH_H_

#include "meshwright/solve/problem.h"
#include "meshwright/solve/solver.h"
#include "meshwright/solve/solver_memory.h"

namespace meshwright::solve {

// Whether no sum of costs or usages that solving `problem`, which must be valid, can meet exceeds
// what the narrow numbers hold.
bool FitsNarrow(const Problem& problem);

// Solve in numbers of either width (number.h). `problem` must be valid, for the narrow ones
// FitsNarrow; `memory` may be null.
inline namespace narrow {
Solution SolveInWidth(const Problem& problem, const SolverOptions& options,
                      SolverMemory* memory = nullptr);
}
namespace wide {
Solution SolveInWidth(const Problem& problem, const SolverOptions& options,
                      SolverMemory* memory = nullptr);
}

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_SOLVE_IN_WIDTH_H_
