#include "meshwright/hetero/costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "meshwright/hetero/bounds.h"
#include "tests/hetero/samples.h"

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

// Tables against plans costed one by one: time, memory, nodes; bounds against both.
TEST(MixedCostsTest, TablesSayWhatPlansCost) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const MixedProblem problem = RandomMixedProblem(random, 6, 6);
    MixedCoster coster(problem);
    for (const MixedFamily& family : AllMixedFamilies(problem, MixedFamilySpace(problem, coster))) {
      if (random() % 256 != 0) continue;
      const MixedCosts costs = coster.Costs(family);
      const MixedBounds bounds(costs);
      std::vector<MixedStage> reversed;
      std::vector<int64_t> used(costs.lanes());
      int plans = 0;
      ForEachMixedPlan(
          costs, reversed, used, costs.layers(), [&](const std::vector<MixedStage>& stages) {
            if (random() % 16 != 0 || ++plans > 20) return;
            ++compared;
            const MixedFigures figures = coster.Figures({family, stages});
            ASSERT_TRUE(figures.fits);
            ASSERT_NEAR(MixedSeconds(costs, stages) / figures.seconds, 1, 1e-12);
            StageCounts counts = {};
            for (const MixedStage& stage : stages) ++counts[stage.lane];
            ASSERT_LE(bounds.Seconds(counts), figures.seconds * (1 + 1e-12));
            ASSERT_TRUE(bounds.MayBeat(counts, costs.layers(), PipelineBound(costs.micro_batches()),
                                       figures.seconds * (1 + 1e-12)));
            ASSERT_LE(bounds.Tightened(counts, 2 * figures.seconds), figures.seconds * (1 + 1e-12));
            std::vector<int64_t> nodes(costs.groups());
            for (size_t lane = 0; lane < costs.lanes(); ++lane) {
              nodes[costs.Group(lane)] += costs.Nodes(lane, counts[lane]);
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
TEST(MixedCostsTest, OneGroupCostsWhatAClusterCosts) {
  MixedProblem problem;
  problem.model = DenseModel(8, 8, 8);
  problem.workload = {.sequence = 512, .global_batch = 64};
  problem.cluster = *ParseMixedCluster("4x4xa100-40g");
  MixedCoster mixed(problem);
  StepCoster plain(problem.model, problem.workload, problem.cluster.groups[0].cluster);
  Configuration c;
  c.tp = 2;
  c.sequence_parallel = true;
  c.dp = 4;
  c.pp = 2;
  c.micro_batch = 2;
  c.zero = 1;
  const MixedFigures figures =
      mixed.Figures({{{{2, 4, 2}}, 1, Recompute::kNone}, {{0, 4}, {0, 4}}});
  const StepCost cost = plain.Cost(c);
  EXPECT_NEAR(figures.seconds / cost.time.seconds, 1, 0.05);
  ASSERT_EQ(figures.memory.size(), cost.memory.size());
  for (size_t i = 0; i < cost.memory.size(); ++i) {
    EXPECT_EQ(figures.memory[i].total(), cost.memory[i].total());
  }
}

TEST(MixedCostsTest, ProfilesReplaceTimes) {
  MixedProblem problem;
  problem.model = DenseModel(8, 8, 2);
  problem.workload = {.sequence = 512, .global_batch = 2};
  problem.cluster = *ParseMixedCluster("2x1xa100-40g");
  problem.profile = *LayerProfile::Parse(
      "gpu,tp,layer_id,forward_seconds\na100,1,0,1\na100,1,1,10\na100,1,2,20\na100,1,3,5\n", "p",
      {"m"});
  ASSERT_TRUE(CheckMixedProblem(problem).ok());
  MixedCoster coster(problem);
  const MixedFigures figures =
      coster.Figures({{{{1, 1, 1}}, 0, Recompute::kNone}, {{0, 1}, {0, 1}}});
  EXPECT_DOUBLE_EQ(figures.stages[0].forward, 11);
  EXPECT_DOUBLE_EQ(figures.stages[0].backward, 22);
  EXPECT_DOUBLE_EQ(figures.stages[1].forward, 25);
  const MixedFigures again = coster.Figures({{{{1, 1, 1}}, 0, Recompute::kFull}, {{0, 1}, {0, 1}}});
  EXPECT_DOUBLE_EQ(again.stages[0].backward, 22 + 10);
}

TEST(MixedCostsTest, Errors) {
  MixedProblem problem;
  problem.model = DenseModel(8, 8, 2);
  problem.workload = {.sequence = 512, .global_batch = 2};
  problem.cluster = *ParseMixedCluster("2x1xa100-40g");
  const auto error = [&] { return std::string(CheckMixedProblem(problem).message()); };
  EXPECT_EQ(error(), "");
  problem.fixes.cp = 2;
  EXPECT_THAT(error(), HasSubstr("--fix: cp is not searched over groups of nodes"));
  problem.fixes.cp.reset();
  problem.profile =
      *LayerProfile::Parse("gpu,tp,layer_id,forward_seconds\na100,1,0,1\n", "p", {"m"});
  EXPECT_THAT(error(), HasSubstr("found 1 entries, but small has 2 layers"));
  problem.profile = *LayerProfile::Parse(
      "gpu,tp,layer_id,forward_seconds\na10,1,0,1\na10,1,1,1\na10,1,2,1\na10,1,3,1\n", "p", {"m"});
  EXPECT_THAT(error(), HasSubstr("nothing is measured on a100-40g"));
}

}  // namespace
}  // namespace meshwright::transformer
