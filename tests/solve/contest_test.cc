// The contest's instances, read from ../shared where it exists: the small ones to the end, of a
// large one what can be said in a few seconds. bench/ measures the rest.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include "meshwright/solve/compile.h"
#include "meshwright/solve/iopddl_json.h"
#include "meshwright/solve/reduce.h"
#include "meshwright/solve/solver.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

std::optional<Problem> ReadInstance(const std::string& letter) {
  const std::string path =
      std::string(MESHWRIGHT_SHARED) + "/iopddl/asplos-2025-iopddl-" + letter + ".json.gz";
  if (!std::filesystem::exists(path)) {
    std::cout << "not used, not there: " << path << "\n";
    return std::nullopt;
  }
  std::cout << "using " << path << "\n";
  absl::StatusOr<Problem> problem = ReadIopddl(path);
  if (!problem.ok()) {
    ADD_FAILURE() << problem.status();
    return std::nullopt;
  }
  return *std::move(problem);
}

TEST(ContestTest, ProvesTheOptimaOfTheSmallInstances) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const auto& [letter, optimum] :
       {std::pair("B", int64_t{532'843}), std::pair("G", int64_t{217'039})}) {
    SCOPED_TRACE(letter);
    const std::optional<Problem> problem = ReadInstance(letter);
    if (!problem.has_value()) continue;
    const absl::StatusOr<Solution> solution = Solve(*problem);
    ASSERT_TRUE(solution.ok()) << solution.status();
    EXPECT_EQ(solution->outcome, Outcome::kOptimal);
    EXPECT_EQ(static_cast<int64_t>(solution->cost), optimum);
    EXPECT_TRUE(Evaluate(*problem, solution->choice).feasible());
  }
}

TEST(ContestTest, ReducesALargeInstanceToAHandfulOfNodes) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::optional<Problem> problem = ReadInstance("P");
  if (!problem.has_value()) return;
  const Reduced reduced = Reduce(Compile(*problem).model);
  EXPECT_FALSE(reduced.infeasible);
  EXPECT_LT(reduced.model.size(), 200);
  SolverOptions options;
  options.deadline_seconds = 10;
  options.max_search_steps = 20'000'000;
  const absl::StatusOr<Solution> solution = Solve(*problem, options);
  ASSERT_TRUE(solution.ok()) << solution.status();
  ASSERT_FALSE(solution->choice.empty());
  // The published optimum: no bound may exceed it, no answer undercut it.
  constexpr int64_t kOptimum = 651'833'115'436;
  EXPECT_LE(static_cast<int64_t>(solution->bound), kOptimum);
  EXPECT_GE(static_cast<int64_t>(solution->cost), kOptimum);
  EXPECT_TRUE(Evaluate(*problem, solution->choice).cost == solution->cost);
}

}  // namespace
}  // namespace meshwright::solve
