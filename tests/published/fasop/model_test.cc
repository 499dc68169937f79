#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "meshwright/published/fasop/fasop.h"
#include "meshwright/published/fasop/partition.h"
#include "meshwright/published/fasop/schedule.h"

namespace meshwright::transformer::fasop {
namespace {

using ::testing::ElementsAre;

// Of equal stages without sends: filling and draining, then a micro-batch after the other.
TEST(FasopScheduleTest, EqualStages) {
  for (int64_t stages = 2; stages <= 6; ++stages) {
    for (int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      const std::vector<double> ends =
          StageEnds(std::vector<StageTimes>(stages, {1, 2, 0, 0}), micro_batches);
      EXPECT_EQ(ends[0], static_cast<double>(3 * (stages - 1 + micro_batches)))
          << stages << " stages, " << micro_batches << " micro-batches";
      EXPECT_TRUE(std::is_sorted(ends.rbegin(), ends.rend()));
    }
  }
}

TEST(FasopScheduleTest, OneStageHasNoSends) {
  EXPECT_THAT(StageEnds({{1, 2, 7, 7}}, 5), ElementsAre(15));
}

TEST(FasopScheduleTest, SendsDelayTheNextStage) {
  // Forward 1, sent 4, forward 2; backward 4, sent 0.5, backward 2.
  EXPECT_THAT(StageEnds({{1, 2, 4, 0}, {2, 4, 0, 0.5}}, 1), ElementsAre(13.5, 11));
}

TEST(FasopPartitionTest, LeftOverLayersGoToTheLastStageFirst) {
  // The slowest stage cannot give a layer away: nothing moves.
  const LayerSeconds seconds = {std::vector<double>(7, 1.0), {9, 0, 0, 0, 0, 0, 0}};
  EXPECT_THAT(
      Balance(7, seconds, {0, 0, 0}, {Gpu::kA10, Gpu::kA100, Gpu::kA100, Gpu::kA100}).layers,
      ElementsAre(2, 2, 1, 2));
}

TEST(FasopPartitionTest, SlowStagesGiveLayersAway) {
  const LayerSeconds seconds = {std::vector<double>(12, 1.0), std::vector<double>(12, 2.0)};
  EXPECT_THAT(Balance(12, seconds, {0}, {Gpu::kA100, Gpu::kA10}).layers, ElementsAre(8, 4));
  // The link into the middle stage counts as its work.
  EXPECT_THAT(Balance(12, seconds, {3, 0}, {Gpu::kA100, Gpu::kA100, Gpu::kA100}).layers,
              ElementsAre(5, 2, 5));
}

TEST(FasopSearchTest, PlacementsAreRotations) {
  EXPECT_THAT(Placements(1, 2), ElementsAre("ABB", "BBA", "BAB"));
  EXPECT_THAT(Placements(2, 0), ElementsAre("AA"));
  EXPECT_THAT(Placements(0, 3), ElementsAre("BBB"));
}

TEST(FasopSearchTest, TheFastestComesFirstAndASweepHasEveryCluster) {
  const Model& model = **FindModel("bert");
  const std::vector<Row> rows = Sweep(model, PublishedProfile(model), Setup::kPareto, 2);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.estimate.seconds < b.estimate.seconds;
  }));
  for (int64_t a100 = 0; a100 <= 2; ++a100) {
    for (int64_t a10 = 0; a10 <= 2; ++a10) {
      if (a100 + a10 == 0) continue;
      const auto is = [&](const Row& row) {
        return std::count(row.placement.begin(), row.placement.end(), 'A') == a100 &&
               std::count(row.placement.begin(), row.placement.end(), 'B') == a10;
      };
      const size_t found = std::count_if(rows.begin(), rows.end(), is);
      EXPECT_EQ(found, Search(model, PublishedProfile(model), Setup::kPareto, a100, a10).size());
      EXPECT_GT(found, 0u);
    }
  }
}

// Every split of an encoder and a decoder, simulated: none ends before the one that is taken.
TEST(FasopSearchTest, TheBestSplitOfAnEncoderAndADecoder) {
  const Model& model = **FindModel("T5");
  for (const Degrees& degrees : AllDegrees(model, Setup::kDefault, 2)) {
    if (degrees.pp == 1) continue;
    const Estimate found = Evaluate(model, PublishedProfile(model), Setup::kDefault, "AB", degrees);
    int sum = 0;
    bool cut = false;  // between encoder and decoder
    for (const int layers : found.partition) {
      sum += layers;
      cut |= sum == 25;
    }
    EXPECT_TRUE(cut);
    EXPECT_EQ(sum, 50);
  }
}

}  // namespace
}  // namespace meshwright::transformer::fasop
