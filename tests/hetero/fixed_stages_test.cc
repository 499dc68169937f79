// Plans whose stages the user fixed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "meshwright/hetero/search.h"
#include "tests/hetero/samples.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer::hetero {
namespace {

using ::testing::HasSubstr;

template <typename Visit>
void ForEachPlanOfAll(const Problem& problem, const Visit& visit) {
  Coster coster(problem);
  for (const Family& family : AllFamilies(problem, FamilySpace(problem, coster))) {
    const Costs costs = coster.CostsOf(family);
    std::vector<Stage> reversed;
    std::vector<int64_t> used(costs.stage_classes());
    ForEachPlan(costs, reversed, used, costs.layers(), [&](const std::vector<Stage>& stages) {
      std::vector<int64_t> count(costs.stage_classes());
      for (const Stage& stage : stages) ++count[stage.stage_class];
      if (std::find(count.begin(), count.end(), 0) == count.end()) visit(family, costs, stages);
    });
  }
}

// The layers and the groups of any plan, fixed: the search finds the best of all that have them.
TEST(HeteroFixedStages, SameAsExhaustiveSearch) {
  int compared = 0;
  for (uint64_t seed = 0; compared < RandomCases(30); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Problem problem = RandomProblem(random, 3, 4);
    std::vector<int64_t> layers;
    std::vector<size_t> groups;
    int64_t seen = 0;
    ForEachPlanOfAll(problem, [&](const Family& family, const Costs&, const auto& stages) {
      if (random() % static_cast<uint64_t>(++seen) != 0) return;
      layers.clear();
      groups.clear();
      for (const Stage& stage : stages) {
        layers.push_back(stage.layers);
        groups.push_back(family.Group(stage.stage_class));
      }
    });
    if (layers.size() < 2) continue;
    if (seed % 3 != 0) problem.fixes.stage_layers = layers;
    if (seed % 3 != 1) {
      for (const size_t group : groups)
        problem.fixes.stage_groups.push_back(problem.cluster.groups[group].name);
    }
    ASSERT_EQ(ResolveStages(&problem), absl::OkStatus());
    double least = std::numeric_limits<double>::infinity();
    ForEachPlanOfAll(problem, [&](const Family& family, const Costs& costs, const auto& stages) {
      if (stages.size() != layers.size()) return;
      for (size_t i = 0; i < stages.size(); ++i) {
        if (seed % 3 != 0 && stages[i].layers != layers[i]) return;
        if (seed % 3 != 1 && family.Group(stages[i].stage_class) != groups[i]) return;
      }
      least = std::min(least, Seconds(costs, stages));
    });
    const auto found = SearchPlans(problem, {});
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->front.size(), 1u);
    EXPECT_TRUE(found->proven);
    EXPECT_NEAR(found->front[0].seconds, least, 1e-9 * least);
    const std::vector<Stage>& stages = found->front[0].plan.stages;
    ASSERT_EQ(stages.size(), layers.size());
    for (size_t i = 0; i < stages.size(); ++i) {
      EXPECT_TRUE(problem.TakesLayers(i, stages[i].layers));
      EXPECT_TRUE(problem.TakesGroup(i, found->front[0].plan.family.Group(stages[i].stage_class)));
    }
    ++compared;
  }
}

TEST(HeteroFixedStages, Errors) {
  Problem problem;
  problem.model = DenseModel(8, 8, 6);
  problem.workload = {.sequence = 512, .global_batch = 8};
  problem.cluster = *ParseMixedCluster("2x4xa100-40g+1x4xv100");
  const auto error = [&](const std::string& fixes) {
    problem.fixes = *ParseFixes({fixes});
    problem.stage_groups.clear();
    return std::string(ResolveStages(&problem).message());
  };
  EXPECT_EQ(error("layers=2-3-1,order=a100-40g+a100-40g+v100"), "");
  EXPECT_EQ(problem.fixes.pp, 3);
  EXPECT_EQ(problem.stage_groups, (std::vector<size_t>{0, 0, 1}));
  EXPECT_EQ(error("layers=0-3-3-0"), "");
  EXPECT_THAT(error("layers=3-0-3"), HasSubstr("layers=3-0-3 has a stage without a layer that is "
                                               "neither the first nor the last"));
  EXPECT_THAT(error("layers=2-3-2"), HasSubstr("layers=2-3-2 is 7 layers, but small has 6"));
  EXPECT_THAT(error("order=v100+t4"),
              HasSubstr("order: found \"t4\", expected groups of the cluster: a100-40g, v100"));
  EXPECT_THAT(error("layers=2-4,order=v100"), HasSubstr("order is of 1 stage, but there are 2"));
  EXPECT_THAT(error("layers=2-4,pp=3"), HasSubstr("layers is of 2 stages, but there are 3 by pp"));
  EXPECT_THAT(std::string(ParseFixes({"layers=2-x"}).status().message()),
              HasSubstr("layers: found \"2-x\", expected the layers of each stage"));
  EXPECT_THAT(std::string(ParseFixes({"order=a++b"}).status().message()),
              HasSubstr("order: found \"a++b\", expected the group of each stage"));
}

}  // namespace
}  // namespace meshwright::transformer::hetero
