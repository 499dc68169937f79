// Other degrees of a model's training, and what they would cost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/explain/why_not.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/build_groups_plan.h"
#include "meshwright/plan/make/plan_groups.h"
#include "meshwright/plan/make/plan_model.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

ModelRequest GptRequest(const std::vector<std::string>& fixes) {
  ModelRequest request;
  request.model = *transformer::LoadModel("gpt2-xl");
  request.description = transformer::FindBuiltinModel("gpt2-xl")->config;
  request.workload.sequence = 1024;
  request.workload.global_batch = 64;
  request.cluster = *ParseCluster("2x8xh100-sxm");
  request.budget_bytes = request.cluster.device.memory_bytes;
  request.fixes = *transformer::ParseFixes(fixes);
  return request;
}

WhyNot AskDegrees(const Plan& plan, const std::string& degrees) {
  absl::StatusOr<WhyNot> answer = AskWhyNot(plan, {{degrees}, "", nullptr});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? *std::move(answer) : WhyNot();
}

// The answer is what planning with these degrees says, for every kind of degree.
TEST(WhyNotModels, IsTheBestPlanWithTheseDegrees) {
  // From a document, as users have it.
  const Plan plan = *ParsePlanJson(PlanToJson(*PlanModel(GptRequest({}))), "p.json");
  int worse = 0;
  for (const std::string degrees :
       {"tp=4,pp=2", "tp=1", "pp=4", "mbs=2", "zero=1", "recompute=full", "zero=0", "dp=16"}) {
    SCOPED_TRACE(degrees);
    const absl::StatusOr<Plan> wanted = PlanModel(GptRequest({degrees}));
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    const WhyNot answer = AskDegrees(plan, degrees);
    if (answer.verdict == WhyNot::Verdict::kChosen) {
      EXPECT_EQ(plan.model->configuration, wanted->model->configuration);
      continue;
    }
    ASSERT_TRUE(answer.plan.has_value()) << answer.reason;
    EXPECT_EQ(answer.plan->model->configuration, wanted->model->configuration);
    EXPECT_DOUBLE_EQ(answer.plan->step_seconds, wanted->step_seconds);
    worse += answer.verdict == WhyNot::Verdict::kWorse ? 1 : 0;
    EXPECT_NE(answer.verdict, WhyNot::Verdict::kBetter);
    // The parts add up to the step.
    double parts = 0, step = 0;
    for (const ChangedSeconds& one : answer.difference.seconds) {
      if (one.what == "step") step = one.after - one.before;
      parts += one.what == "step" ? 0 : one.after - one.before;
    }
    EXPECT_NEAR(parts, step, 1e-6 * plan.step_seconds);
  }
  EXPECT_GE(worse, 5);
}

TEST(WhyNotModels, SaysWhyItIsNot) {
  const Plan plan = *PlanModel(GptRequest({}));
  const std::string chosen = "tp=" + std::to_string(plan.model->configuration.tp);
  EXPECT_EQ(AskDegrees(plan, chosen).verdict, WhyNot::Verdict::kChosen);
  const WhyNot odd = AskDegrees(plan, "tp=7");
  EXPECT_EQ(odd.verdict, WhyNot::Verdict::kUnavailable);
  EXPECT_FALSE(odd.reason.empty());
  const WhyNotRequest request = {{"tp=8,dp=1"}, "", nullptr};
  const absl::StatusOr<WhyNot> answer = AskWhyNot(plan, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const std::string text = WhyNotText(plan, request, *answer);
  EXPECT_THAT(text, HasSubstr("it is slower by"));
  EXPECT_THAT(text, HasSubstr("tensor communication"));
  EXPECT_THAT(text, HasSubstr("  tp: "));
  EXPECT_EQ(nlohmann::json::parse(WhyNotJson(plan, request, *answer))["verdict"], "worse");
  const auto message = [&](const std::string& degrees) {
    return std::string(AskWhyNot(plan, {{degrees}, "", nullptr}).status().message());
  };
  EXPECT_THAT(message("w=[x,_]"), HasSubstr("has degrees like tp=4,pp=2"));
  EXPECT_THAT(message("tp=x"), HasSubstr("--why-not: "));
  EXPECT_THAT(std::string(AskWhyNot(plan, {{"tp=2"}, "x.hlo", nullptr}).status().message()),
              HasSubstr("--program"));
}

// Options have defaults that plans record; what is asked now are no options.
TEST(WhyNotModels, NamesNoOptionThatWasNotGiven) {
  const Plan plan = *PlanModel(GptRequest({"tensor=1d"}));
  const WhyNotRequest request = {{"pp=4,mbs=2"}, "", nullptr};
  const absl::StatusOr<WhyNot> answer = AskWhyNot(plan, request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(answer->plan.has_value()) << answer->reason;
  ASSERT_EQ(answer->difference.asked.size(), 1u);
  EXPECT_EQ(answer->difference.asked[0].what, "constrained to");
  EXPECT_EQ(answer->difference.asked[0].before, "");
  EXPECT_EQ(answer->difference.asked[0].after, "pp=4 mbs=2");
  const WhyNot odd = AskDegrees(plan, "tp=7");
  EXPECT_EQ(odd.reason.rfind("tp=7 is not possible", 0), 0u) << odd.reason;
}

// What the plan was asked to keep to gives way to what is asked now.
TEST(WhyNotModels, AsksInPlaceOfThePlansOwnFixes) {
  const Plan plan = *PlanModel(GptRequest({"tp=8", "pp=2"}));
  const WhyNot answer = AskDegrees(plan, "tp=1");
  ASSERT_TRUE(answer.plan.has_value()) << answer.reason;
  EXPECT_EQ(answer.plan->model->configuration.tp, 1);
  EXPECT_EQ(answer.plan->model->configuration.pp, 2);
  EXPECT_EQ(answer.verdict, WhyNot::Verdict::kBetter);
}

TEST(WhyNotModels, OfLittleMemoryDoesNotFit) {
  ModelRequest request = GptRequest({});
  request.model = *transformer::LoadModel("llama2-13b");
  request.description = transformer::FindBuiltinModel("llama2-13b")->config;
  const Plan plan = *PlanModel(request);
  const WhyNot answer = AskDegrees(plan, "dp=16,zero=0,recompute=none");
  EXPECT_EQ(answer.verdict, WhyNot::Verdict::kDoesNotFit);
  EXPECT_THAT(answer.reason, HasSubstr("does not fit into"));
}

TEST(WhyNotModels, OverGroupsOfNodes) {
  GroupsRequest request;
  request.problem.model = *transformer::LoadModel("gpt2-medium");
  request.description = transformer::FindBuiltinModel("gpt2-medium")->config;
  request.problem.workload = {.sequence = 1024, .global_batch = 64};
  request.problem.cluster = *ParseMixedCluster("1x8xh100-sxm+1x8xa100-80g");
  const Plan plan = BuildGroupsPlan(request, *PlanGroups(request));
  for (const std::string degrees : {"tp=8", "tp=2"}) {
    GroupsRequest forced = request;
    forced.problem.fixes = *transformer::ParseFixes({degrees});
    const absl::StatusOr<GroupsAnswer> wanted = PlanGroups(forced);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    const WhyNot answer = AskDegrees(plan, degrees);
    if (answer.verdict == WhyNot::Verdict::kChosen) continue;
    ASSERT_TRUE(answer.plan.has_value()) << answer.reason;
    EXPECT_DOUBLE_EQ(answer.plan->step_seconds, BuildGroupsPlan(forced, *wanted).step_seconds);
  }
}

}  // namespace
}  // namespace meshwright
