#include "meshwright/hetero/schedule.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace meshwright::transformer::hetero {
namespace {

std::vector<PipelineStage> RandomStages(std::mt19937_64& random) {
  std::uniform_real_distribution<double> seconds(0.1, 2);
  std::vector<PipelineStage> stages(1 + random() % 7);
  const double sends = random() % 3 == 0 ? 3 : 0.3;  // some slower than computation
  for (PipelineStage& stage : stages) {
    stage = {seconds(random), seconds(random), sends * seconds(random), seconds(random)};
  }
  return stages;
}

TEST(HeteroSchedule, BoundsHold) {
  double closest = 0, closest_end = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<PipelineStage> stages = RandomStages(random);
    const int64_t micro_batches = 1 + static_cast<int64_t>(random() % 12);
    PipelineBound bound(micro_batches);
    // What is known of sends to stages that are still to be added.
    const double known = std::uniform_real_distribution<double>()(random);
    for (size_t i = stages.size(); i-- > 0;) {
      bound.AddInFront(stages[i], i > 0 ? known * stages[i - 1].send : 0);
    }
    const double end = PipelineSeconds(stages, micro_batches);
    ASSERT_LE(bound.end_seconds(), end * (1 + 1e-12));
    for (PipelineStage& stage : stages) stage.update = 0;
    const double seconds = PipelineSeconds(stages, micro_batches);
    ASSERT_LE(bound.seconds(), seconds * (1 + 1e-12));
    closest = std::max(closest, bound.seconds() / seconds);
    closest_end = std::max(closest_end, bound.end_seconds() / end);
  }
  EXPECT_GT(closest, 0.999999);
  EXPECT_GT(closest_end, 0.999999);
}

// Of equal stages without sends the bound is the time.
TEST(HeteroSchedule, EqualStages) {
  for (int64_t count = 1; count <= 5; ++count) {
    for (int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      PipelineBound bound(micro_batches);
      for (int64_t i = 0; i < count; ++i) bound.AddInFront({1, 2, 0, 0}, 0);
      const double seconds =
          PipelineSeconds(std::vector<PipelineStage>(count, {1, 2, 0, 0}), micro_batches);
      EXPECT_EQ(seconds, static_cast<double>(3 * (count - 1 + micro_batches)));
      EXPECT_LE(bound.seconds(), seconds);
      if (micro_batches > count) {
        EXPECT_EQ(bound.seconds(), seconds);
      }
    }
  }
}

// Of equal stages with sends it leaves out what receiving takes while the pipeline fills and
// drains.
TEST(HeteroSchedule, EqualStagesWithSends) {
  for (int64_t count = 2; count <= 5; ++count) {
    constexpr int64_t kMicroBatches = 40;
    const std::vector<PipelineStage> stages(count, {1, 2, 0.5, 0});
    PipelineBound bound(kMicroBatches);
    for (int64_t i = count; i-- > 0;) bound.AddInFront(stages[i], i > 0 ? 0.5 : 0);
    const double seconds = PipelineSeconds(stages, kMicroBatches);
    EXPECT_LE(bound.seconds(), seconds);
    EXPECT_GT(bound.seconds(), seconds - 0.5 * static_cast<double>(count));
  }
}

}  // namespace
}  // namespace meshwright::transformer::hetero
