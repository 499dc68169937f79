#include "meshwright/solve/reduce.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/compile.h"
#include "tests/solve/model_brute_force.h"
#include "tests/solve/planning_problem.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {
namespace {

MatrixRef MakeMatrix(int32_t rows, int32_t cols, std::vector<int64_t> cost) {
  return std::make_shared<const Matrix>(Matrix{rows, cols, std::move(cost)});
}

// The optimum survives, every choice of what is left comes back as feasible and with the same cost,
// and projecting any feasible choice down and up again does not make it worse.
void ExpectExact(const Model& model) {
  const Reduced reduced = Reduce(model);
  const Int128 optimum = CheapestCost(model);
  if (reduced.infeasible) {
    EXPECT_TRUE(optimum == kInfCost);
    return;
  }
  EXPECT_TRUE(CheapestCost(reduced.model) == optimum);
  ForEveryChoice(reduced.model, [&](const Choice& choice) {
    const Int128 cost = ModelCost(reduced.model, choice);
    const Choice full = reduced.Expand(choice);
    EXPECT_TRUE(ModelCost(model, full) == cost);
    if (cost < kInfCost && Fits(reduced.model, choice)) {
      EXPECT_TRUE(Fits(model, full));
    }
  });
  ForEveryChoice(model, [&](const Choice& choice) {
    const Int128 cost = ModelCost(model, choice);
    if (cost == kInfCost || !Fits(model, choice)) return;
    const Choice projected = reduced.Project(choice);
    EXPECT_TRUE(ModelCost(reduced.model, projected) <= cost);
    EXPECT_TRUE(Fits(reduced.model, projected));
  });
}

TEST(ReduceTest, IsExactOnRandomProblems) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Compiled compiled = Compile(RandomProblem(seed, {.max_nodes = 5}));
    if (compiled.infeasible_time >= 0) continue;
    ExpectExact(compiled.model);
    if (HasFailure()) return;
  }
}

// Circles of four with a chord through the middle: nothing that low degrees remove.
Model Wheels(int count, bool with_usage) {
  Model model;
  RandomSource random(7);
  std::vector<MatrixRef> matrices;
  for (int i = 0; i < 6; ++i) {
    std::vector<int64_t> cost;
    for (int j = 0; j < 9; ++j) cost.push_back(random.Below(20));
    matrices.push_back(MakeMatrix(3, 3, cost));
  }
  for (int wheel = 0; wheel < count; ++wheel) {
    const int32_t first = model.size();
    for (int v = 0; v < 4; ++v) model.nodes.push_back({{v, 1, 2}, {}});
    int edge = 0;
    for (int32_t a = 0; a < 4; ++a) {
      for (int32_t b = a + 1; b < 4; ++b) {
        model.edges.push_back({first + a, first + b, matrices[edge++]});
      }
    }
  }
  if (with_usage) {
    model.capacity = {3};
    for (int32_t v = 0; v < 4; ++v) model.nodes[v].segments = {{0, 1, {0, 1, 2}}};
  }
  return model;
}

TEST(ReduceTest, ComponentsWithoutUsageAreSolvedApart) {
  const Int128 one = CheapestCost(Wheels(1, false)), limited = CheapestCost(Wheels(1, true));
  const Reduced reduced = Reduce(Wheels(50, true));
  ASSERT_FALSE(reduced.infeasible);
  EXPECT_LE(reduced.model.size(), 4);
  EXPECT_TRUE(CheapestCost(reduced.model) == limited + 49 * one);
  ExpectExact(Wheels(2, true));
  ExpectExact(Wheels(2, false));
}

TEST(ReduceTest, ChainsAndTreesVanish) {
  Model model;
  for (int v = 0; v < 50; ++v) model.nodes.push_back({{v % 3, 1, 2}, {}});
  for (int32_t v = 1; v < 50; ++v) {
    model.edges.push_back(
        {v, v % 2 == 0 ? v / 2 : v - 1, MakeMatrix(3, 3, {0, 5, 1, 4, 0, 2, 2, 3, 0})});
  }
  const Reduced reduced = Reduce(model);
  EXPECT_EQ(reduced.model.size(), 0);
  EXPECT_TRUE(ModelCost(model, reduced.Expand({})) == reduced.model.constant);
}

TEST(ReduceTest, FollowersMergeEvenWithUsage) {
  // b is a permutation of a: one decision, whose usages add up.
  Model model;
  model.nodes = {{{0, 9}, {Segment{0, 1, {5, 0}}}},
                 {{9, 0}, {Segment{0, 1, {0, 5}}}},
                 {{0, 4}, {Segment{0, 1, {5, 0}}}}};
  model.edges = {{0, 1, MakeMatrix(2, 2, {kInf, 0, 0, kInf})}};
  model.capacity = {10};
  const Reduced reduced = Reduce(model);
  EXPECT_EQ(reduced.model.size(), 2);
  EXPECT_EQ(reduced.model.rows(), 1);
  ExpectExact(model);
}

TEST(ReduceTest, SlackRowsAndSharedUsageGo) {
  Model model;
  model.nodes = {{{0, 1}, {Segment{0, 2, {7, 6}}}}, {{0, 1}, {Segment{1, 3, {3, 2}}}}};
  model.capacity = {7, 10, 3};
  const Reduced reduced = Reduce(model);
  EXPECT_FALSE(reduced.infeasible);
  EXPECT_EQ(reduced.model.rows(), 0);
  EXPECT_EQ(reduced.model.size(), 0);
}

TEST(ReduceTest, SeesThatSmallestUsagesDoNotFit) {
  Model model;
  model.nodes = {{{0, 1}, {Segment{0, 1, {7, 6}}}}, {{0, 1}, {Segment{0, 1, {5, 5}}}}};
  model.capacity = {10};
  EXPECT_TRUE(Reduce(model).infeasible);
}

TEST(ReduceTest, ForbiddenEntriesPropagateAlongAChain) {
  // Equality edges with a cut that forbids everything.
  Model model;
  for (int v = 0; v < 4; ++v) model.nodes.push_back({{0, 0}, {}});
  for (int32_t v = 0; v < 3; ++v)
    model.edges.push_back({v, v + 1, MakeMatrix(2, 2, {0, kInf, kInf, 0})});
  model.edges.push_back({0, 3, MakeMatrix(2, 2, {kInf, 0, 0, kInf})});
  EXPECT_TRUE(Reduce(model).infeasible);
}

TEST(ReduceTest, MaskRemovesStrategies) {
  Model model;
  model.nodes = {{{0, 3, 5}, {}}};
  const StrategyMask mask = {{false, false, true}};
  const Reduced reduced = Reduce(model, {}, &mask);
  EXPECT_TRUE(reduced.model.constant == 5);
  EXPECT_EQ(reduced.Expand({}), Choice{2});
}

TEST(ReduceTest, WorkDoesNotGrowWithDepthOfEqualLayers) {
  // Without a limit, equal layers reduce to the same few matrices.
  for (int layers : {8, 16, 32}) {
    SCOPED_TRACE(absl::StrCat("layers ", layers));
    Compiled compiled =
        Compile(PlanningProblem({.layers = layers, .ops = 12, .strategies = 12, .seed = 7}));
    const Reduced reduced = Reduce(std::move(compiled.model));
    EXPECT_LT(reduced.model.size(), 4 * layers + 8);
    for (const ModelNode& node : reduced.model.nodes) EXPECT_TRUE(node.segments.empty());
  }
}

}  // namespace
}  // namespace meshwright::solve
