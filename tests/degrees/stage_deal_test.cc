#include "meshwright/degrees/stage_deal.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "meshwright/model/model_reader.h"
#include "tests/degrees/space_samples.h"

namespace meshwright::transformer {
namespace {

// Layers of all kinds, by group.
std::vector<int64_t> LayersOfGroups(const StageDeal& deal) {
  std::vector<int64_t> all;
  for (const int32_t content : deal.content_of) {
    const std::vector<int64_t>& layers = deal.contents[content].layers;
    all.push_back(std::accumulate(layers.begin(), layers.end(), int64_t{0}));
  }
  return all;
}

TEST(StageDeal, CountsEqualGroups) {
  const StageDeal deal = DealLayers(MixedModel(4, 4, 12, 4), 4, false);
  ASSERT_EQ(deal.contents.size(), 4);  // first, last, and between those that begin dense or not
  EXPECT_EQ(LayersOfGroups(deal), (std::vector<int64_t>{3, 3, 3, 3}));
  EXPECT_EQ(deal.contents[1].layers, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(deal.contents[2].layers, (std::vector<int64_t>{2, 1}));
  EXPECT_TRUE(deal.contents[0].embedding);
  EXPECT_TRUE(deal.contents[3].head);
  const StageDeal even = DealLayers(DenseModel(4, 4, 24), 12, false);
  ASSERT_EQ(even.contents.size(), 3);
  EXPECT_EQ(even.contents[1].first, 1);
  EXPECT_EQ(even.contents[1].groups, 10);
}

TEST(StageDeal, CountsTheEndsIfAsked) {
  const Model model = DenseModel(4, 4, 10);
  EXPECT_EQ(LayersOfGroups(DealLayers(model, 4, true)), (std::vector<int64_t>{2, 3, 3, 2}));
  EXPECT_EQ(LayersOfGroups(DealLayers(model, 1, true)), (std::vector<int64_t>{10}));
}

// Megatron-Bridge: "Et*8|(t*8|)*6t*5mL" on 8 groups, "Et*4|(t*4|)*14tmL" on 16.
TEST(StageDeal, LaysModulesOfMultiTokenPredictionBesideTheHead) {
  const Model model = *LoadModel("deepseek-v3");
  ASSERT_EQ(model.mtp.modules, 1);
  EXPECT_EQ(LayersOfGroups(DealLayers(model, 8, false)),
            (std::vector<int64_t>{8, 8, 8, 8, 8, 8, 8, 5 + 1}));
  std::vector<int64_t> sixteen(16, 4);
  sixteen.back() = 1 + 1;
  EXPECT_EQ(LayersOfGroups(DealLayers(model, 16, false)), sixteen);
  for (int64_t groups = 1; groups <= model.layers(); ++groups) {
    for (const int64_t layers : LayersOfGroups(DealLayers(model, groups, false))) {
      EXPECT_GE(layers, 1) << groups;
    }
  }
}

}  // namespace
}  // namespace meshwright::transformer
