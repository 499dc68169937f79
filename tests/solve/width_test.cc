// Costs and usages near the ends of their ranges, whose sums need more than 64 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/solve_in_width.h"
#include "meshwright/solve/solver.h"
#include "tests/solve/brute_force.h"
#include "tests/solve/planning_problem.h"
#include "tests/solve/random_problem.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

SolverOptions WidthTestOptions() {
  SolverOptions options;
  options.deadline_seconds = 600;
  options.threads = 1;
  options.max_search_steps = 20'000'000;
  return options;
}

void ExpectProven(const Problem& problem, const Solution& solution,
                  const std::optional<BruteForceResult>& expected) {
  if (!expected.has_value()) {
    EXPECT_EQ(solution.outcome, Outcome::kInfeasible);
    EXPECT_TRUE(solution.choice.empty());
    return;
  }
  ASSERT_EQ(solution.outcome, Outcome::kOptimal);
  const Evaluation evaluation = Evaluate(problem, solution.choice);
  EXPECT_TRUE(evaluation.feasible());
  EXPECT_TRUE(solution.cost == expected->cost);
  EXPECT_TRUE(solution.cost == evaluation.cost);
  EXPECT_TRUE(solution.bound == solution.cost);
  EXPECT_TRUE(solution.peak == evaluation.peak);
  EXPECT_EQ(solution.gap, 0);
  // There is no history without costs or choices to make.
  if (!solution.history.empty()) {
    EXPECT_TRUE(solution.history.back().cost == solution.cost);
  }
}

constexpr int64_t kMagnitudes[] = {5,
                                   1'000'000'000,
                                   1'000'000'000'000'000,
                                   100'000'000'000'000'000,
                                   400'000'000'000'000'000,
                                   900'000'000'000'000'000,
                                   kForbidden,
                                   kUnlimited};

// Draws numbers at, just below, a little below and anywhere below a magnitude: that of `only`, or
// another one each time.
class MagnitudeSource {
 public:
  MagnitudeSource(RandomSource* random, int64_t magnitudes)
      : random_(*random), magnitudes_(magnitudes), only_(random->Below(magnitudes + 3)) {}

  int64_t Next() {
    const int64_t most = kMagnitudes[only_ < magnitudes_ ? only_ : random_.Below(magnitudes_)];
    switch (random_.Below(4)) {
      case 0:
        return most - random_.Below(3);
      case 1:
        return most - random_.Below(most / 100 + 1);
      case 2:
        return random_.Below(5);
      default:
        return random_.Below(most);
    }
  }

 private:
  RandomSource& random_;
  int64_t magnitudes_, only_;
};

// A random problem with all numbers drawn anew, and a limit at which feasibility changes.
Problem ProblemOfMagnitudes(uint64_t seed) {
  Problem problem = RandomProblem(seed, {.max_nodes = 5, .max_strategies = 3, .max_edges = 7});
  RandomSource random(seed);
  MagnitudeSource costs(&random, std::size(kMagnitudes) - 1),
      usages(&random, std::size(kMagnitudes));
  std::vector<int32_t> choice;
  for (Node& node : problem.nodes) {
    for (int64_t& c : node.cost) c = c >= kForbidden ? c : costs.Next();
    for (Usage& usage : node.usages) {
      for (int64_t& a : usage.amount) a = usages.Next();
    }
    choice.push_back(static_cast<int32_t>(random.Below(static_cast<int64_t>(node.cost.size()))));
  }
  for (Edge& edge : problem.edges) {
    auto matrix = std::make_shared<Matrix>(*edge.matrix);
    for (int64_t& c : matrix->cost) c = c >= kForbidden ? c : costs.Next();
    edge.matrix = std::move(matrix);
  }
  if (problem.usage_limit != kUnlimited) {
    const Int128 limit = Evaluate(problem, choice).peak + random.Below(3) - 1;
    problem.usage_limit = static_cast<int64_t>(std::clamp<Int128>(limit, 0, kUnlimited - 1));
  }
  return problem;
}

TEST(WidthTest, SolvesNumbersOfAllMagnitudesLikeBruteForce) {
  int narrow_ones = 0, feasible = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Problem problem = ProblemOfMagnitudes(seed);
    const std::optional<BruteForceResult> expected = BruteForce(problem);
    const absl::StatusOr<Solution> solution = Solve(problem, WidthTestOptions());
    ASSERT_TRUE(solution.ok()) << solution.status();
    ExpectProven(problem, *solution, expected);
    narrow_ones += FitsNarrow(problem) ? 1 : 0;
    feasible += expected.has_value() ? 1 : 0;
    if (HasFailure()) return;
  }
  // Of each kind enough.
  EXPECT_GT(narrow_ones, 500);
  EXPECT_LT(narrow_ones, 2500);
  EXPECT_GT(feasible, 1000);
  EXPECT_LT(feasible, 2800);
}

TEST(WidthTest, WideNumbersSolveWhatNarrowOnesDo) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Problem problem = RandomProblem(seed);
    ASSERT_TRUE(FitsNarrow(problem));
    ExpectProven(problem, wide::SolveInWidth(problem, WidthTestOptions()), BruteForce(problem));
    if (HasFailure()) return;
  }
}

// The problem with all costs and all usages multiplied by as much as they can be.
Problem Multiplied(Problem problem, int64_t* cost_factor) {
  int64_t most_cost = 1, most_usage = problem.usage_limit;
  const auto see = [&most_cost](const std::vector<int64_t>& costs) {
    for (int64_t c : costs) most_cost = std::max(most_cost, c < kForbidden ? c : 0);
  };
  for (const Node& node : problem.nodes) {
    see(node.cost);
    for (const Usage& usage : node.usages) {
      most_usage =
          std::max(most_usage, *std::max_element(usage.amount.begin(), usage.amount.end()));
    }
  }
  for (const Edge& edge : problem.edges) see(edge.matrix->cost);
  *cost_factor = (kForbidden - 1) / most_cost;
  const int64_t usage_factor = (kUnlimited - 1) / most_usage;
  const auto multiply = [&](std::vector<int64_t>* costs) {
    for (int64_t& c : *costs) c = c < kForbidden ? c * *cost_factor : c;
  };
  for (Node& node : problem.nodes) {
    multiply(&node.cost);
    for (Usage& usage : node.usages) {
      for (int64_t& a : usage.amount) a *= usage_factor;
    }
  }
  for (Edge& edge : problem.edges) {
    auto matrix = std::make_shared<Matrix>(*edge.matrix);
    multiply(&matrix->cost);
    edge.matrix = std::move(matrix);
  }
  problem.usage_limit *= usage_factor;
  return problem;
}

// Large enough for all phases of the search.
TEST(WidthTest, BoundsAndSearchInWideNumbers) {
  for (uint64_t seed = 1; seed <= RandomCases(2); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Problem problem = PlanningProblem({.layers = 4, .ops = 9, .strategies = 6, .seed = seed});
    problem.usage_limit = static_cast<int64_t>(
        Evaluate(problem, std::vector<int32_t>(problem.nodes.size(), 0)).peak / 2);
    int64_t factor = 0;
    const Problem large = Multiplied(problem, &factor);
    ASSERT_FALSE(FitsNarrow(large));
    SolverOptions options = WidthTestOptions();
    options.max_search_steps = 60'000'000;
    const absl::StatusOr<Solution> small = Solve(problem, options), wide = Solve(large, options);
    ASSERT_TRUE(small.ok() && wide.ok());
    ASSERT_FALSE(small->choice.empty() || wide->choice.empty());
    EXPECT_TRUE(Evaluate(large, wide->choice).feasible());
    EXPECT_EQ(small->outcome, Outcome::kOptimal);
    EXPECT_EQ(wide->outcome, Outcome::kOptimal);
    EXPECT_TRUE(wide->cost == small->cost * factor);
  }
}

TEST(WidthTest, FindsSmallestPeaksBeyondWhatALimitCanSay) {
  Problem problem;
  for (int v = 0; v < 4; ++v)
    problem.nodes.push_back({{0, 5}, {Usage{0, 1, {kUnlimited, kUnlimited - 1}}}});
  const absl::StatusOr<Solution> solution = MinimizePeak(problem, WidthTestOptions());
  ASSERT_TRUE(solution.ok()) << solution.status();
  ASSERT_EQ(solution->choice.size(), 4u);
  EXPECT_TRUE(solution->peak == Evaluate(problem, solution->choice).peak);
  for (Node& node : problem.nodes) node.usages[0].amount[1] = kUnlimited / 5;
  const absl::StatusOr<Solution> proven = MinimizePeak(problem, WidthTestOptions());
  ASSERT_TRUE(proven.ok()) << proven.status();
  EXPECT_EQ(proven->outcome, Outcome::kOptimal);
  EXPECT_TRUE(proven->peak == Int128{kUnlimited / 5} * 4);
}

}  // namespace
}  // namespace meshwright::solve
