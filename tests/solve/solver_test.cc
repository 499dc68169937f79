#include "meshwright/solve/solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/solve/brute_force.h"
#include "tests/solve/planning_problem.h"
#include "tests/solve/random_problem.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

SolverOptions TestOptions() {
  SolverOptions options;
  options.deadline_seconds = 600;  // the steps decide; a clock would let slow machines fail
  options.threads = 1;
  options.max_search_steps = 20'000'000;
  return options;
}

void ExpectSolvesLikeBruteForce(const Problem& problem,
                                const SolverOptions& options = TestOptions()) {
  const std::optional<BruteForceResult> expected = BruteForce(problem);
  const absl::StatusOr<Solution> solution = Solve(problem, options);
  ASSERT_TRUE(solution.ok()) << solution.status();
  if (!expected.has_value()) {
    EXPECT_EQ(solution->outcome, Outcome::kInfeasible);
    EXPECT_TRUE(solution->choice.empty());
    return;
  }
  ASSERT_EQ(solution->outcome, Outcome::kOptimal);
  const Evaluation evaluation = Evaluate(problem, solution->choice);
  EXPECT_TRUE(evaluation.feasible());
  EXPECT_TRUE(evaluation.cost == solution->cost);
  EXPECT_EQ(static_cast<int64_t>(solution->cost), static_cast<int64_t>(expected->cost));
  EXPECT_TRUE(solution->bound == solution->cost);
  EXPECT_TRUE(solution->peak == evaluation.peak);
  EXPECT_EQ(solution->gap, 0);
}

TEST(SolverTest, SolvesThousandsOfRandomProblemsLikeBruteForce) {
  for (uint64_t seed = 1; seed <= RandomCases(6000); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ExpectSolvesLikeBruteForce(RandomProblem(seed));
    if (HasFatalFailure()) return;
  }
}

// Equal layers in a row that share a row of memory, three operators each with an edge between any
// two, and one to the next layer.
struct Layers {
  static constexpr int kStrategies = 3;
  int count = 12;
  int64_t limit = 0;
  std::vector<int64_t> cost[3], amount[3];
  Matrix inner[3], next;  // inner[i] joins operators i and (i + 1) % 3

  explicit Layers(uint64_t seed) {
    RandomSource random(seed);
    const auto matrix = [&random] {
      Matrix m{kStrategies, kStrategies, {}};
      for (int i = 0; i < kStrategies * kStrategies; ++i) m.cost.push_back(random.Below(1000));
      return m;
    };
    int64_t least = 0, most = 0;
    for (int i = 0; i < 3; ++i) {
      for (int s = 0; s < kStrategies; ++s) {
        cost[i].push_back(1000 * s + random.Below(2000));
        amount[i].push_back(3 * (kStrategies - 1 - s) + random.Below(3));
      }
      least += *std::min_element(amount[i].begin(), amount[i].end());
      most += *std::max_element(amount[i].begin(), amount[i].end());
      inner[i] = matrix();
    }
    next = matrix();
    limit = count * (2 * least + most) / 3;
  }

  Problem AsProblem() const {
    Problem problem;
    problem.usage_limit = limit;
    std::vector<std::shared_ptr<const Matrix>> shared;
    for (const Matrix& m : inner) shared.push_back(std::make_shared<const Matrix>(m));
    const auto to_next = std::make_shared<const Matrix>(next);
    for (int32_t layer = 0; layer < count; ++layer) {
      const int32_t at = 3 * layer;
      for (int i = 0; i < 3; ++i) problem.nodes.push_back({cost[i], {{0, 1, amount[i]}}});
      for (int32_t i = 0; i < 3; ++i)
        problem.edges.push_back({NodeId(at + i), NodeId(at + (i + 1) % 3), shared[i]});
      if (layer > 0) problem.edges.push_back({NodeId(at - 1), NodeId(at), to_next});
    }
    return problem;
  }

  // By dynamic programming over layers, the last operator's strategy and what has been used.
  int64_t Optimum() const {
    constexpr int64_t kNone = int64_t{1} << 60;
    std::vector<std::vector<int64_t>> best(kStrategies, std::vector<int64_t>(limit + 1, kNone));
    for (int layer = 0; layer < count; ++layer) {
      std::vector<std::vector<int64_t>> now(kStrategies, std::vector<int64_t>(limit + 1, kNone));
      for (int choice = 0; choice < kStrategies * kStrategies * kStrategies; ++choice) {
        const int32_t s[3] = {choice / 9, choice / 3 % 3, choice % 3};
        int64_t own = 0, used = 0;
        for (int i = 0; i < 3; ++i) {
          own += cost[i][s[i]] + inner[i].at(s[i], s[(i + 1) % 3]);
          used += amount[i][s[i]];
        }
        for (int32_t before = 0; before < (layer > 0 ? kStrategies : 1); ++before) {
          for (int64_t u = used; u <= limit; ++u) {
            const int64_t to_here = layer > 0   ? best[before][u - used] + next.at(before, s[0])
                                    : u == used ? 0
                                                : kNone;
            now[s[2]][u] = std::min(now[s[2]][u], to_here + own);
          }
        }
      }
      best = std::move(now);
    }
    int64_t optimum = kNone;
    for (const auto& by_usage : best)
      optimum = std::min(optimum, *std::min_element(by_usage.begin(), by_usage.end()));
    return optimum;
  }
};

TEST(SolverTest, MixesTheChoicesOfEqualLayers) {
  for (uint64_t seed = 1; seed <= RandomCases(5); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Layers layers(seed);
    const Problem problem = layers.AsProblem();
    SolverOptions options = TestOptions();
    options.max_search_steps = 1'000'000'000;
    options.target_gap = 1e-3;
    const absl::StatusOr<Solution> solution = Solve(problem, options);
    ASSERT_TRUE(solution.ok()) << solution.status();
    ASSERT_FALSE(solution->choice.empty());
    EXPECT_TRUE(Evaluate(problem, solution->choice).feasible());
    const int64_t optimum = layers.Optimum();
    EXPECT_TRUE(solution->bound <= optimum);
    EXPECT_TRUE(solution->cost >= optimum);
    EXPECT_LE(solution->gap, 1e-3);
  }
}

TEST(SolverTest, SolvesDenseProblemsWithoutForbiddenEntries) {
  RandomShape shape{.max_nodes = 8, .max_strategies = 3, .max_edges = 20, .max_cost = 1000};
  shape.forbidden_node = shape.forbidden_entry = shape.functional_edge = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ExpectSolvesLikeBruteForce(RandomProblem(seed, shape));
    if (HasFatalFailure()) return;
  }
}

// Every problem with three nodes of two strategies on a triangle, costs 0 or 1 or forbidden on
// edges (a subset of patterns), usages 0 to 2 and every limit.
TEST(SolverTest, SolvesEveryTriangle) {
  const std::vector<std::vector<int64_t>> patterns = {{0, 0, 0, 0},
                                                      {0, 1, 1, 0},
                                                      {1, 0, 0, 0},
                                                      {0, kForbidden, kForbidden, 0},
                                                      {kForbidden, 0, 1, 1}};
  for (size_t code = 0; code < 5 * 5 * 5 * 3 * 3 * 3 * 4; ++code) {
    SCOPED_TRACE(absl::StrCat("code ", code));
    size_t rest = code;
    const auto next = [&rest](size_t n) {
      const size_t digit = rest % n;
      rest /= n;
      return digit;
    };
    Problem problem;
    for (int v = 0; v < 3; ++v) problem.nodes.push_back({{0, v}, {}});
    for (int e = 0; e < 3; ++e) {
      problem.edges.push_back({NodeId(static_cast<size_t>(e)),
                               NodeId(static_cast<size_t>((e + 1) % 3)),
                               std::make_shared<const Matrix>(Matrix{2, 2, patterns[next(5)]})});
    }
    for (int v = 0; v < 3; ++v) {
      const auto usage = static_cast<int64_t>(next(3));
      problem.nodes[v].usages.push_back({v, v + 2, {usage, 2 - usage}});
    }
    problem.usage_limit = static_cast<int64_t>(next(4));
    ExpectSolvesLikeBruteForce(problem);
    if (HasFatalFailure()) return;
  }
}

TEST(SolverTest, HandlesTheSmallestProblems) {
  ExpectSolvesLikeBruteForce(Problem());
  Problem one;
  one.nodes = {{{4, 3}, {}}};
  ExpectSolvesLikeBruteForce(one);
  one.nodes = {{{kForbidden}, {}}};
  ExpectSolvesLikeBruteForce(one);
  one.nodes = {{{1, 0}, {Usage{0, 5, {0, 7}}}}};
  one.usage_limit = 6;
  ExpectSolvesLikeBruteForce(one);
}

TEST(SolverTest, InvalidProblemsAreErrors) {
  Problem problem;
  problem.nodes = {{{}, {}}};
  EXPECT_EQ(Solve(problem).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MinimizePeak(problem).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SolverTest, NamesTheTimeAtWhichNothingFits) {
  Problem problem;
  problem.nodes = {{{0, 0}, {Usage{2, 9, {5, 6}}}}, {{0}, {Usage{7, 8, {4}}}}};
  problem.usage_limit = 8;
  const absl::StatusOr<Solution> solution = Solve(problem);
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->outcome, Outcome::kInfeasible);
  EXPECT_EQ(solution->infeasible_time, 7);
}

TEST(SolverTest, HintsAreUsedAndMayBeNonsense) {
  Problem problem = RandomProblem(11);
  const std::optional<BruteForceResult> expected = BruteForce(problem);
  ASSERT_TRUE(expected.has_value());
  SolverOptions options = TestOptions();
  options.hints = {{},
                   {1, 2, 3},
                   std::vector<int32_t>(problem.nodes.size(), 1'000'000),
                   std::vector<int32_t>(problem.nodes.size(), -1),
                   expected->choice};
  ExpectSolvesLikeBruteForce(problem, options);
}

TEST(SolverTest, SameOptionsSameAnswerWithAnyNumberOfThreads) {
  Problem problem = PlanningProblem({.layers = 5, .ops = 9, .strategies = 8, .seed = 2});
  problem.usage_limit = static_cast<int64_t>(
      Evaluate(problem, std::vector<int32_t>(problem.nodes.size(), 0)).peak / 2);
  std::optional<Solution> first;
  for (int threads : {1, 1, 2}) {
    SolverOptions options;
    options.threads = threads;
    options.deadline_seconds = 600;
    options.max_search_steps = 60'000'000;
    const absl::StatusOr<Solution> solution = Solve(problem, options);
    ASSERT_TRUE(solution.ok());
    ASSERT_FALSE(solution->choice.empty());
    if (!first.has_value()) first = *solution;
    EXPECT_EQ(solution->choice, first->choice) << threads << " threads";
    EXPECT_TRUE(solution->bound == first->bound);
    EXPECT_EQ(solution->history.size(), first->history.size());
  }
}

TEST(SolverTest, ReturnsAtTheDeadline) {
  Problem problem = PlanningProblem({.layers = 24, .ops = 40, .strategies = 16, .seed = 2});
  problem.usage_limit = static_cast<int64_t>(
      Evaluate(problem, std::vector<int32_t>(problem.nodes.size(), 0)).peak / 3);
  SolverOptions options;
  options.deadline_seconds = 1;
  options.max_search_steps = int64_t{1} << 60;
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<Solution> solution = Solve(problem, options);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(solution.ok());
  EXPECT_LT(seconds, 2.5);  // the machine may be busy with other tests
  if (!solution->choice.empty()) {
    EXPECT_TRUE(Evaluate(problem, solution->choice).feasible());
    EXPECT_TRUE(solution->bound <= solution->cost);
  }
}

TEST(SolverTest, ReportsProgressAndHistory) {
  Problem problem = PlanningProblem({.layers = 4, .ops = 9, .strategies = 8, .seed = 4});
  problem.usage_limit = static_cast<int64_t>(
      Evaluate(problem, std::vector<int32_t>(problem.nodes.size(), 0)).peak / 2);
  SolverOptions options = TestOptions();
  std::vector<Progress> reports;
  options.progress = [&](const Progress& p) { reports.push_back(p); };
  const absl::StatusOr<Solution> solution = Solve(problem, options);
  ASSERT_TRUE(solution.ok());
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.front().phase, "reduce");
  ASSERT_FALSE(solution->history.empty());
  EXPECT_TRUE(solution->history.back().cost == solution->cost);
  for (size_t i = 1; i < solution->history.size(); ++i) {
    EXPECT_TRUE(solution->history[i].cost < solution->history[i - 1].cost);
  }
}

TEST(MinimizePeakTest, FindsTheSmallestPeak) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Problem problem = RandomProblem(seed, {.max_nodes = 5});
    const std::optional<Int128> expected = BruteForcePeak(problem);
    const absl::StatusOr<Solution> solution = MinimizePeak(problem, TestOptions());
    ASSERT_TRUE(solution.ok()) << solution.status();
    if (!expected.has_value()) {
      EXPECT_EQ(solution->outcome, Outcome::kInfeasible);
      continue;
    }
    EXPECT_EQ(solution->outcome, Outcome::kOptimal);
    EXPECT_EQ(static_cast<int64_t>(solution->peak), static_cast<int64_t>(*expected));
    // As cheap as that peak allows.
    Problem limited = problem;
    limited.usage_limit = static_cast<int64_t>(*expected);
    const std::optional<BruteForceResult> cheapest = BruteForce(limited);
    ASSERT_TRUE(cheapest.has_value());
    EXPECT_EQ(static_cast<int64_t>(solution->cost), static_cast<int64_t>(cheapest->cost));
  }
}

}  // namespace
}  // namespace meshwright::solve
