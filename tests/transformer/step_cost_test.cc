#include "meshwright/transformer/step_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/cluster/cluster.h"
#include "meshwright/transformer/model_reader.h"
#include "meshwright/transformer/step_parts.h"
#include "meshwright/transformer/tensors.h"

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

class StepCostTest : public ::testing::Test {
 protected:
  StepCost Cost(const Configuration& c, std::string_view framework = "megatron") {
    cluster_ = *ParseCluster(std::to_string(c.gpus() > 8 ? c.gpus() / 8 : 1) + "x" +
                             std::to_string(c.gpus() > 8 ? 8 : c.gpus()) + "xh100-sxm");
    EXPECT_TRUE(CheckConfiguration(model_, workload_, cluster_, c).ok());
    StepCoster coster(model_, workload_, cluster_, BuiltinCostParameters(), framework);
    return coster.Cost(c);
  }

  Model model_ = *LoadModel("gpt3-1.3b");
  Workload workload_{.sequence = 2048, .global_batch = 64};
  Cluster cluster_;
};

double Sum(const StepTime& t) {
  return t.compute + t.tensor_communication + t.context_communication + t.expert_communication +
         t.data_communication + t.pipeline_communication + t.bubble + t.optimizer;
}

TEST_F(StepCostTest, PartsAddUp) {
  const StepTime time =
      Cost({.tp = 2, .sequence_parallel = true, .dp = 2, .pp = 4, .zero = 1}).time;
  EXPECT_NEAR(Sum(time), time.seconds, 1e-12 * time.seconds);
  EXPECT_GT(time.tensor_communication, 0);
  EXPECT_GT(time.pipeline_communication, 0);
  EXPECT_GT(time.mfu, 0);
  EXPECT_LT(time.mfu, 1);
  EXPECT_EQ(time.mfu, time.hfu);
}

// Adam on f32 copies: 2 bytes a weight, 4 a gradient, 12 of state.
TEST_F(StepCostTest, AdamTakes18BytesAParameter) {
  const int64_t parameters = CountParameters(Tensors(model_)).total;
  const StageMemory all = Cost({.dp = 8}).memory[0];
  EXPECT_EQ(all.weights, 2 * parameters);
  EXPECT_EQ(all.gradients, 4 * parameters);
  EXPECT_EQ(all.optimizer, 12 * parameters);
  EXPECT_EQ(Cost({.dp = 8, .zero = 1}).memory[0].optimizer, 12 * parameters / 8);
  EXPECT_EQ(Cost({.dp = 8, .zero = 2}).memory[0].gradients, 4 * parameters / 8);
  const StageMemory sharded = Cost({.dp = 8, .zero = 3}, "fsdp").memory[0];
  EXPECT_NEAR(sharded.weights + sharded.gradients + sharded.optimizer, 16 * parameters / 8, 3);
}

// The busiest of p equal groups waits for (p - 1) / m of its own work.
TEST_F(StepCostTest, BubbleIsOfTheSchedule) {
  const Configuration one{.pp = 4};
  Configuration interleaved{.pp = 4, .virtual_stages = 2, .schedule = PipelineKind::kInterleaved};
  const double bubble = Cost(one).time.bubble;
  // 64 micro-batches; the last group has the head, so that the mean is below the busiest.
  const double work = Cost(one).time.compute;
  EXPECT_LT(bubble, 3.0 / 64 * work);
  EXPECT_GT(bubble, 0.7 * 3.0 / 64 * work);
  EXPECT_DOUBLE_EQ(Cost(interleaved).time.bubble, bubble / 2);
  EXPECT_EQ(Cost({.dp = 4}).time.bubble, 0);
}

// 1F1B: group i of p keeps p - i micro-batches.
TEST_F(StepCostTest, EarlierGroupsKeepMore) {
  const StepCost cost = Cost({.pp = 4});
  const auto kept = [&](int i) {
    return cost.memory[i].activations - cost.memory[i + 1].activations;
  };
  EXPECT_GT(kept(1), 0);
  EXPECT_NEAR(static_cast<double>(kept(1)), static_cast<double>(kept(2)), 2);
}

TEST_F(StepCostTest, RecomputationTradesTimeForMemory) {
  const StepCost none = Cost({.dp = 8, .micro_batch = 8});
  const StepCost full = Cost({.dp = 8, .micro_batch = 8, .recompute = Recompute::kFull});
  EXPECT_LT(full.memory[0].activations, none.memory[0].activations / 4);
  EXPECT_GT(full.time.compute, 1.2 * none.time.compute);
  EXPECT_LT(full.time.compute, 1.4 * none.time.compute);
  EXPECT_EQ(full.time.mfu < full.time.hfu, true);
}

TEST_F(StepCostTest, FasterWithMoreGpusAndLessPrecision) {
  const double one = Cost({.dp = 1}).time.seconds;
  const double eight = Cost({.dp = 8}).time.seconds;
  EXPECT_LT(eight, one);
  EXPECT_GT(eight, one / 8);
  EXPECT_LT(Cost({.dp = 8, .precision = Precision::kFp8}).time.compute,
            Cost({.dp = 8}).time.compute);
}

// 6 flops a weight and token, and attention's 6 x hidden a pair, which is half of seq^2.
TEST_F(StepCostTest, CountsFlopsAsMfuDoes) {
  const double layers = 24, hidden = 2048, tokens = 64.0 * 2048;
  const double weights = layers * 12 * hidden * hidden + 50257.0 * hidden;
  const double attention = layers * 12 * hidden * 2049 / 2;
  EXPECT_NEAR(Cost({.dp = 8}).time.model_flops / (tokens * (6 * weights + attention)), 1, 0.01);
}

TEST_F(StepCostTest, RefusesWhatCannotRun) {
  const Cluster cluster = *ParseCluster("8xh100-sxm");
  const auto message = [&](const Configuration& c) {
    return std::string(CheckConfiguration(model_, workload_, cluster, c).message());
  };
  EXPECT_THAT(message({.dp = 4}), HasSubstr("must be the 8 GPUs"));
  EXPECT_THAT(
      message({.dp = 8, .micro_batch = 3}),
      HasSubstr("micro-batch 3 does not divide 8 sequences of a replica; valid: 1, 2, 4, 8"));
  EXPECT_THAT(message({.pp = 8, .virtual_stages = 4}),
              HasSubstr("more than the 24 layers"));
  EXPECT_THAT(message({.dp = 0, .pp = 8}), HasSubstr("dp is 0"));
  EXPECT_THAT(message({.dp = 8, .zero = 4}), HasSubstr("valid: 0, 1, 2, 3"));
}

TEST(SideEfficiency, GrowsWithEverySide) {
  EXPECT_DOUBLE_EQ(SideEfficiency(128, 128, 128, 128), 0.125);
  EXPECT_LT(SideEfficiency(64, 4096, 4096, 128), SideEfficiency(128, 4096, 4096, 128));
  EXPECT_GT(SideEfficiency(1e9, 1e9, 1e9, 128), 0.999);
}

TEST(CostParameters, AreReadOrRefused) {
  const absl::StatusOr<CostParameters> good =
      ParseCostParameters("devices:\n  h200: {matmul_16: 0.5}\n", "p.yaml");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->Device("h200").matmul_16, 0.5);
  EXPECT_EQ(good->Device("other").matmul_16, DeviceParameters().matmul_16);
  const auto message = [](std::string_view text) {
    return std::string(ParseCostParameters(text, "p").status().message());
  };
  EXPECT_THAT(message("devices:\n  h200: {matmul_17: 0.5}\n"),
              HasSubstr("p:2:10: unknown parameter; did you mean \"matmul_16\"?"));
  EXPECT_THAT(message("devices:\n  h200: {memory: 1.5}\n"),
              HasSubstr("memory must be a number above 0, at most 1"));
  EXPECT_THAT(message("hosts: {}\n"), HasSubstr("valid: devices, frameworks"));
  EXPECT_THAT(message("[1"), HasSubstr("p:"));
}

}  // namespace
}  // namespace meshwright::transformer
