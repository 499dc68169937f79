// CBC, a general MILP solver, as an independent check on problems beyond brute force.
#include "tests/solve/cbc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/solver.h"
#include "tests/solve/random_problem.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

TEST(CbcTest, AgreesOnHundredsOfRandomProblems) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int feasible = 0, infeasible = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomShape shape{.max_nodes = 14, .max_strategies = 4, .max_edges = 24, .max_cost = 50};
    shape.forbidden_entry = seed % 2 == 0 ? 10 : 0;
    const Problem problem = RandomProblem(seed, shape);
    SolverOptions options;
    options.threads = 1;
    const absl::StatusOr<Solution> ours = Solve(problem, options);
    ASSERT_TRUE(ours.ok()) << ours.status();
    const std::optional<double> theirs = SolveWithCbc(problem);
    if (theirs.has_value()) {
      ++feasible;
      ASSERT_EQ(ours->outcome, Outcome::kOptimal);
      EXPECT_EQ(static_cast<int64_t>(ours->cost), std::llround(*theirs));
    } else {
      ++infeasible;
      EXPECT_EQ(ours->outcome, Outcome::kInfeasible);
    }
  }
  EXPECT_GT(feasible, 100);
  EXPECT_GT(infeasible, 5);
}

}  // namespace
}  // namespace meshwright::solve
