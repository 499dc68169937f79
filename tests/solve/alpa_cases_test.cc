// Assignment problems of Alpa and of XLA's auto-sharding solver with known optima. They are not
// ours to copy, so the tests read them from ../shared, and say so when it is not there.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "meshwright/solve/alpa_ilp.h"

namespace meshwright::solve {
namespace {

// More than any of them needs; a clock would measure what else the machine does.
constexpr int64_t kCaseSteps = 100'000'000;

void ExpectReproduced(const std::string& file, size_t cases) {
  const std::string path = std::string(MESHWRIGHT_SHARED) + "/peers/alpa/" + file;
  if (!std::filesystem::exists(path)) {
    std::cout << "not used, not there: " << path << "\n";
    return;
  }
  std::cout << "using " << path << "\n";
  const absl::StatusOr<std::vector<RecordedProblem>> problems = ReadRecordedProblems(path);
  ASSERT_TRUE(problems.ok()) << problems.status();
  EXPECT_EQ(problems->size(), cases);
  for (const RecordedProblem& problem : *problems) {
    SCOPED_TRACE(problem.name);
    EXPECT_EQ(problem.cost_scale, 1e6);
    SolverOptions options;
    options.max_search_steps = kCaseSteps;
    const absl::StatusOr<Reproduced> result = Reproduce(problem, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->agrees) << result->found.value_or(-1) << " instead of "
                                << problem.objective.value_or(-1);
    EXPECT_LE(result->deviation, 1e-9);
  }
}

TEST(AlpaCasesTest, SolvesItsIlps) { ExpectReproduced("ilps.json.gz", 48); }

TEST(AlpaCasesTest, SolvesTheCasesOfXlasSolver) { ExpectReproduced("xla_solver_cases.json", 8); }

}  // namespace
}  // namespace meshwright::solve
