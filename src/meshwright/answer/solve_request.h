#ifndef MESHWRIGHT_ANSWER_SOLVE_REQUEST_H_
#define MESHWRIGHT_ANSWER_SOLVE_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/request/option.h"
#include "meshwright/solve/problem.h"
#include "meshwright/solve/solver.h"

namespace meshwright {

// What `solve` is asked of an assignment problem.
struct SolveAsked {
  std::string deadline = "60s";
  int64_t threads = 2;
  uint64_t seed = 1;
  std::string output;
};
Options SolveOptionRows(SolveAsked& asked);

// Without hooks. Error: the deadline.
absl::StatusOr<solve::SolverOptions> ToSolverOptions(const SolveAsked& asked);

struct SolveAnswer {
  solve::Outcome outcome = solve::Outcome::kUnknown;
  std::string text;  // two lines: the outcome with its figures, the choice
  std::string json;  // see solve/solution_json.h
};

// The best assignment that is found, judged once more from the problem alone. Errors: there is
// none, or none was found before the end (resource exhausted; says why).
absl::StatusOr<SolveAnswer> SolveProblem(const solve::Problem& problem,
                                         const solve::SolverOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_SOLVE_REQUEST_H_
