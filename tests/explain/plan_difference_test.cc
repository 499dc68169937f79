#include "meshwright/explain/plan_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "meshwright/plan/make/plan_program.h"
#include "tests/plan/document/sample_plan.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<PlannedProgram> PlanGpt(const std::string& mesh, std::vector<Fix> fixes) {
  ProgramRequest request;
  request.program = HloData("tiny_gpt.train.hlo.txt.gz");
  request.cluster = "8xh100-sxm";
  request.mesh = mesh;
  request.cost_model = "roofline";
  request.fixes = std::move(fixes);
  return PlanProgram(request);
}

TEST(DiffPlans, IdenticalPlansSaySo) {
  for (const Plan& plan : {SamplePlan(), SamplePipelinePlan(), SampleModelPlan(), Plan()}) {
    Plan later = plan;
    later.planning_seconds += 1;
    const PlanDifference difference = DiffPlans(plan, later);
    EXPECT_TRUE(difference.identical);
    EXPECT_EQ(DiffText(plan, later, difference), "the plans are identical\n");
    EXPECT_EQ(nlohmann::json::parse(DiffJson(difference))["identical"], true);
  }
}

TEST(DiffPlans, EveryFieldOfAPlanCounts) {
  Plan before = SamplePlan(), after = before;
  after.inputs[0].sha256 = std::string(64, 'b');
  after.options.memory = "128";
  after.cluster.parts[0].devices_per_node = 4;
  after.mesh = {{"x", 8}};
  after.step_seconds = 0.04;
  after.memory_by_category[2] += 10;
  after.program.collectives[0].seconds = 0.5;
  after.program.collectives[0].count = 9;
  after.program.collectives.push_back({"all-gather", {"x"}, 1, 2, 0.125, ""});
  after.program.parameters[0].spec = {{}, {}, {"x"}};
  after.program.parameters.pop_back();
  const PlanDifference difference = DiffPlans(before, after);
  EXPECT_FALSE(difference.identical);
  ASSERT_EQ(difference.asked.size(), 3u);
  EXPECT_THAT(difference.asked[0].before, HasSubstr("aaaaaaaaaaaa"));
  EXPECT_EQ(difference.asked[1].what, "--memory");
  EXPECT_THAT(difference.asked[2].after, HasSubstr("1 x 4 h100-sxm"));
  EXPECT_EQ(difference.found[0].after, "x=8");
  EXPECT_EQ(difference.seconds[0].after, 0.04);
  ASSERT_EQ(difference.memory.size(), 2u);
  EXPECT_EQ(difference.memory[1].what, "inputs");
  ASSERT_EQ(difference.collectives.size(), 2u);
  EXPECT_EQ(difference.collectives[0].after.count, 9);
  EXPECT_EQ(difference.collectives[1].before.count, 0);
  ASSERT_EQ(difference.parameters.size(), 2u);
  EXPECT_EQ(difference.parameters[0].after, "");
  const std::string text = DiffText(before, after, difference);
  EXPECT_THAT(text, HasSubstr("[x,_,y]  ->  [_,_,x]"));
  EXPECT_THAT(text, HasSubstr("not there"));
  EXPECT_THAT(text, HasSubstr("-50.00 %"));
}

// The same groups of devices by other axes: nothing changed, or only what did.
TEST(DiffPlans, CollectivesOfOtherMeshesAreComparedByTheirGroups) {
  Plan before = SamplePlan(), after = before;
  before.mesh = {{"x", 2}, {"y", 4}};
  before.program.collectives = {{"all-reduce", {"x", "y"}, 17, 64, 0.5, ""},
                                {"all-reduce", {"y"}, 3, 8, 0.25, ""},
                                {"all-gather", {"x"}, 1, 2, 0.125, ""}};
  after.mesh = {{"x", 8}};
  after.program.collectives = {{"all-reduce", {"x"}, 17, 64, 0.5, ""},
                               {"all-gather", {"x"}, 1, 2, 0.125, ""}};
  PlanDifference difference = DiffPlans(before, after);
  ASSERT_EQ(difference.collectives.size(), 1u);
  EXPECT_EQ(difference.collectives[0].before.axes, std::vector<std::string>{"y"});
  EXPECT_EQ(difference.collectives[0].after.count, 0);
  after.program.collectives[0].count = 18;
  difference = DiffPlans(before, after);
  ASSERT_EQ(difference.collectives.size(), 2u);
  EXPECT_THAT(DiffText(before, after, difference),
              HasSubstr("all-reduce over x,y -> x     17  ->  18"));
}

// A file that only moved is no other input.
TEST(DiffPlans, OfWhatTheSearchWasConstrainedToOnlyWhatDiffersIsTold) {
  Plan before = SampleModelPlan(), after = before;
  before.options.fixes = {"tp=8", "sp=off", "recompute=full", "place=order"};
  after.options.fixes = {"tp=8", "sp=off", "recompute=none", "place=order", "zero=1"};
  EXPECT_THAT(DiffText(before, after, DiffPlans(before, after)),
              HasSubstr("  --fix: recompute=full -> recompute=none zero=1\n"));
}

TEST(DiffPlans, InputsAreComparedByContents) {
  Plan before = SamplePlan(), after = before;
  after.inputs[0].path = "elsewhere.hlo";
  const PlanDifference difference = DiffPlans(before, after);
  EXPECT_FALSE(difference.identical);
  EXPECT_THAT(difference.asked, IsEmpty());
  EXPECT_THAT(DiffText(before, after, difference), HasSubstr("both decide the same"));
}

// Layers that change alike share a line, and its bytes are those of all of them.
TEST(DiffPlans, RepeatedStructureIsPutTogether) {
  const absl::StatusOr<PlannedProgram> before =
      PlanGpt("8", {{"state[*]['layer*']['w1']", "[_,_]", ""}});
  const absl::StatusOr<PlannedProgram> after =
      PlanGpt("8", {{"state[*]['layer*']['w1']", "[_,x]", ""}});
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(after.ok()) << after.status();
  const PlanDifference difference = DiffPlans(before->plan, after->plan);
  int64_t weights = 0;
  for (const ChangedArrays& one : difference.parameters) {
    if (one.name.find("w1") == std::string::npos) continue;
    EXPECT_THAT(one.name, HasSubstr("layer{0"));
    EXPECT_TRUE(one.exact);
    EXPECT_EQ(one.before, "[_,_]");
    EXPECT_EQ(one.after, "[_,x]");
    EXPECT_EQ(one.bytes_before, 8 * one.bytes_after);
    weights += one.count;
  }
  int64_t expected = 0;
  for (const PlanTensor& tensor : before->plan.program.parameters)
    expected += tensor.name.find("w1") == std::string::npos ? 0 : 1;
  EXPECT_EQ(weights, expected);
  EXPECT_GT(expected, 3);
}

// Sums of the same costs in another order are no difference.
TEST(DiffPlans, RoundingIsNoDifference) {
  Plan before = SamplePlan(), after = before;
  const auto nudge = [](double& value) { value *= 1 + 4e-16; };
  nudge(after.step_seconds);
  nudge(after.objective_seconds);
  nudge(after.compute_seconds);
  nudge(after.communication_seconds);
  for (PlanCollective& one : after.program.collectives) nudge(one.seconds);
  const PlanDifference difference = DiffPlans(before, after);
  EXPECT_EQ(difference.seconds.size(), 1u);  // the step, which always is there
  EXPECT_THAT(difference.collectives, IsEmpty());
  const std::string text = DiffText(before, after, difference);
  EXPECT_THAT(text, ::testing::Not(HasSubstr("e-1")));
  EXPECT_THAT(text, HasSubstr("same"));
  EXPECT_THAT(text, HasSubstr("both decide the same"));
  // A real change beside it still counts.
  after.program.collectives[0].seconds *= 1.001;
  EXPECT_EQ(DiffPlans(before, after).collectives.size(), 1u);
}

TEST(DiffPlans, StagesAndDegrees) {
  Plan before = SamplePipelinePlan(), after = before;
  after.pipeline->stages[1].end_layer = 7;
  EXPECT_EQ(DiffPlans(before, after).stages.size(), 1u);
  EXPECT_EQ(DiffPlans(before, after).stages[0].what, "stage 1");
  before = SampleModelPlan();
  after = before;
  after.model->configuration.tp = 4;
  after.model->configuration.inside.tp = 4;
  after.model->seconds.bubble += 1;
  const PlanDifference difference = DiffPlans(before, after);
  ASSERT_EQ(difference.degrees.size(), 2u);
  EXPECT_EQ(difference.degrees[0].what, "tp");
  EXPECT_EQ(difference.degrees[0].after, "4");
  ASSERT_EQ(difference.seconds.size(), 2u);
  EXPECT_EQ(difference.seconds[1].what, "bubble");
}

}  // namespace
}  // namespace meshwright
