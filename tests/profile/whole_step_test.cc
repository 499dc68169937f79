#include "meshwright/profile/whole_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/intra/cost_model_table.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

TEST(WholeStep, ChoicesAreReadAsWritten) {
  for (const StepChoice& choice :
       std::vector<StepChoice>{{"0123456789abcdef", {}},
                               {"0123456789abcdef", {"- > m=x > [x,_]"}},
                               {"fedcba9876543210",
                                {"- >  > [_,_]", "[_,_] > m=x | k=x > [_,_]",
                                 "[_,_] > m=x | k=x > [_,_]", "- >  > -"}}}) {
    const auto read = StepChoice::Parse(choice.plan, choice.Way());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, choice);
  }
  EXPECT_EQ((StepChoice{"0123456789abcdef", {"a", "b", "b", "a"}}).Way(),
            "whole step: 1 a ; 2 b ; 1 a");
}

TEST(WholeStep, RefusesMalformedChoices) {
  for (const char* plan : {"", "0123", "0123456789ABCDEF", "0123456789abcdef 1"})
    EXPECT_FALSE(StepChoice::Parse(plan, "whole step: 1 a").ok()) << plan;
  for (const char* text : {"", "whole step", "whole step: ", "whole step: 1", "whole step: 0 a",
                           "whole step: -1 a", "whole step: a", "whole step: 1 a ; ",
                           "whole step: 99999999999 a", "1 a", "whole step: 600000 a ; 600000 b"}) {
    const auto read = StepChoice::Parse("0123456789abcdef", text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.status().message(), HasSubstr("is no choice for a whole step"));
  }
}

TEST(WholeStep, ProgramsAreToldApartByWhatTheyDo) {
  const TestProgram program = ProgramFromData("mlp_adam.train.hlo.txt");
  const TestProgram same = ProgramFromData("mlp_adam.train.hlo.txt");
  const TestProgram other = ProgramFromData("mlp_wide_batch.train.hlo.txt");
  EXPECT_EQ(StepProgram(program.graph), StepProgram(same.graph));
  EXPECT_NE(StepProgram(program.graph), StepProgram(other.graph));
  EXPECT_THAT(StepProgram(program.graph), testing::MatchesRegex("step [0-9a-f]+"));
}

TEST(WholeStep, PlansAreToldApartByHowTheyKeepValues) {
  const TestProgram program = ProgramFromData("mlp_adam.train.hlo.txt");
  const Mesh mesh = TestMesh("4", "4xh100-sxm");
  const auto cluster = ParseCluster("4xh100-sxm");
  const CostModelRow* const row = *ChooseCostModel("auto", *cluster);
  const auto model = row->make(mesh);
  PlannerOptions options;
  options.space = row->space;
  options.budget_bytes = int64_t{80} << 30;
  const auto plan = PlanIntra(program.graph, *model, options);
  const auto same = PlanIntra(program.graph, *model, options);
  options.fixes = {{"*", "replicated", "test"}};
  const auto replicated = PlanIntra(program.graph, *model, options);
  ASSERT_TRUE(plan.ok() && same.ok() && replicated.ok()) << replicated.status();
  const std::string digest = PlanDigest(program.graph, mesh, *plan);
  EXPECT_EQ(digest, PlanDigest(program.graph, mesh, *same));
  EXPECT_NE(digest, PlanDigest(program.graph, mesh, *replicated));
}

}  // namespace
}  // namespace meshwright
