// Plans over groups of nodes as documents: what is written reads back, and says what was found.

#include "meshwright/plan/make/build_groups_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "meshwright/base/quantity_text.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/document/simulate_plan.h"
#include "meshwright/plan/text/transformer_table.h"
#include "tests/hetero/samples.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

// A pipeline of both groups, which have degrees of their own.
GroupsRequest TwoGroupRequest() {
  GroupsRequest request;
  request.problem.model = transformer::DenseModel(8, 8, 8);
  request.problem.workload = {.sequence = 1024, .global_batch = 32};
  request.problem.cluster = *ParseMixedClusterYaml(
      "groups:\n"
      "  - {name: fast, device: a100-40g, nodes: 1, devices_per_node: 4, price_per_hour: 4}\n"
      "  - {name: slow, device: a10g, nodes: 3, devices_per_node: 4, price_per_hour: 1}\n"
      "between_groups: {bandwidth: 5GB/s, latency: 20us}\n",
      "two.yaml");
  request.description = "model: {}\n";
  return request;
}

TEST(GroupsPlanDocumentTest, ReadsBackAndSimulatesAsPlanned) {
  int made = 0, differing = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    GroupsRequest request;
    request.problem = transformer::hetero::RandomProblem(random, 6, 8);
    if (seed % 3 == 0) request.options.objective = transformer::hetero::Objective::kPareto;
    const absl::StatusOr<GroupsAnswer> answer = PlanGroups(request);
    if (!answer.ok()) continue;
    ++made;
    const Plan plan = BuildGroupsPlan(request, *answer);
    const transformer::hetero::Choice& best = answer->result.front.front();
    differing += best.plan.family.Common().has_value() ? 0 : 1;
    const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "plan.json");
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << PlanToJson(plan);
    ASSERT_EQ(*read, plan);
    const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(*read, "", 0);
    ASSERT_TRUE(simulated.ok()) << simulated.status();
    EXPECT_NEAR(simulated->simulation.seconds / best.seconds, 1, 1e-9);
    EXPECT_NEAR(plan.bound_seconds / plan.step_seconds, 1 - plan.gap, 1e-12);
    const PlanStepParts& parts = plan.model->seconds;
    EXPECT_LE(parts.compute + parts.tensor_communication + parts.data_communication +
                  parts.optimizer + parts.bubble,
              best.seconds * (1 + 1e-9));
    int64_t peak = 0;
    for (const PlanStage& stage : plan.pipeline->stages) {
      peak = std::max(peak, stage.bytes.peak);
      EXPECT_EQ(stage.bytes.fixed + stage.max_in_flight * stage.bytes.in_flight, stage.bytes.peak);
    }
    EXPECT_EQ(peak, plan.peak_bytes);
    EXPECT_GT(plan.model->mfu, 0);
    EXPECT_LT(plan.model->mfu, 1);
  }
  EXPECT_GT(made, 40);
  EXPECT_GT(differing, 0);
}

TEST(GroupsPlanDocumentTest, StagesOfAGroupLieInOrder) {
  GroupsRequest request = TwoGroupRequest();
  request.problem.fixes = *transformer::ParseFixes({"tp=1,dp=2,pp=8"});
  const absl::StatusOr<GroupsAnswer> answer = PlanGroups(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Plan plan = BuildGroupsPlan(request, *answer);
  std::vector<int64_t> last(2, -1);
  for (size_t i = 0; i < plan.pipeline->stages.size(); ++i) {
    const int64_t group = plan.groups->stage_groups[i];
    EXPECT_GT(plan.pipeline->stages[i].devices.front(), last[group]);
    last[group] = plan.pipeline->stages[i].devices.back();
  }
  EXPECT_THAT(TransformerTable(plan), HasSubstr(" of 3 nodes, tp=1 dp=2 mbs="));
}

// Nodes of one kind may do better than pipelines over groups; then these are not called the best.
TEST(GroupsPlanDocumentTest, SaysWhatNodesOfOneKindCanDo) {
  GroupsRequest request;
  request.problem.model = *transformer::LoadModel("llama3-8b");
  request.problem.workload = {.sequence = 1024, .global_batch = 32};
  request.problem.cluster = *ParseMixedCluster("4x8xv100");
  request.problem.fixes = *transformer::ParseFixes({"tp=4,dp=2,pp=4,mbs=1"});
  const absl::StatusOr<GroupsAnswer> answer = PlanGroups(request);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(answer->faster.has_value());
  EXPECT_LT(answer->faster->seconds, answer->result.front[0].seconds);
  EXPECT_FALSE(answer->result.proven);
  const Plan plan = BuildGroupsPlan(request, *answer);
  EXPECT_NEAR(plan.bound_seconds, answer->faster->seconds, 1e-12);
  EXPECT_THAT(plan.warnings, testing::Contains(HasSubstr("on these nodes, all of one kind, ")));
  // Stages that are fixed are a pipeline's.
  request.problem.fixes = *transformer::ParseFixes({"tp=4,dp=2,mbs=1,layers=8-8-8-8"});
  ASSERT_EQ(ResolveStages(&request.problem), absl::OkStatus());
  const absl::StatusOr<GroupsAnswer> fixed = PlanGroups(request);
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_FALSE(fixed->faster.has_value());
  EXPECT_TRUE(fixed->result.proven);
}

TEST(GroupsPlanDocumentTest, SaysWhichStateItIsOf) {
  GroupsRequest request = TwoGroupRequest();
  request.problem.fixes = *transformer::ParseFixes({"tp=1,dp=4,pp=3,mbs=1,zero=0"});
  const absl::StatusOr<GroupsAnswer> usual = PlanGroups(request);
  request.problem.framework.state = {.gradient_bytes = 2, .moment_bytes = 2, .logit_bytes = 4};
  const absl::StatusOr<GroupsAnswer> narrow = PlanGroups(request);
  ASSERT_TRUE(usual.ok() && narrow.ok()) << usual.status() << narrow.status();
  const Plan plan = BuildGroupsPlan(request, *narrow);
  EXPECT_EQ(plan.model->state, (PlanState{2, 2, 4}));
  EXPECT_LT(plan.step_seconds, usual->result.front[0].seconds);
  EXPECT_LT(plan.peak_bytes, BuildGroupsPlan(TwoGroupRequest(), *usual).peak_bytes);
}

TEST(GroupsPlanDocumentTest, SaysWhatIsExtrapolated) {
  GroupsRequest request;
  request.problem.model = transformer::DenseModel(8, 8, 2);
  request.problem.workload = {.sequence = 512, .global_batch = 8};
  request.problem.cluster = *ParseMixedCluster("2x1xa100-40g");
  request.problem.profile = *transformer::hetero::LayerProfile::Parse(
      "gpu,tp,layer_id,forward_seconds\na100,1,0,1\na100,1,1,10\na100,1,2,20\na100,1,3,5\n", "p",
      {"m"});
  const auto warnings = [&](const char* fixes) {
    request.problem.fixes = *transformer::ParseFixes({fixes});
    const absl::StatusOr<GroupsAnswer> answer = PlanGroups(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return BuildGroupsPlan(request, *answer).warnings;
  };
  const auto extrapolated = testing::Contains(
      HasSubstr("layers on a100-40g were measured with micro-batches of at most 1; with 4 they are "
                "taken to be 4 times as long, where the calibrated model has "));
  EXPECT_THAT(warnings("mbs=4"), extrapolated);
  EXPECT_THAT(warnings("mbs=1"), testing::Not(testing::Contains(HasSubstr("were measured with"))));
}

// The error that is stated of a step follows from what is known of the devices that it takes.
TEST(GroupsPlanDocumentTest, SaysHowFarOffTheStepMayBe) {
  GroupsRequest request;
  request.problem.model = transformer::DenseModel(8, 8, 2);
  request.problem.workload = {.sequence = 512, .global_batch = 8};
  request.problem.cluster = *ParseMixedClusterYaml(
      "groups:\n"
      "  - {name: known, device: v100, nodes: 2, devices_per_node: 1}\n"
      "  - {name: new, device: {name: new, memory: 16GiB, memory_bandwidth: 900GB/s,\n"
      "     peak_flops: {f32: 15TFLOPS, f16: 125TFLOPS}}, nodes: 2, devices_per_node: 1,\n"
      "     intra_node: {bandwidth: 5GB/s}, inter_node: {bandwidth: 5GB/s}}\n"
      "between_groups: {bandwidth: 5GB/s, latency: 20us}\n",
      "two.yaml");
  const auto plan_on = [&](const std::string& order, const std::string& more) {
    request.problem.fixes = *transformer::ParseFixes({"tp=1,dp=1,order=" + order + more});
    request.problem.stage_groups.clear();
    EXPECT_EQ(ResolveStages(&request.problem), absl::OkStatus());
    const absl::StatusOr<GroupsAnswer> answer = PlanGroups(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    const Plan plan = BuildGroupsPlan(request, *answer);
    EXPECT_THAT(GroupsTable(request, *answer), HasSubstr(PlusMinusText(*plan.time_error) + ", "));
    return plan;
  };
  const auto said = [](const char* text) { return testing::Contains(HasSubstr(text)); };
  EXPECT_EQ(plan_on("known+known", "").time_error, 0.2);
  const Plan unknown = plan_on("known+new", "");
  EXPECT_EQ(unknown.time_error, 0.4);
  EXPECT_THAT(unknown.warnings, said("no training run on new was measured"));
  // Its layers, measured, make it known.
  request.problem.profile = *transformer::hetero::LayerProfile::Parse(
      "gpu,tp,layer_id,forward_seconds\nnew,1,0,1\nnew,1,1,10\nnew,1,2,10\nnew,1,3,5\n", "p",
      {"m"});
  const Plan measured = plan_on("known+new", ",mbs=1");
  EXPECT_EQ(measured.time_error, 0.2);
  EXPECT_THAT(measured.warnings, testing::Not(said("no training run on new was measured")));
  EXPECT_THAT(measured.warnings, said("--profile has nothing of known (it has new (tp 1))"));
  // Eight short sequences take far less than eight times as long as one.
  const Plan extrapolated = plan_on("known+new", ",mbs=8");
  EXPECT_GT(extrapolated.time_error, 0.3);
  EXPECT_LT(extrapolated.time_error, 1);
}

TEST(GroupsPlanDocumentTest, Errors) {
  const absl::StatusOr<GroupsAnswer> answer = PlanGroups(TwoGroupRequest());
  ASSERT_TRUE(answer.ok()) << answer.status();
  const std::string text = PlanToJson(BuildGroupsPlan(TwoGroupRequest(), *answer));
  const auto error = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(text);
    json["transformer"]["over_groups"][nlohmann::json::json_pointer(pointer)] = value;
    return std::string(ParsePlanJson(json.dump(), "p.json").status().message());
  };
  EXPECT_EQ(error("/proven", true), "");
  EXPECT_THAT(error("/stage_groups", nlohmann::json::array()), HasSubstr("stage_groups: found 0"));
  EXPECT_THAT(error("/stage_groups/0", 7), HasSubstr("stage_groups[0]: found 7"));
  EXPECT_THAT(error("/groups/0/used_nodes", 9), HasSubstr("not the parts of the cluster"));
  EXPECT_THAT(error("/groups/0/device", "v100"), HasSubstr("not the parts of the cluster"));
  EXPECT_THAT(error("/choices", 1), HasSubstr("$.transformer.over_groups.choices: found a number"));
  EXPECT_THAT(error("/steps", "x"), HasSubstr("$.transformer.over_groups.steps: found a string"));
  const std::string group = "$.transformer.over_groups.groups[0]";
  EXPECT_THAT(error("/groups/0/nodes", 0), HasSubstr(group + ".used_nodes: found 1 of 0 nodes"));
  EXPECT_THAT(error("/groups/0/micro_batch", 3), HasSubstr(group + ": "));
  EXPECT_THAT(error("/groups/0/tp", 0), HasSubstr(group + ": found dp "));
  const auto of_first = [&](const std::string& key, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(text);
    json["transformer"]["configuration"][key] = value;
    return std::string(ParsePlanJson(json.dump(), "p.json").status().message());
  };
  EXPECT_THAT(of_first("dp", 7), HasSubstr("$.transformer.configuration: found dp 7"));
  EXPECT_THAT(of_first("micro_batch", 7), HasSubstr("are not the global batch of 32"));
  for (const char* const key : {"cp", "ep", "etp", "virtual_stages"}) {
    EXPECT_THAT(of_first(key, 2), HasSubstr(std::string("configuration.") + key +
                                            ": found 2, expected 1 over groups of nodes"));
  }
  EXPECT_THAT(of_first("schedule", "zero-bubble"), HasSubstr("expected 1f1b over groups"));
}

}  // namespace
}  // namespace meshwright
