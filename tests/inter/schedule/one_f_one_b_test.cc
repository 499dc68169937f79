#include "meshwright/inter/schedule/one_f_one_b.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "meshwright/inter/schedule/simulate.h"

namespace meshwright {
namespace {

double Simulated(const std::vector<StageSeconds>& stages, int64_t micro_batches, Sends sends) {
  std::vector<StageTimes> times;
  for (size_t i = 0; i < stages.size(); ++i) {
    StageTimes& one = times.emplace_back();
    one.forward = stages[i].forward;
    one.backward = stages[i].backward;
    one.update = stages[i].update;
    one.send_forward = stages[i].send;
    one.send_backward = i > 0 ? stages[i - 1].send : 0;
  }
  ScheduleShape shape;
  shape.groups = static_cast<int32_t>(stages.size());
  shape.micro_batches = static_cast<int32_t>(micro_batches);
  const auto simulation = Simulate(**FindSchedule("1f1b"), shape, times, sends);
  EXPECT_TRUE(simulation.ok()) << simulation.status();
  return simulation.ok() ? simulation->seconds : -1;
}

// Stages that differ, that are alike but for the ends, and that differ by next to nothing; sends
// from none to longer than passes.
std::vector<StageSeconds> RandomPipeline(std::mt19937_64& random) {
  std::uniform_real_distribution<double> seconds(0.1, 2);
  std::vector<StageSeconds> stages(1 + random() % 9);
  const double sends[] = {0, 0.1, 3};
  const double factor = sends[random() % 3];
  const uint64_t kind = random() % 3;
  const StageSeconds like{seconds(random), seconds(random), factor * seconds(random), 1};
  for (StageSeconds& stage : stages) {
    stage = {seconds(random), seconds(random), factor * seconds(random), seconds(random)};
    if (kind > 0 && &stage != &stages.front() && &stage != &stages.back()) stage = like;
    if (kind == 2) stage = {like.forward * (1 + 1e-5 * stage.forward), like.backward, like.send, 1};
  }
  return stages;
}

TEST(OneForwardOneBackward, IsWhatEveryEventGives) {
  for (const Sends sends : {Sends::kExchanged, Sends::kInTurn}) {
    for (uint64_t seed = 0; seed < 600; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      std::mt19937_64 random(seed);
      const std::vector<StageSeconds> stages = RandomPipeline(random);
      const int64_t micro_batches = 1 + static_cast<int64_t>(random() % (seed % 2 ? 12 : 90));
      const double wanted = Simulated(stages, micro_batches, sends);
      EXPECT_NEAR(OneForwardOneBackwardSeconds(stages, micro_batches, sends), wanted,
                  1e-10 * wanted);
    }
  }
}

// Two stages, the second three times slower: an exchange after each of its backward passes but the
// last, one send before its first forward pass and one after its last backward pass.
TEST(OneForwardOneBackward, WaitsForExchanges) {
  const std::vector<StageSeconds> stages = {{1, 2, 0.5, 0}, {3, 6, 0, 0}};
  EXPECT_DOUBLE_EQ(OneForwardOneBackwardSeconds(stages, 64, Sends::kExchanged),
                   64 * 9 + 63 * 0.5 + 3 + 2 * 0.5);
  EXPECT_DOUBLE_EQ(OneForwardOneBackwardSeconds(stages, 64, Sends::kInTurn),
                   64 * 9 + 63 * 2 * 0.5 + 3 + 2 * 0.5);
}

// Waiting makes no pipeline faster.
TEST(OneForwardOneBackward, OverlappedSendsAreNoSlower) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::vector<StageSeconds> stages = RandomPipeline(random);
    const int64_t micro_batches = 1 + static_cast<int64_t>(random() % 20);
    const double overlapped = Simulated(stages, micro_batches, Sends::kOverlapped);
    const double exchanged = Simulated(stages, micro_batches, Sends::kExchanged);
    EXPECT_LE(overlapped, exchanged * (1 + 1e-12));
    EXPECT_LE(exchanged, Simulated(stages, micro_batches, Sends::kInTurn) * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace meshwright
