#include "meshwright/hetero/check_degrees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/hetero/search.h"
#include "tests/degrees/space_samples.h"

namespace meshwright::transformer::hetero {
namespace {

using ::testing::HasSubstr;

// 12 devices, 8 layers of 4 heads, 32 sequences.
Problem DegreesProblem() {
  Problem problem;
  problem.model = DenseModel(4, 4, 8);
  problem.workload = {.sequence = 128, .global_batch = 32};
  problem.cluster = *ParseMixedCluster("1x4xa100-40g+2x4xv100");
  return problem;
}

std::string FixError(const std::string& fixes) {
  Problem problem = DegreesProblem();
  problem.fixes = *ParseFixes({fixes});
  const absl::Status status = SearchPlans(problem, {}).status();
  EXPECT_EQ(status, CheckDegrees(problem));
  return std::string(status.message());
}

TEST(CheckDegreesTest, PossibleFixesPass) {
  for (const char* const fixes : {"pp=8", "pp=1", "tp=4", "tp=2,dp=2,pp=3", "dp=8", "mbs=32",
                                  "zero=1", "tp=1,dp=1,mbs=1,pp=8,zero=0", "recompute=full"}) {
    EXPECT_EQ(FixError(fixes), "") << fixes;
  }
}

TEST(CheckDegreesTest, SaysWhatStagesThereMayBe) {
  EXPECT_THAT(
      FixError("pp=99"),
      testing::AllOf(HasSubstr("--fix: pp=99 is not possible over 1x4 "),
                     HasSubstr(" has 8 layers, and a stage one at least but for the first and the "
                               "last); valid are 1 to 10")));
  EXPECT_THAT(FixError("pp=7,tp=2"),
              HasSubstr("hold at most 6 stages with the other fixes, each of which lies on nodes "
                        "of one group); valid are 1 to 6"));
  EXPECT_THAT(FixError("pp=9,tp=4"), HasSubstr("valid are 1 to 3"));
}

TEST(CheckDegreesTest, SaysWhatDegreesThereMayBe) {
  EXPECT_THAT(FixError("tp=3"), HasSubstr("tp=3 is not possible"));
  EXPECT_THAT(FixError("tp=3"), HasSubstr("valid are 1, 2, 4"));
  EXPECT_THAT(FixError("tp=8"), HasSubstr("valid are 1, 2, 4"));
  EXPECT_THAT(FixError("dp=3"), HasSubstr("valid are 1, 2, 4, 8"));
  EXPECT_THAT(FixError("mbs=5,pp=99"), HasSubstr("mbs=5 is not possible"));
  EXPECT_THAT(FixError("dp=1,zero=1"), HasSubstr("dp=1 does not go with the other fixes"));
  EXPECT_THAT(FixError("dp=8,mbs=8"), HasSubstr("with them valid are 1, 2, 4"));
}

TEST(CheckDegreesTest, SaysWhy) {
  EXPECT_THAT(FixError("dp=16"),
              HasSubstr("a stage lies on nodes of one group, on whole ones or an equal part of "
                        "one, and takes tp dp = 16 devices: there are 4 of a100-40g, 8 of v100"));
  EXPECT_THAT(FixError("tp=8"),
              HasSubstr("tp devices are an equal part of a node: 4 of a100-40g, 4 of v100"));
  EXPECT_THAT(FixError("dp=3"), HasSubstr("dp mbs has to divide the global batch of 32"));
  EXPECT_THAT(FixError("dp=8,mbs=8"), HasSubstr("dp mbs has to divide the global batch of 32"));
  EXPECT_THAT(FixError("tp=4,dp=4"), HasSubstr("takes tp dp = 16 devices"));
  EXPECT_THAT(FixError("dp=1,zero=1"), HasSubstr("nothing for zero to shard"));
  EXPECT_THAT(FixError("dp=8,pp=2"),
              HasSubstr("the nodes hold at most 1 stage with the other fixes, each of which lies "
                        "on nodes of one group"));
}

// 6 heads do not go on 4 devices, though an MLP does.
TEST(CheckDegreesTest, TensorDegreesDivideHeads) {
  Problem problem = DegreesProblem();
  problem.model = DenseModel(6, 6, 8);
  problem.fixes.tp = 4;
  EXPECT_THAT(std::string(SearchPlans(problem, {}).status().message()),
              HasSubstr("valid are 1, 2"));
}

}  // namespace
}  // namespace meshwright::transformer::hetero
