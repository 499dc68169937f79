// What is said of plans of models over groups of nodes.

#include "meshwright/explain/explain_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two stages, one on each of two groups; a third group is not used.
Plan PlanOverTwoGroups() {
  Plan plan = SampleModelPlan();
  plan.cluster.parts = {{"h100-sxm", 1, 4, int64_t{80} << 30}, {"a10g", 3, 4, int64_t{24} << 30}};
  plan.bound_seconds = 1.5;
  plan.gap = 0.25;
  PlanOverGroups& over = plan.groups.emplace();
  over.groups = {{"fast", "h100-sxm", 1, 4, 1, 1, 2, 1, 2, 8.0},
                 {"slow", "a10g", 2, 4, 1, 1, 4, 1, 2, 2.0},
                 {"idle", "a10g", 1, 4, 0, 0, 0, 0, 0, std::nullopt}};
  over.stage_groups = {0, 1};
  over.step_dollars = 0.01;
  over.steps = 3600;
  return plan;
}

TEST(ExplainModel, EveryGroupHasItsOwnDegrees) {
  const std::string text = ExplainModel(PlanOverTwoGroups());
  EXPECT_THAT(text, HasSubstr("4 devices of type h100-sxm, 12 devices of type a10g"));
  EXPECT_THAT(text, HasSubstr("tensor and data by groups of nodes"));
  EXPECT_THAT(text, Not(HasSubstr("tensor over 2")));
  EXPECT_THAT(text, HasSubstr("  fast: 1 of 1 node of 4 h100-sxm, 1 stage, tensor 2, data 1"));
  EXPECT_THAT(text, HasSubstr("  slow: 1 of 2 nodes of 4 a10g, 1 stage, tensor 4, data 1"));
  EXPECT_THAT(text, HasSubstr("  idle: none of its 1 node of a10g is used\n"));
  EXPECT_THAT(text, HasSubstr("$0.01 a step, $36 and 2 hours for all 3600 steps"));
}

TEST(ExplainModel, GroupsWithTheSameDegrees) {
  Plan plan = PlanOverTwoGroups();
  plan.groups->groups[1].tp = 2;
  EXPECT_THAT(ExplainModel(plan), HasSubstr("\n  tensor over 2: "));
}

TEST(ExplainModel, ShardedStateIsSaidWhateverTheDegreesOfGroups) {
  Plan plan = PlanOverTwoGroups();
  EXPECT_THAT(ExplainModel(plan), Not(HasSubstr("ZeRO")));
  plan.model->configuration.zero = 1;
  plan.groups->groups[0].dp = 2;
  EXPECT_THAT(ExplainModel(plan),
              HasSubstr("\n  optimizer state sharded (ZeRO-1) over each stage's data degree, "));
  plan.model->configuration.dp = 2;
  for (PlanNodeGroup& group : plan.groups->groups) {
    group.tp = plan.model->configuration.tp;
    group.dp = 2;
  }
  EXPECT_THAT(ExplainModel(plan), HasSubstr("\n  data over 2: optimizer state sharded (ZeRO-1)"));
}

// The parts of the step are those of the first stage; the bubble of `simulate` is of all.
TEST(ExplainModel, BubbleSaysWhoseItIs) {
  Plan plan = PlanOverTwoGroups();
  plan.bubble_share = 0.125;
  EXPECT_THAT(ExplainModel(plan), HasSubstr("; bubble 12.5 % of all"));
  EXPECT_THAT(ExplainModel(plan), HasSubstr("of a device of stage 0\n"));
  EXPECT_THAT(ExplainModel(SampleModelPlan()), HasSubstr("HFU 45.0 %; of that\n"));
}

TEST(ExplainModel, GoodputIsTold) {
  Plan plan = SampleModelPlan();
  EXPECT_THAT(ExplainModel(plan), HasSubstr("\ngoodput   93 % of the time, 1.235e+04 tokens"));
  plan.model->goodput.reset();
  EXPECT_THAT(ExplainModel(plan), Not(HasSubstr("goodput")));
}

TEST(ExplainModel, OnlyWhatIsProvenIsCalledSo) {
  Plan plan = PlanOverTwoGroups();
  EXPECT_THAT(ExplainModel(plan), HasSubstr("not proven: the best may be up to 25 % faster"));
  plan.model->objective = ModelObjective::kCost;
  plan.groups->most_seconds = 7200;
  EXPECT_THAT(ExplainModel(plan), HasSubstr("may be up to 25 % cheaper"));
  plan.groups->proven = true;
  EXPECT_THAT(ExplainModel(plan), HasSubstr("proven: no choice of nodes and degrees within"));
  EXPECT_THAT(ExplainModel(SampleModelPlan()), HasSubstr("searched exactly"));
}

}  // namespace
}  // namespace meshwright
