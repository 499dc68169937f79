#include "meshwright/explain/layer_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "meshwright/explain/explain.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Labels of weights with these names in these layers of the plan.
LayerLabels LabelsOf(const std::vector<std::pair<std::string, int64_t>>& weights) {
  Plan plan;
  std::vector<ParameterParallelism> judged;
  for (const auto& [name, layer] : weights) {
    plan.program.parameters.emplace_back().name = name;
    plan.program.parameters.back().category = MemoryCategory::kParameters;
    judged.emplace_back().layer = layer;
  }
  const std::vector<PlanPart> parts = PartsOf(plan);
  return LayerLabels(std::vector<JudgedPart>{{parts[0], judged}});
}

TEST(LayerLabels, AreTheNumbersOfNames) {
  const LayerLabels labels = LabelsOf({{"p['embed']", 0},
                                       {"p['layer0']['w1']", 1},
                                       {"p['layer0']['w2']", 1},
                                       {"p['layer1']['w1']", 2},
                                       {"p['layer1']['w2']", 2},
                                       {"p['layer2']['w1']", 3},
                                       {"p['head']", 4}});
  EXPECT_EQ(labels.Text({0}), "before layer 0");
  EXPECT_EQ(labels.Text({1, 2, 3}), "layers 0-2");
  EXPECT_EQ(labels.Text({0, 1}), "before layer 0, layer 0");
  EXPECT_EQ(labels.Text({3, 4}), "layer 2, after layer 2");
  EXPECT_EQ(labels.Text(0, 4), "before layer 0, layers 0-2, after layer 2");
  EXPECT_EQ(labels.Text(2, 3), "layers 1-2");
  EXPECT_EQ(labels.Text(0, int64_t{1} << 62), labels.Text(0, 4));  // as a file may have it
  EXPECT_EQ(labels.Text(9, int64_t{1} << 62), "after layer 2");
  EXPECT_THAT(labels.Words({0, 1, 2, 3, 4}), ElementsAre("before", "0", "1", "2", "after"));
}

// A mixture of experts in every other layer repeats two at a time.
TEST(LayerLabels, SeveralOfTheUsersToOneOfThePlan) {
  const LayerLabels labels =
      LabelsOf({{"h.0.w", 0}, {"h.1.w", 0}, {"h.2.w", 1}, {"h.3.w", 1}, {"h.4.w", 2}});
  EXPECT_EQ(labels.Text({0, 1}), "layers 0-3");
  EXPECT_EQ(labels.Text({2}), "layer 4");
  EXPECT_THAT(labels.Words({1, 2}), ElementsAre("2", "3", "4"));
}

TEST(LayerLabels, NumbersThatDoNotCountThePlansLayersAreNotTaken) {
  const std::vector<std::vector<std::pair<std::string, int64_t>>> all = {
      {{"a", 0}, {"b", 1}},                                      // none
      {{"h.0.w", 1}, {"h.1.w", 0}},                              // backwards
      {{"h.0.w", 0}, {"h.1.w", 1}, {"h.1.w", 2}, {"h.2.w", 3}},  // one in two layers
      {{"h.0.w", 0}, {"h.1.w", 2}},                              // not every layer
      {{"h.0.w", 0}, {"h.1.w", 1}, {"a", 2}, {"b", 3}},          // two beside them
  };
  for (const auto& weights : all) EXPECT_EQ(LabelsOf(weights).Text({0, 1}), "layers 0-1");
}

TEST(LayerLabels, AreWhatExplanationsSay) {
  ProgramRequest request;
  request.program = HloData("tiny_gpt.train.hlo.txt.gz");
  request.cluster = "2xh100-sxm";
  request.cost_model = "roofline";
  request.completion = Completion::kPropagate;
  request.fixes = {{"state[*]['layer*']['w1']", "[_,x]", ""}};
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::string text = ExplainPlan(planned->plan);
  EXPECT_THAT(text, HasSubstr("\n  before layer 0: "));
  EXPECT_THAT(text, HasSubstr("\n  layers 0-1: "));
  EXPECT_THAT(text, HasSubstr("\n  after layer 1: "));
}

}  // namespace
}  // namespace meshwright
