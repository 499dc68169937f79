// The planner's optimum on small random programs is that of trying everything.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/decode.h"
#include "meshwright/intra/groups.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/problem_builder.h"
#include "meshwright/solve/solver.h"
#include "tests/intra/brute_force.h"
#include "tests/intra/random_program.h"
#include "tests/intra/test_program.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

// Everything the planner derives from a program before it solves.
struct Prepared {
  Prepared(const TestProgram& program, const CostModel& cost_model, const GivenCuts& cuts = {})
      : fusion(AnalyzeFusion(program.graph)),
        schedule(ScheduleForMemory(program.graph, fusion)),
        intervals(Liveness(program.graph, fusion, schedule)),
        tied(program.graph.outputs.size(), -1),
        groups(FormGroups(program.graph, fusion,
                          std::vector<bool>(program.graph.values.size(), false))),
        sets(program.graph, fusion, groups, cost_model, StrategySpace::kFull, cuts),
        inputs{.graph = program.graph,
               .cost_model = cost_model,
               .fusion = fusion,
               .groups = groups,
               .intervals = intervals,
               .pins = pins,
               .tied = tied} {
    pins.parameters.resize(program.graph.parameters.size());
    pins.outputs.resize(program.graph.outputs.size());
    pins.values.resize(program.graph.values.size());
    problem = *BuildProblem(inputs, &sets);
  }

  FusionInfo fusion;
  Schedule schedule;
  std::vector<Interval> intervals;
  std::vector<int32_t> tied;
  Groups groups;
  Pins pins;
  CandidateSets sets;
  ProblemInputs inputs;
  PlanningProblem problem;
};

class OptimalityTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OptimalityTest, EqualsBruteForceWithAndWithoutBudget) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const RooflineCostModel cost_model(
      TestMesh(GetParam(), std::string_view(GetParam()) == "2" ? "2xv100" : "4xv100"));
  const bool small = cost_model.mesh().rank() == 1;
  const int programs = small ? 1500 : 150;
  int with_budget = 0, infeasible = 0;
  for (int seed = 0; seed < programs; ++seed) {
    std::mt19937_64 random(seed);
    const TestProgram program =
        ProgramFromText(RandomProgram(random, small ? 1 + seed % 8 : 1 + seed % 4));
    Prepared prepared(program, cost_model);
    SCOPED_TRACE(absl::StrCat("seed ", seed, " mesh ", GetParam()));

    const auto check = [&](int64_t budget) {
      prepared.problem.problem.usage_limit = budget;
      const absl::StatusOr<solve::Solution> solution = solve::Solve(prepared.problem.problem);
      ASSERT_TRUE(solution.ok()) << solution.status();
      const std::optional<double> best =
          BruteForce(program.graph, cost_model, prepared.fusion, prepared.intervals, budget);
      if (!best.has_value()) {
        ++infeasible;
        EXPECT_EQ(solution->outcome, solve::Outcome::kInfeasible);
        return;
      }
      ASSERT_EQ(solution->outcome, solve::Outcome::kOptimal);
      // Each of a few dozen costs is rounded to a picosecond.
      EXPECT_NEAR(static_cast<double>(solution->cost) * 1e-12, *best, 5e-11);
      const IntraPlan plan = DecodePlan(prepared.inputs, prepared.problem, prepared.sets,
                                        prepared.schedule, solution->choice);
      EXPECT_NEAR(plan.objective, *best, 5e-11);
    };
    check(solve::kUnlimited);
    const absl::StatusOr<solve::Solution> smallest = solve::MinimizePeak(prepared.problem.problem);
    ASSERT_TRUE(smallest.ok()) << smallest.status();
    const auto least = static_cast<int64_t>(smallest->peak);
    check(least);
    check(least - 1);
    check(least + static_cast<int64_t>(random() % 512));
    ++with_budget;
  }
  EXPECT_EQ(with_budget, programs);
  EXPECT_GE(infeasible, programs);  // one byte less than the least never fits
}

// Axes in another order, uneven shards and both at once.
TEST(OptimalityTest, EqualsBruteForceWithGivenCuts) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const RooflineCostModel cost_model(TestMesh("2x3", "6xh100-sxm"));
  for (int seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const TestProgram program = ProgramFromText(RandomProgram(random, 1 + seed % 3));
    GivenCuts cuts;
    if (seed % 3 != 1) cuts.orders = {AxisList{1, 0}};
    for (const Value& value : program.graph.values) {
      for (int64_t size : value.shape.dims) {
        if (seed % 3 != 0) cuts.uneven.insert(size);
      }
    }
    Prepared prepared(program, cost_model, cuts);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const absl::StatusOr<solve::Solution> solution = solve::Solve(prepared.problem.problem);
    ASSERT_TRUE(solution.ok()) << solution.status();
    ASSERT_EQ(solution->outcome, solve::Outcome::kOptimal);
    const std::optional<double> best =
        BruteForce(program.graph, cost_model, prepared.fusion, prepared.intervals,
                   solve::kUnlimited, {}, {}, cuts);
    ASSERT_TRUE(best.has_value());
    EXPECT_NEAR(static_cast<double>(solution->cost) * 1e-12, *best, 5e-11);
    const IntraPlan plan = DecodePlan(prepared.inputs, prepared.problem, prepared.sets,
                                      prepared.schedule, solution->choice);
    EXPECT_NEAR(plan.objective, *best, 5e-11);
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, OptimalityTest, ::testing::Values("2", "2x2"));

}  // namespace
}  // namespace meshwright
