// Tables against plain sums, over random configurations of several families.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/space.h"
#include "meshwright/model/model_reader.h"
#include "tests/degrees/plain_step_cost.h"

namespace meshwright::transformer {
namespace {

struct FiguresSample {
  const char* model;
  const char* cluster;
  const char* framework;
  const char* release;
  Precision precision;
  Workload workload;
  Fabric fabric = {};
  bool adding = false;  // switches, inside nodes and between them
};

// Dense, with experts, latent attention, several kinds of layers in turns, encoder and decoder;
// nodes that degrees divide and nodes that they do not.
constexpr FiguresSample kFiguresSamples[] = {
    {"gpt3-1.3b", "8x8xh100-sxm", "megatron", "", Precision::kBf16, {2048, 256}},
    {"llama3-70b", "16x8xh100-sxm", "torchtitan", "", Precision::kFp8, {8192, 128}},
    {"mixtral-8x7b", "8x8xa100-80g", "megatron", "", Precision::kBf16, {4096, 128}},
    {"deepseek-v3", "8x64xgb200-nvl72", "megatron", "", Precision::kMxFp8, {4096, 2048}},
    {"gpt-oss-20b", "8x6xb200", "megatron", "26.06", Precision::kBf16, {4096, 96}},
    {"gemma3-12b", "2x12xh100-sxm", "megatron", "", Precision::kBf16, {2048, 48}},
    {"t5-11b", "4x8xa100-80g", "megatron", "21", Precision::kFp16, {512, 64}},
    {"mixtral-8x7b", "16x4xh100-sxm", "megatron", "", Precision::kBf16, {4096, 128}, {4, true, 3}},
    {"gpt3-1.3b", "8x8xh100-sxm", "megatron", "", Precision::kBf16, {2048, 256}, {2, false, 4}},
    {"deepseek-v2", "12x8xh100-sxm", "megatron", "", Precision::kBf16, {4096, 96}, {6, true, 2}},
    {"gpt3-1.3b", "8x8xh100-sxm", "megatron", "", Precision::kBf16, {2048, 256}, {}, true},
    {"mixtral-8x7b",
     "16x4xh100-sxm",
     "torchtitan",
     "",
     Precision::kBf16,
     {4096, 128},
     {4, true, 3},
     true},
};

void ExpectSameSeconds(const StepTime& found, const StepTime& wanted) {
  const auto expect = [&](const char* what, double StepTime::*member) {
    EXPECT_NEAR(found.*member, wanted.*member, 1e-12 * wanted.seconds) << what;
  };
  expect("step", &StepTime::seconds);
  expect("compute", &StepTime::compute);
  expect("tensor", &StepTime::tensor_communication);
  expect("context", &StepTime::context_communication);
  expect("expert", &StepTime::expert_communication);
  expect("data", &StepTime::data_communication);
  expect("pipeline", &StepTime::pipeline_communication);
  expect("host", &StepTime::host_communication);
  expect("bubble", &StepTime::bubble);
  expect("optimizer", &StepTime::optimizer);
  EXPECT_NEAR(found.model_flops, wanted.model_flops, 1e-12 * wanted.model_flops);
  EXPECT_NEAR(found.mfu, wanted.mfu, 1e-12 * wanted.mfu);
  EXPECT_NEAR(found.hfu, wanted.hfu, 1e-12 * wanted.hfu);
}

// Each member is rounded to whole bytes.
void ExpectSameBytes(int64_t found, int64_t wanted) {
  EXPECT_NEAR(static_cast<double>(found), static_cast<double>(wanted),
              4 + 1e-12 * static_cast<double>(wanted));
}

TEST(StepFigures, AreThePlainSums) {
  constexpr int kConfigurations = 40;  // of each sample
  int units = 0, some_offloaded = 0;
  int some_layers = 0, some_groups = 0, grids = 0, gathered = 0, ulysses = 0;
  for (const FiguresSample& sample : kFiguresSamples) {
    const Model model = *LoadModel(sample.model);
    Cluster cluster = *ParseCluster(sample.cluster);
    cluster.fabric = sample.fabric;
    cluster.intra_node.in_network_reduction = sample.adding;
    cluster.inter_node.in_network_reduction = sample.adding;
    const Space space(model, sample.workload, cluster.devices(), Fixes{}, sample.precision,
                      cluster.devices_per_node, cluster.fabric.unit_nodes);
    const std::vector<Space::Degrees> degrees = space.AllDegrees();
    ASSERT_FALSE(degrees.empty()) << sample.model;
    const ChosenFramework framework = *ChooseFramework(sample.framework, sample.release, Model());
    StepCoster coster(model, sample.workload, cluster, BuiltinCostParameters(), framework);
    std::mt19937_64 random(7);
    int costed = 0;
    while (costed < kConfigurations) {
      const Space::Degrees& one = degrees[random() % degrees.size()];
      const std::vector<Configuration> families = space.Families(one);
      if (families.empty()) continue;
      const std::vector<Space::Sharding> shardings = space.Shardings(one);
      Configuration c;
      // Twice the same degrees, so that what is kept is used.
      for (int i = 0; i < 2; ++i) {
        c = families[random() % families.size()];
        c.recompute = space.Recomputes()[random() % space.Recomputes().size()];
        const std::vector<Space::RecomputeRange> ranges = space.RecomputeRanges(c, c.recompute);
        const Space::RecomputeRange& range = ranges[random() % ranges.size()];
        c.recompute_layers = range.layers;
        c.recompute_stages = range.stages;
        const Space::Offload& offload = space.Offloads()[random() % space.Offloads().size()];
        c.offload_optimizer = offload.optimizer;
        c.offload_activations = offload.activations;
        const Space::Amounts amounts = space.AmountsOf(c, offload);
        c.offload_percent = amounts.percents[random() % amounts.percents.size()];
        c.offload_layers = amounts.layers[random() % amounts.layers.size()];
        const std::vector<Space::Layout> layouts = space.Placements(one, c.tp2);
        const Space::Sharding& sharding = shardings[random() % shardings.size()];
        const Space::Layout& layout = layouts[random() % layouts.size()];
        c.inside = layout.inside;
        c.unit = layout.unit;
        c.zero = sharding.zero;
        c.shard = sharding.shard;
        SCOPED_TRACE(testing::Message() << sample.model << " " << ConfigurationText(c));
        const StepCost wanted = PlainCost(model, sample.workload, cluster,
                                          framework.Parameters(BuiltinCostParameters()), c);
        const StepFigures figures = coster.Figures(c);
        ExpectSameSeconds(figures.time, wanted.time);
        ExpectSameBytes(figures.peak_bytes, wanted.peak_bytes);
        ExpectSameBytes(figures.kept_bytes, wanted.kept_bytes);
        ExpectSameBytes(figures.host_bytes, wanted.host_bytes);
        units += c.unit.in_order() ? 0 : 1;
        some_offloaded += c.offload_percent > 0 && c.offload_layers > 0 ? 1 : 0;
        some_layers += c.recompute_layers > 0 ? 1 : 0;
        some_groups += c.recompute_stages > 0 ? 1 : 0;
        grids += c.tp2 > 1 ? 1 : 0;
        gathered += c.context == ContextKind::kAllGather ? 1 : 0;
        ulysses += c.context == ContextKind::kUlysses ? 1 : 0;
        const StepCost cost = coster.Cost(c);
        EXPECT_EQ(cost.time.seconds, figures.time.seconds);
        ASSERT_EQ(cost.memory.size(), wanted.memory.size());
        int64_t peak = 0;
        for (size_t group = 0; group < cost.memory.size(); ++group) {
          ExpectSameBytes(cost.memory[group].total(), wanted.memory[group].total());
          peak = std::max(peak, cost.memory[group].total());
        }
        EXPECT_EQ(peak, figures.peak_bytes);
        ++costed;
      }
    }
  }
  EXPECT_GT(units, 60);
  EXPECT_GT(some_offloaded, 40);
  EXPECT_GT(some_layers, 30);
  EXPECT_GT(some_groups, 30);
  EXPECT_GT(grids, 10);
  EXPECT_GT(gathered, 10);
  EXPECT_GT(ulysses, 5);
}

}  // namespace
}  // namespace meshwright::transformer
