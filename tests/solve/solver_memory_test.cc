#include "meshwright/solve/solver_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {
namespace {

// Of a problem, then of the same one with some strategies forbidden, time and again.
TEST(SolverMemory, LeavesResultsAsTheyAre) {
  SolverMemory memory;
  SolverMemory small{.max_bytes = 4096, .narrow = nullptr, .wide = nullptr};  // forgets
  SolverOptions options;
  options.deadline_seconds = 600;
  options.threads = 1;
  std::mt19937_64 random(7);
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Problem whole = RandomProblem(seed);
    for (int variant = 0; variant < 4; ++variant) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, " variant ", variant));
      Problem problem = whole;
      for (int i = 0; i < variant; ++i) {
        Node& node = problem.nodes[random() % problem.nodes.size()];
        node.cost[random() % node.cost.size()] = kForbidden;
      }
      const auto expected = Solve(problem, options);
      ASSERT_TRUE(expected.ok()) << expected.status();
      for (SolverMemory* of : {&memory, &small}) {
        const auto solved = Solve(problem, options, of);
        ASSERT_TRUE(solved.ok()) << solved.status();
        EXPECT_EQ(solved->outcome, expected->outcome);
        EXPECT_EQ(solved->choice, expected->choice);
        EXPECT_TRUE(solved->bound == expected->bound);
      }
    }
  }
  EXPECT_NE(memory.narrow, nullptr);
}

}  // namespace
}  // namespace meshwright::solve
