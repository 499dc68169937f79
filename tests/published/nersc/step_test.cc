// Properties of steps that hold whatever the operators cost, and what is refused.

#include "meshwright/published/nersc/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "meshwright/published/nersc/nersc.h"
#include "tests/published/nersc/samples.h"

namespace meshwright::transformer::nersc {
namespace {

Evaluation MustEvaluate(Strategy strategy, const Config& config, int64_t global_batch,
                        const System& system = SmallSystem(8)) {
  const auto found = Evaluate(SmallModel(), system, strategy, config, global_batch);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *found : Evaluation();
}

TEST(NerscStepTest, SumsLikeNumpy) {
  // 2^53 swallows a one that is added alone, and not two that are added first.
  const double big = 9007199254740992.0;
  const auto sum = [](const std::vector<double>& values) {
    return SumLikeNumpy(values, [](double value) { return value; });
  };
  EXPECT_EQ(sum({big, 1, 1}), big);
  EXPECT_EQ(sum({big, 0, 1, 1, 0, 0, 0, 0}), big + 2);
  EXPECT_EQ(sum({big, 0, 0, 0, 0, 0, 0, 0, 1, 1}), big);
  EXPECT_EQ(sum({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), 17);
  EXPECT_EQ(sum({}), 0);
}

TEST(NerscStepTest, OneGpuCommunicatesNothing) {
  for (const Strategy strategy : kStrategies) {
    const Stats stats = MustEvaluate(strategy, {.micro_batch = 2}, 8).stats;
    EXPECT_EQ(stats.tp_comm, 0);
    EXPECT_EQ(stats.dp_comm, 0);
    EXPECT_EQ(stats.pp_comm, 0);
    EXPECT_EQ(stats.bubble, 0);
    EXPECT_DOUBLE_EQ(stats.seconds, stats.compute + stats.exposed_memory);
    EXPECT_DOUBLE_EQ(stats.optimizer_gb, 6 * stats.weights_gb);
    EXPECT_DOUBLE_EQ(stats.memory_gb,
                     2 * stats.weights_gb + stats.optimizer_gb + stats.activations_gb);
  }
}

TEST(NerscStepTest, TimeIsTheSumOfItsParts) {
  const Config config{.dp = 2, .tp1 = 2, .tp2 = 2, .pp = 3, .micro_batch = 2, .panels = 4};
  for (const Strategy strategy : {Strategy::kSumma, Strategy::kSequence}) {
    const Stats stats = MustEvaluate(strategy, config, 24).stats;
    EXPECT_GT(stats.tp_comm, 0);
    EXPECT_GT(stats.dp_comm, 0);
    EXPECT_GT(stats.pp_comm, 0);
    EXPECT_NEAR(stats.seconds,
                stats.compute + stats.exposed_memory + stats.tp_comm + stats.pp_comm +
                    stats.bubble + stats.dp_comm,
                1e-12 * stats.seconds);
    // Two of the three stages wait for each of six micro-batches.
    EXPECT_NEAR(stats.bubble, (stats.seconds - stats.dp_comm) * 2 / (6 + 2), 1e-12);
  }
}

TEST(NerscStepTest, StagesKeepActivationsOfAsManyMicroBatchesAsThereAre) {
  const auto activations = [](int64_t global_batch) {
    return MustEvaluate(Strategy::k1d, {.pp = 6}, global_batch).stats.activations_gb;
  };
  EXPECT_DOUBLE_EQ(activations(2), 2 * activations(1));
  EXPECT_DOUBLE_EQ(activations(6), 6 * activations(1));
  EXPECT_EQ(activations(12), activations(6));
}

TEST(NerscStepTest, SequenceParallelismSharesOptimizerStates) {
  const Config split{.tp2 = 4}, whole{.dp = 4};
  const Stats by_sequence = MustEvaluate(Strategy::kSequence, split, 4).stats;
  const Stats by_data = MustEvaluate(Strategy::kSequence, whole, 4).stats;
  EXPECT_DOUBLE_EQ(by_sequence.weights_gb, by_data.weights_gb);
  EXPECT_DOUBLE_EQ(by_sequence.optimizer_gb, by_data.optimizer_gb);
  EXPECT_GT(by_sequence.dp_comm, 0);
}

// As published: links between NVLink domains are free once some stages share one.
TEST(NerscStepTest, LinksBetweenDomainsAreFree) {
  const auto pp_comm = [](int64_t in_domain) {
    return MustEvaluate(Strategy::k1d, {.pp = 6, .nv_pp = in_domain}, 6).stats.pp_comm;
  };
  const double all_fast = pp_comm(6);
  EXPECT_DOUBLE_EQ(pp_comm(3), all_fast * 4 / 5);
  EXPECT_DOUBLE_EQ(pp_comm(2), all_fast * 3 / 5);
  EXPECT_GT(pp_comm(1), all_fast);
}

TEST(NerscStepTest, PanelsAreTheSystemsIfNotSaid) {
  Config config{.tp1 = 2, .tp2 = 2, .panels = 0, .nv_tp1 = 2};
  const Stats implied = MustEvaluate(Strategy::kSumma, config, 1).stats;
  config.panels = SmallSystem().summa_panels;
  EXPECT_EQ(implied.seconds, MustEvaluate(Strategy::kSumma, config, 1).stats.seconds);
  config.panels *= 2;
  EXPECT_NE(implied.seconds, MustEvaluate(Strategy::kSumma, config, 1).stats.seconds);
}

TEST(NerscStepTest, FeasibleUpToTheLastByte) {
  System system = SmallSystem();
  system.hbm_gb = MustEvaluate(Strategy::k1d, {}, 1, system).stats.memory_gb;
  EXPECT_TRUE(MustEvaluate(Strategy::k1d, {}, 1, system).feasible);
  system.hbm_gb = std::nextafter(system.hbm_gb, 0.0);
  EXPECT_FALSE(MustEvaluate(Strategy::k1d, {}, 1, system).feasible);
}

TEST(NerscStepTest, BadConfigurations) {
  const auto message = [](Strategy strategy, const Config& config, int64_t global_batch = 24) {
    return std::string(
        Evaluate(SmallModel(), SmallSystem(), strategy, config, global_batch).status().message());
  };
  EXPECT_EQ(message(Strategy::k1d, {.tp1 = 8}),
            "tp is 8, which does not divide the number of heads, 12");
  EXPECT_EQ(message(Strategy::kSumma, {.tp1 = 8}),
            "tp1 is 8, which does not divide the number of heads, 12");
  EXPECT_EQ(message(Strategy::k1d, {.tp2 = 2}), "tp2 is 2, expected an integer from 1 to 1");
  EXPECT_EQ(message(Strategy::kSequence, {.tp2 = 2048}),
            "tp2 is 2048, expected an integer from 1 to 1024");
  EXPECT_EQ(message(Strategy::kSumma, {.tp2 = 5}),
            "tp2 is 5, which does not divide the embedding, 1536");
  EXPECT_EQ(message(Strategy::k1d, {.pp = 12}),
            "pp is 12, which does not divide the number of layers, 6");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 5}),
            "dp is 5, which does not divide the global batch, 24");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 2, .micro_batch = 5}),
            "mbs is 5, which does not divide the batch of a data-parallel rank, 12");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 2, .micro_batch = 0}),
            "mbs is 0, expected an integer from 1 to 1073741824");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 0}), "dp is 0, expected an integer from 1 to 1073741824");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 1 << 20, .pp = 1 << 20}),
            "pp is 1048576, expected an integer from 1 to 1024");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 2, .nv_dp = 8}),
            "nv_dp is 8, expected an integer from 1 to 4");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 3, .nv_dp = 2}),
            "nv_dp is 2, which does not divide dp, 3");
  EXPECT_EQ(message(Strategy::k1d, {.dp = 4, .tp1 = 2, .nv_dp = 4, .nv_tp1 = 2}),
            "nv_tp is 2, expected an integer from 1 to 1");
  EXPECT_EQ(message(Strategy::k1d, {}, 0),
            "the global batch is 0, expected an integer from 1 to 1073741824");
  EXPECT_EQ(message(Strategy::kSumma, {.panels = -1}),
            "nb is -1, expected an integer from 0 to 1536");
}

TEST(NerscStepTest, BadModelsAndSystems) {
  Model model = SmallModel();
  model.heads = 0;
  EXPECT_EQ(CheckModel(model).message(),
            "the number of heads (h) is 0, expected an integer from 1 to 1536");
  model.heads = 2000;
  EXPECT_EQ(CheckModel(model).message(),
            "the number of heads (h) is 2000, expected an integer from 1 to 1536");
  model = SmallModel();
  model.hidden = 11;
  EXPECT_EQ(CheckModel(model).message(),
            "the hidden size (f) is 11, expected an integer from 12 to 1073741824");
  model = SmallModel();
  model.sequence = std::numeric_limits<int64_t>::min();
  EXPECT_FALSE(CheckModel(model).ok());
  System system = SmallSystem();
  system.hbm_gbps = 0;
  EXPECT_EQ(CheckSystem(system).message(),
            "hbm_bandwidth is 0, expected a number from 1e-15 to 1e+15");
  system = SmallSystem();
  system.ib_latency = -1;
  EXPECT_EQ(CheckSystem(system).message(), "ib_latency is -1, expected a number from 0 to 1e+15");
  system.ib_latency = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(CheckSystem(system).ok());
  system.ib_latency = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(CheckSystem(system).ok());
  EXPECT_TRUE(
      absl::StrContains(ParseStrategy("3d").status().message(), "valid are 1d, 2d, 2d-seqp"));
}

}  // namespace
}  // namespace meshwright::transformer::nersc
