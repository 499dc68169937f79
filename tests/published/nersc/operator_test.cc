// Operators small enough to count by hand: units of one, so that a figure is a number of
// operations, elements or seconds.

#include "meshwright/published/nersc/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/published/nersc/module.h"
#include "tests/published/nersc/samples.h"

namespace meshwright::transformer::nersc {
namespace {

constexpr double kLaunch = 20e-6;

// A GB/s everywhere, no latency; 1/0.8 TFLOP/s, so an operation takes a second.
System UnitSystem() {
  System system;
  system.matrix_tflops = system.vector_tflops = 1 / 0.8;
  system.hbm_gbps = 1;
  system.nvlink_gbps = system.nvlink_efficiency = 1;
  system.ib_gbps = system.ib_efficiency = 1;
  system.nvlink_size = 8;
  system.element_gb = system.mask_gb = system.tflop_per_op = 1;
  return system;
}

std::vector<double> Volumes(const Pass& pass) {
  std::vector<double> volumes;
  for (const Transfer& one : pass.transfers) volumes.push_back(one.gb);
  return volumes;
}

using ::testing::ElementsAre;

TEST(NerscOperatorTest, LinearSplitByColumns) {
  // (2 x 3) rows of 4 times (4 x 10), of which a GPU has 5 columns.
  const Operator op = Linear(UnitSystem(), "fc", 2, 3, 4, 10, 1, 2);
  EXPECT_EQ(op.weights_gb, 20);
  EXPECT_EQ(op.activation_gb, 24);
  EXPECT_EQ(op.forward.tflop, 6 * 5 * 7);
  EXPECT_EQ(op.forward.hbm_gb, 24 + 30 + 20);
  EXPECT_THAT(Volumes(op.forward), ElementsAre(0));
  EXPECT_EQ(op.backward.tflop, 6 * 4 * 9 + 4 * 5 * 11);
  EXPECT_EQ(op.backward.hbm_gb, 20 + 24 + 2 * 30 + 20 + 24);
  EXPECT_THAT(Volumes(op.backward), ElementsAre(24));
  EXPECT_DOUBLE_EQ(op.forward.compute_seconds, kLaunch + 210);
  EXPECT_DOUBLE_EQ(op.forward.memory_seconds, 74);
}

TEST(NerscOperatorTest, LinearSplitByRowsRoundsDown) {
  const Operator op = Linear(UnitSystem(), "fc", 1, 3, 11, 4, 2, 1);
  EXPECT_EQ(op.weights_gb, 5 * 4);
  EXPECT_EQ(op.forward.tflop, 3 * 4 * 9);
  EXPECT_THAT(Volumes(op.forward), ElementsAre(12));
  EXPECT_THAT(Volumes(op.backward), ElementsAre(0));
}

TEST(NerscOperatorTest, SummaOverlapsTransfersWithPanels) {
  const System system = UnitSystem();
  // Rows of 4 of 8 tokens, 6 inputs, 5 of 10 columns: 240 operations, 24 + 30 elements sent.
  const Operator op = LinearSumma(system, "fc", 1, 8, 6, 10, 2, 2, 3);
  EXPECT_EQ(op.weights_gb, 3 * 5);
  EXPECT_EQ(op.activation_gb, 4 * 3);
  EXPECT_EQ(op.forward.tflop, 240);
  EXPECT_EQ(op.forward.hbm_gb, 24 + 30 + 60);
  EXPECT_EQ(op.backward.tflop, 4 * 6 * 9 + 6 * 5 * 7);
  EXPECT_EQ(op.backward.hbm_gb, 2 * (24 + 30 + 60));
  EXPECT_THAT(Volumes(op.forward), ElementsAre(24, 30));
  EXPECT_THAT(Volumes(op.backward), ElementsAre(30, 24, 24, 30));
  const Groups groups{{2, 1}, {2, 1}};
  // A third of the transfers is exposed, the rest is shorter than the arithmetic.
  EXPECT_DOUBLE_EQ(TimeOperator(system, op, groups).forward.comm, 18);
  System slow = system;
  slow.ib_gbps = 0.1;
  EXPECT_NEAR(TimeOperator(slow, op, groups).forward.comm, 180 + (540 - 240 - kLaunch), 1e-9);
}

TEST(NerscOperatorTest, PointwiseOperators) {
  const System system = UnitSystem();
  const Operator bias = Bias(system, "bias", 2, 3, 4);
  EXPECT_EQ(bias.weights_gb, 4);
  EXPECT_EQ(bias.activation_gb, 0);
  EXPECT_EQ(bias.forward.tflop, 24);
  EXPECT_EQ(bias.forward.hbm_gb, 28);
  EXPECT_EQ(bias.backward.hbm_gb, 28);
  const Operator gelu = Gelu(system, "act", 10);
  EXPECT_EQ(gelu.activation_gb, 10);
  EXPECT_EQ(gelu.forward.tflop, 80);
  EXPECT_EQ(gelu.backward.tflop, 130);
  EXPECT_EQ(gelu.backward.hbm_gb, 30);
  const Operator dropout = DropOut(system, "dpr", 10, /*recomputed=*/false);
  EXPECT_EQ(dropout.activation_gb, 10);
  EXPECT_EQ(dropout.forward.hbm_gb, 30);
  EXPECT_EQ(DropOut(system, "dpr", 10, /*recomputed=*/true).activation_gb, 0);
}

TEST(NerscOperatorTest, NormalizationOnAGridTakesItsWidthFromTheSequence) {
  const System system = UnitSystem();
  const Operator whole = LayerNorm(system, "ln", 2, 8, 5, 2);
  EXPECT_EQ(whole.activation_gb, 2 * 4 * 5);
  EXPECT_EQ(whole.weights_gb, 10);
  EXPECT_EQ(whole.forward.tflop, 9 * 40);
  EXPECT_EQ(whole.backward.tflop, 8 * 40 + 4 * 8 * 4);
  EXPECT_THAT(Volumes(whole.forward), ElementsAre(80));
  const Operator grid = LayerNormSumma(system, "ln", 3, 9, 5, 2, 4);
  EXPECT_EQ(grid.activation_gb, (3 * 2) * 4);
  EXPECT_EQ(grid.weights_gb, 8);
  EXPECT_THAT(Volumes(grid.forward), ElementsAre(12));
  // 2e / tp1 and 2bl / tp2, each rounded down.
  EXPECT_THAT(Volumes(grid.backward), ElementsAre(5 + 13));
}

TEST(NerscOperatorTest, FlashAttentionDoesTheForwardScoresAgain) {
  System system = UnitSystem();
  system.vector_tflops = system.matrix_tflops / 10;
  // One head of width 3, 2 queries, 4 keys: 8 scores.
  const AttentionShape shape{1, 1, 2, 4, 3};
  const Operator op = FlashAttention(system, shape, Gathered::kOverTp2, 2);
  const double scores = 8 * 5, softmax = 10 * (16 + 2 * 3), dropout = 10 * 8;
  const double values = 2 * 3 * 7;
  EXPECT_DOUBLE_EQ(op.forward.tflop, scores + softmax + dropout + values);
  EXPECT_DOUBLE_EQ(op.backward.tflop, values + 4 * 3 * 3 + 10 * (24 + 6) + dropout + scores +
                                          4 * 3 * 3 + scores + softmax + dropout);
  EXPECT_EQ(op.activation_gb, 4 * 6 + 2 * 2);
  EXPECT_EQ(op.forward.hbm_gb, 2 * 6 + 2 * 12 + 2);
  EXPECT_EQ(op.backward.hbm_gb, 2 * 12 + 2 * 6 + 28);
  EXPECT_THAT(Volumes(op.forward), ElementsAre(24));
  EXPECT_THAT(Volumes(op.backward), ElementsAre(24, 24));
  EXPECT_THAT(Volumes(FlashAttention(system, shape, Gathered::kNo, 1).forward), ElementsAre());
}

// On one GPU all ways to split attention are the same work.
TEST(NerscOperatorTest, AttentionOnOneGpuIsTheSameHoweverSplit) {
  const System system = SmallSystem();
  const AttentionShape shape{2, 12, 1024, 1024, 128};
  const auto expect_same = [](const Operator& a, const Operator& b) {
    EXPECT_EQ(a.forward.tflop, b.forward.tflop);
    EXPECT_EQ(a.backward.tflop, b.backward.tflop);
    EXPECT_EQ(a.forward.hbm_gb, b.forward.hbm_gb);
    EXPECT_EQ(a.backward.hbm_gb, b.backward.hbm_gb);
    EXPECT_EQ(a.activation_gb, b.activation_gb);
  };
  expect_same(Logits(system, shape, Gathered::kNo, 1, false),
              Logits(system, shape, Gathered::kOverTp2, 1, false));
  expect_same(Softmax(system, shape, false), SoftmaxSumma(system, shape, 1, 1, false));
  const Operator grid = AttendSumma(system, shape, 1, 1, 1, false);
  EXPECT_DOUBLE_EQ(grid.activation_gb,
                   Attend(system, shape, Gathered::kNo, 1, false).activation_gb);
  EXPECT_DOUBLE_EQ(grid.forward.hbm_gb,
                   Attend(system, shape, Gathered::kNo, 1, false).forward.hbm_gb);
}

TEST(NerscOperatorTest, RecomputationIsChargedWhereThePublishedCodeDoes) {
  const System system = SmallSystem();
  const AttentionShape shape{1, 12, 1024, 1024, 128};
  const Groups one;
  const auto backward = [&](const Operator& op) {
    const OperatorTime time = TimeOperator(system, op, one);
    EXPECT_EQ(BackwardSeconds(system, op, one), time.backward.seconds);
    EXPECT_EQ(ForwardSeconds(system, op, one), time.forward.seconds);
    return time.backward.seconds;
  };
  const Operator kept = Logits(system, shape, Gathered::kNo, 1, false);
  EXPECT_DOUBLE_EQ(backward(Logits(system, shape, Gathered::kNo, 1, true)),
                   backward(kept) + ForwardSeconds(system, kept, one));
  EXPECT_EQ(backward(Logits(system, shape, Gathered::kOverTp2, 1, true)), backward(kept));
  EXPECT_LT(Attend(system, shape, Gathered::kNo, 1, true).activation_gb,
            Attend(system, shape, Gathered::kNo, 1, false).activation_gb);
}

TEST(NerscOperatorTest, ModulesListTheirOperators) {
  const auto names = [](Module module, const ModuleOptions& options) {
    std::vector<std::string> list;
    for (const Operator& op : MakeModule(SmallModel(), SmallSystem(), module, options))
      list.emplace_back(op.name);
    return list;
  };
  const ModuleOptions grid{.tp1 = 2, .tp2 = 2, .panels = 4};
  for (const Module module : {Module::kMlp1d, Module::kMlpSumma, Module::kMlpSequence}) {
    EXPECT_THAT(names(module, {.tp1 = 2, .panels = 4}),
                ElementsAre("fc1", "fc1-bias", "act1", "dpr1", "fc2", "fc2-bias", "dpr2", "ln1"));
  }
  for (const Module module : {Module::kAttentionSummaSequence, Module::kAttentionSequence}) {
    EXPECT_THAT(names(module, grid),
                ElementsAre("qkv", "fusedla", "vproj", "vproj-bias", "dpr_v", "ln2"));
  }
  ModuleOptions stored = grid;
  stored.flash = false;
  for (const Module module :
       {Module::kAttentionSumma, Module::kAttentionSummaSequence, Module::kAttentionSequence}) {
    EXPECT_THAT(names(module, stored), ElementsAre("qkv", "logits", "softmax", "dpr_at", "attend",
                                                   "vproj", "vproj-bias", "dpr_v", "ln2"));
  }
}

}  // namespace
}  // namespace meshwright::transformer::nersc
