#ifndef MESHWRIGHT_SOLVE_SOLVER_H_
#define MESHWRIGHT_SOLVE_SOLVER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/solve/problem.h"

namespace meshwright::solve {

enum class Outcome {
  kOptimal,     // cost == bound
  kFeasible,    // a solution with a bound below it
  kInfeasible,  // proven: no assignment is feasible
  kUnknown,     // none found before the deadline, none proven impossible
};

struct Improvement {
  double seconds = 0;  // since the start
  Int128 cost = 0;
};

struct Progress {
  double seconds = 0;
  std::string phase;  // "reduce", "eliminate", "bound", "search", ...
  bool has_incumbent = false;
  Int128 cost = 0, bound = 0;
};

// Memory: beside the problem itself a compiled copy of it, at most 256 MiB of remembered matrix
// operations while it is reduced, elimination tables of at most 8 * max_table_entries bytes, and
// for the search about ten times the reduced model: entries of its different matrices, strategies
// and the rows that each node's usages cover (8 bytes each). A contest instance of 65,000 nodes
// stays below 1 GiB. Where sums of costs or usages need more than 64 bits it is twice that.
struct SolverOptions {
  double deadline_seconds = 30;  // wall clock; the best so far is returned at it
  int threads = 2;               // the answer depends on it only through the deadline
  uint64_t seed = 1;
  // Stop as soon as (cost - bound) / cost is at most this. 0: prove optimality.
  double target_gap = 0;
  int64_t max_table_entries = int64_t{1} << 24;  // memory bound of elimination tables
  // Work limit of the search phases in elementary steps, so that results do not depend on the speed
  // of the machine while it is not the deadline that ends the search.
  int64_t max_search_steps = 200'000'000'000;
  std::vector<std::vector<int32_t>>
      hints;  // assignments to start from (any length n; may be infeasible)
  std::function<void(const Progress&)> progress;  // called from one thread at a time
  // Asked often, from any thread: once it says true the search ends as at the deadline.
  std::function<bool()> stop;
};

struct Solution {
  Outcome outcome = Outcome::kUnknown;
  std::vector<int32_t> choice;  // by node; empty if there is none
  Int128 cost = 0;              // of `choice`
  Int128 bound = 0;             // no feasible assignment costs less
  Int128 peak = 0;              // usage of `choice`
  double gap = 0;               // (cost - bound) / cost, 0 if optimal
  std::vector<Improvement> history;
  int64_t reduced_nodes = 0;  // nodes left after exact reductions
  int64_t reduced_edges = 0;
  // If infeasible, what shows it, as far as that is known without search; at most one is not -1.
  int32_t infeasible_time = -1;  // at which even the smallest usages exceed the limit
  int32_t infeasible_edge = -1;  // whose entries are all forbidden
  // A node of which no strategy is left: each is forbidden, by its own costs or those with what is
  // left of its neighbours, or uses too much together with what cannot be avoided.
  int32_t infeasible_node = -1;
  // A time at which what forbidden costs and usages at other times leave exceeds the limit.
  int32_t crowded_time = -1;
};

// Solves `problem` as well as it can until the deadline. Deterministic for given options as long as
// the deadline does not cut it off. Errors: an invalid problem.
absl::StatusOr<Solution> Solve(const Problem& problem, const SolverOptions& options = {});

// The smallest usage limit for which it finds an assignment without forbidden costs, and that
// assignment (as cheap as it can make it). `Solution::peak` is the limit; outcome kOptimal only if
// that is proven minimal.
absl::StatusOr<Solution> MinimizePeak(const Problem& problem, const SolverOptions& options = {});

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_SOLVER_H_
