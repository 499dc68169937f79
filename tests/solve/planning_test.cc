// The kind of problem that planning poses, at a size that a test can afford.
#include <gtest/gtest.h>

#include "meshwright/solve/solver.h"
#include "tests/solve/planning_problem.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

TEST(PlanningTest, UnlimitedMemoryIsSolvedToOptimality) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Problem problem = PlanningProblem({.layers = 48, .ops = 60, .strategies = 16, .seed = 1});
  EXPECT_GT(problem.nodes.size(), 6000u);
  const absl::StatusOr<Solution> solution = Solve(problem);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_EQ(solution->outcome, Outcome::kOptimal);
  EXPECT_TRUE(Evaluate(problem, solution->choice).cost == solution->cost);
}

TEST(PlanningTest, TightMemoryIsSolvedToASmallGap) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  Problem problem = PlanningProblem({.layers = 12, .ops = 20, .strategies = 16, .seed = 2});
  SolverOptions options;
  options.deadline_seconds = 30;
  options.max_search_steps = 50'000'000;
  const absl::StatusOr<Solution> smallest = MinimizePeak(problem, options);
  ASSERT_TRUE(smallest.ok()) << smallest.status();
  ASSERT_FALSE(smallest->choice.empty());
  EXPECT_TRUE(Evaluate(problem, smallest->choice).peak == smallest->peak);

  problem.usage_limit = static_cast<int64_t>(static_cast<double>(smallest->peak) * 1.2);
  const absl::StatusOr<Solution> solution = Solve(problem, options);
  ASSERT_TRUE(solution.ok()) << solution.status();
  ASSERT_FALSE(solution->choice.empty());
  EXPECT_TRUE(Evaluate(problem, solution->choice).feasible());
  EXPECT_LT(solution->gap, 0.02);

  // One byte less than the smallest peak, if that was proven, is infeasible.
  if (smallest->outcome == Outcome::kOptimal) {
    problem.usage_limit = static_cast<int64_t>(smallest->peak) - 1;
    const absl::StatusOr<Solution> none = Solve(problem, options);
    ASSERT_TRUE(none.ok());
    EXPECT_TRUE(none->choice.empty());
  }
}

}  // namespace
}  // namespace meshwright::solve
