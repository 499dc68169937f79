#include "meshwright/degrees/layer_partition.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "meshwright/model/model_reader.h"
#include "tests/degrees/space_samples.h"

namespace meshwright::transformer {
namespace {

// Layers of all kinds, by group.
std::vector<int64_t> LayersOfGroups(const LayerPartition& partition) {
  std::vector<int64_t> all;
  for (const int32_t content : partition.content_of) {
    const std::vector<int64_t>& layers = partition.contents[content].layers;
    all.push_back(std::accumulate(layers.begin(), layers.end(), int64_t{0}));
  }
  return all;
}

TEST(LayerPartition, CountsEqualGroups) {
  const LayerPartition partition = PartitionLayers(MixedModel(4, 4, 12, 4), 4, false);
  ASSERT_EQ(partition.contents.size(),
            4);  // first, last, and between those that begin dense or not
  EXPECT_EQ(LayersOfGroups(partition), (std::vector<int64_t>{3, 3, 3, 3}));
  EXPECT_EQ(partition.contents[1].layers, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(partition.contents[2].layers, (std::vector<int64_t>{2, 1}));
  EXPECT_TRUE(partition.contents[0].embedding);
  EXPECT_TRUE(partition.contents[3].head);
  const LayerPartition even = PartitionLayers(DenseModel(4, 4, 24), 12, false);
  ASSERT_EQ(even.contents.size(), 3);
  EXPECT_EQ(even.contents[1].first, 1);
  EXPECT_EQ(even.contents[1].groups, 10);
}

TEST(LayerPartition, CountsTheEndsIfAsked) {
  const Model model = DenseModel(4, 4, 10);
  EXPECT_EQ(LayersOfGroups(PartitionLayers(model, 4, true)), (std::vector<int64_t>{2, 3, 3, 2}));
  EXPECT_EQ(LayersOfGroups(PartitionLayers(model, 1, true)), (std::vector<int64_t>{10}));
}

// Megatron-Bridge: "Et*8|(t*8|)*6t*5mL" on 8 groups, "Et*4|(t*4|)*14tmL" on 16.
TEST(LayerPartition, LaysModulesOfMultiTokenPredictionBesideTheHead) {
  const Model model = *LoadModel("deepseek-v3");
  ASSERT_EQ(model.mtp.modules, 1);
  EXPECT_EQ(LayersOfGroups(PartitionLayers(model, 8, false)),
            (std::vector<int64_t>{8, 8, 8, 8, 8, 8, 8, 5 + 1}));
  std::vector<int64_t> sixteen(16, 4);
  sixteen.back() = 1 + 1;
  EXPECT_EQ(LayersOfGroups(PartitionLayers(model, 16, false)), sixteen);
  for (int64_t groups = 1; groups <= model.layers(); ++groups) {
    for (const int64_t layers : LayersOfGroups(PartitionLayers(model, groups, false))) {
      EXPECT_GE(layers, 1) << groups;
    }
  }
}

}  // namespace
}  // namespace meshwright::transformer
