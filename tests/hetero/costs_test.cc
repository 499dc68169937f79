#include "meshwright/hetero/costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "meshwright/degrees/degree_table.h"
#include "meshwright/degrees/layer_partition.h"
#include "meshwright/hetero/bounds.h"
#include "tests/hetero/samples.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer::hetero {
namespace {

using ::testing::HasSubstr;

// Tables against plans costed one by one: time, memory, nodes; bounds against both.
TEST(HeteroCosts, TablesSayWhatPlansCost) {
  int compared = 0;
  for (int seed = 0; seed < RandomCases(80); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const Problem problem = RandomProblem(random, 6, 6);
    Coster coster(problem);
    for (const Family& family : AllFamilies(problem, FamilySpace(problem, coster))) {
      if (random() % 256 != 0) continue;
      const Costs costs = coster.CostsOf(family);
      const Bounds bounds(costs);
      std::vector<Stage> reversed;
      std::vector<int64_t> used(costs.stage_classes());
      int plans = 0;
      ForEachPlan(costs, reversed, used, costs.layers(), [&](const std::vector<Stage>& stages) {
        if (random() % 16 != 0 || ++plans > 20) return;
        ++compared;
        const Figures figures = coster.FiguresOf({family, stages});
        ASSERT_TRUE(figures.fits);
        ASSERT_NEAR(Seconds(costs, stages) / figures.seconds, 1, 1e-12);
        StageCounts counts = {};
        for (const Stage& stage : stages) ++counts[stage.stage_class];
        ASSERT_LE(bounds.Seconds(counts), figures.seconds * (1 + 1e-12));
        ASSERT_TRUE(bounds.MayBeat(counts, costs.layers(), PipelineBound(costs.micro_batches()),
                                   figures.seconds * (1 + 1e-12)));
        ASSERT_LE(bounds.Tightened(counts, 2 * figures.seconds), figures.seconds * (1 + 1e-12));
        std::vector<int64_t> nodes(costs.groups());
        for (size_t stage_class = 0; stage_class < costs.stage_classes(); ++stage_class) {
          nodes[costs.Group(stage_class)] += costs.Nodes(stage_class, counts[stage_class]);
        }
        ASSERT_EQ(figures.nodes, nodes);
        for (size_t group = 0; group < costs.groups(); ++group) {
          ASSERT_LE(nodes[group], problem.cluster.groups[group].cluster.nodes);
        }
      });
    }
  }
  EXPECT_GT(compared, RandomCases(300));
}

// A plan of a cluster of one type costs the same, digit for digit, told as one group of nodes,
// whatever trains it and in which types.
TEST(HeteroCosts, OneGroupCostsWhatAClusterCosts) {
  const int wanted = Cases(2000), some = wanted / 100;
  int compared = 0, with_tied = 0, parts_of_nodes = 0, with_experts = 0, layers_differ = 0;
  int without_layer = 0;
  for (uint64_t seed = 0; compared < wanted; ++seed) {
    ASSERT_LT(seed, 20u * static_cast<uint64_t>(wanted));
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Problem problem = RandomProblem(random, 8, 24);
    problem.cluster.groups.resize(1);
    problem.cluster.groups[0].cluster.nodes = 1 + static_cast<int64_t>(random() % 8);
    problem.budget_bytes.clear();
    if (random() % 4 == 0) problem.fixes.sequence_parallel = false;
    constexpr Precision kPrecisions[] = {Precision::kBf16, Precision::kFp16, Precision::kFp8,
                                         Precision::kF32};
    problem.precision = kPrecisions[random() % std::size(kPrecisions)];
    const absl::Span<const Framework> frameworks = FrameworkTable();
    problem.framework =
        *ChooseFramework(frameworks[random() % frameworks.size()].name, "", problem.model);
    if (random() % 4 == 0) problem.framework.attention = AttentionKernel::kEager;
    if (random() % 4 == 0) problem.framework.state.gradient_bytes = 2;
    const Cluster& cluster = problem.cluster.groups[0].cluster;
    problem.cluster.links = {{cluster.inter_node}};
    const StageDegrees degrees{int64_t{1} << random() % 3, int64_t{1} << random() % 4,
                               int64_t{1} << random() % 3};
    const Family family{{degrees},
                        static_cast<int>(degrees.dp > 1 ? random() % 2 : 0),
                        static_cast<Recompute>(random() % kRecomputeKinds)};
    Configuration c = StageConfiguration(problem, degrees, family);
    c.pp = Slots(problem.cluster.groups[0], degrees);
    c.ends_as_layers = random() % 2 == 0 && c.pp > 1;
    if (c.pp == 0 || !CheckConfiguration(problem.model, problem.workload, cluster, c).ok())
      continue;
    const LayerPartition partition = PartitionLayers(problem.model, c.pp, c.ends_as_layers);
    std::vector<Stage> stages;
    for (const int32_t content : partition.content_of) {
      const bool last = stages.size() + 1 == partition.content_of.size();
      stages.push_back({0, static_cast<int32_t>(partition.contents[content].all_layers() -
                                                (last ? problem.model.mtp.modules : 0))});
    }
    StepCoster plain(problem.model, problem.workload, cluster, BuiltinCostParameters(),
                     problem.framework);
    Coster mixed(problem);
    const StepCost cost = plain.Cost(c);
    const Figures figures = mixed.FiguresOf({family, stages});
    ASSERT_EQ(figures.seconds, cost.time.seconds) << ConfigurationText(c);
    ASSERT_EQ(figures.memory.size(), cost.memory.size());
    for (size_t i = 0; i < cost.memory.size(); ++i) {
      ASSERT_EQ(figures.memory[i].total(), cost.memory[i].total()) << ConfigurationText(c);
    }
    ++compared;
    with_tied += problem.model.head.tied && c.pp > 1 ? 1 : 0;
    parts_of_nodes += c.pp > 1 && degrees.devices() < cluster.devices_per_node ? 1 : 0;
    with_experts += problem.model.stacks[0].kinds.size() > 1 ? 1 : 0;
    layers_differ += partition.contents.size() > 2 ? 1 : 0;
    without_layer += stages.front().layers == 0 || stages.back().layers == 0 ? 1 : 0;
  }
  EXPECT_GE(with_tied, some);
  EXPECT_GE(parts_of_nodes, some);
  EXPECT_GE(with_experts, some);
  EXPECT_GE(layers_differ, some);
  EXPECT_GE(without_layer, some);
}

// The same of a plan that is written out.
TEST(HeteroCosts, OneGroupOfFourNodesCostsWhatTheClusterCosts) {
  Problem problem;
  problem.model = DenseModel(8, 8, 8);
  problem.workload = {.sequence = 512, .global_batch = 64};
  problem.cluster = *ParseMixedCluster("4x4xa100-40g");
  Coster mixed(problem);
  StepCoster plain(problem.model, problem.workload, problem.cluster.groups[0].cluster);
  Configuration c;
  c.tp = 2;
  c.sequence_parallel = true;
  c.dp = 4;
  c.pp = 2;
  c.micro_batch = 2;
  c.zero = 1;
  const Figures figures = mixed.FiguresOf({{{{2, 4, 2}}, 1, Recompute::kNone}, {{0, 4}, {0, 4}}});
  const StepCost cost = plain.Cost(c);
  EXPECT_EQ(figures.seconds, cost.time.seconds);
  ASSERT_EQ(figures.memory.size(), cost.memory.size());
  for (size_t i = 0; i < cost.memory.size(); ++i) {
    EXPECT_EQ(figures.memory[i].total(), cost.memory[i].total());
  }
}

TEST(HeteroCosts, ProfilesReplaceTimes) {
  Problem problem;
  problem.model = DenseModel(8, 8, 2);
  problem.workload = {.sequence = 512, .global_batch = 2};
  problem.cluster = *ParseMixedCluster("2x1xa100-40g");
  problem.profile = *LayerProfile::Parse(
      "gpu,tp,layer_id,forward_seconds\na100,1,0,1\na100,1,1,10\na100,1,2,20\na100,1,3,5\n", "p",
      {"m"});
  ASSERT_TRUE(CheckProblem(problem).ok());
  Coster coster(problem);
  const Figures figures = coster.FiguresOf({{{{1, 1, 1}}, 0, Recompute::kNone}, {{0, 1}, {0, 1}}});
  EXPECT_DOUBLE_EQ(figures.stages[0].forward, 11);
  EXPECT_DOUBLE_EQ(figures.stages[0].backward, 22);
  EXPECT_DOUBLE_EQ(figures.stages[1].forward, 25);
  const Figures again = coster.FiguresOf({{{{1, 1, 1}}, 0, Recompute::kFull}, {{0, 1}, {0, 1}}});
  EXPECT_DOUBLE_EQ(again.stages[0].backward, 22 + 10);
}

TEST(HeteroCosts, Errors) {
  Problem problem;
  problem.model = DenseModel(8, 8, 2);
  problem.workload = {.sequence = 512, .global_batch = 2};
  problem.cluster = *ParseMixedCluster("2x1xa100-40g");
  const auto error = [&] { return std::string(CheckProblem(problem).message()); };
  EXPECT_EQ(error(), "");
  problem.fixes.cp = 2;
  EXPECT_THAT(error(), HasSubstr("--fix: cp=2 is not planned over groups of nodes"));
  problem.fixes.cp.reset();
  // Whatever is not searched is as it usually is, and no other value passes without effect.
  for (const Degree& degree : DegreeTable()) {
    if (degree.key.empty()) continue;
    const int64_t usual = degree.value(Configuration());
    const std::set<std::string_view> searched = {"tp",   "dp",        "pp", "mbs",
                                                 "zero", "recompute", "sp"};
    for (const int64_t value : {usual, usual == degree.least ? usual + 1 : degree.least}) {
      Fixes fixes;
      degree.set_fix(fixes, value);
      problem.fixes = fixes;
      EXPECT_EQ(error().empty(), value == usual || searched.contains(degree.key)) << degree.key;
    }
  }
  problem.fixes = Fixes();
  problem.profile =
      *LayerProfile::Parse("gpu,tp,layer_id,forward_seconds\na100,1,0,1\n", "p", {"m"});
  EXPECT_THAT(error(), HasSubstr("found 1 entries, but small has 2 layers"));
  problem.profile = *LayerProfile::Parse(
      "gpu,tp,layer_id,forward_seconds\na10,1,0,1\na10,1,1,1\na10,1,2,1\na10,1,3,1\n", "p", {"m"});
  EXPECT_THAT(error(),
              HasSubstr("nothing is measured on a100-40g, group a100-40g; found a10 (tp 1)"));
}

}  // namespace
}  // namespace meshwright::transformer::hetero
