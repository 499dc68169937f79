#include "meshwright/hetero/costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "meshwright/degrees/degree_table.h"
#include "meshwright/hetero/bounds.h"
#include "tests/hetero/samples.h"

namespace meshwright::transformer::hetero {
namespace {

using ::testing::HasSubstr;

// Tables against plans costed one by one: time, memory, nodes; bounds against both.
TEST(HeteroCosts, TablesSayWhatPlansCost) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
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
  EXPECT_GT(compared, 300);
}

// A cluster of one type, as the search over degrees costs it: the same stages, whose bubble is
// simulated instead of taken from the mean.
TEST(HeteroCosts, OneGroupCostsWhatAClusterCosts) {
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
  EXPECT_NEAR(figures.seconds / cost.time.seconds, 1, 0.05);
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
    const std::set<std::string_view> searched = {"tp", "dp", "pp", "mbs", "zero", "recompute"};
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
  EXPECT_THAT(error(), HasSubstr("nothing is measured on a100-40g"));
}

}  // namespace
}  // namespace meshwright::transformer::hetero
