// The heuristics: whatever they return must be what they say it is.
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/compile.h"
#include "meshwright/solve/forest_descent.h"
#include "meshwright/solve/local_state.h"
#include "meshwright/solve/neighbourhood_search.h"
#include "meshwright/solve/repair.h"
#include "tests/solve/model_brute_force.h"
#include "tests/solve/planning_problem.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {
namespace {

Choice RandomChoice(const Model& model, RandomSource* random) {
  Choice choice;
  for (int32_t v = 0; v < model.size(); ++v)
    choice.push_back(static_cast<int32_t>(random->Below(model.strategies(v))));
  return choice;
}

TEST(LocalStateTest, KeepsCostAndRoomUpToDate) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomShape shape;
    shape.forbidden_node = shape.forbidden_entry = shape.functional_edge = 0;
    const Model model = Compile(RandomProblem(seed, shape)).model;
    RandomSource random(seed);
    const Neighbourhoods near(model);
    LocalState state(model, near, RandomChoice(model, &random));
    for (int step = 0; step < 20; ++step) {
      const auto v = static_cast<int32_t>(random.Below(model.size()));
      const auto s = static_cast<int32_t>(random.Below(model.strategies(v)));
      state.Set(v, s);
      EXPECT_EQ(state.choice()[v], s);
      EXPECT_TRUE(state.cost() == ModelCost(model, state.choice()));
      const std::vector<int64_t> usage = RowUsage(model, state.choice());
      for (int32_t r = 0; r < model.rows(); ++r)
        EXPECT_EQ(state.slack()[r], model.capacity[r] - usage[r]);
      EXPECT_EQ(state.Feasible(), Fits(model, state.choice()));
    }
  }
}

TEST(ForestDescentTest, NeverMakesItWorseAndSolvesTreesInOneMove) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomShape shape{.max_nodes = 8, .max_strategies = 3, .max_edges = 12};
    shape.forbidden_node = shape.forbidden_entry = shape.functional_edge = 0;
    shape.limited = 0;
    const Model model = Compile(RandomProblem(seed, shape)).model;
    RandomSource random(seed);
    const Neighbourhoods near(model);
    ForestDescent descent(model, near, seed);
    Choice choice = RandomChoice(model, &random);
    Int128 cost = ModelCost(model, choice);
    for (int move = 0; move < 10; ++move) {
      descent.Move(&choice);
      EXPECT_TRUE(ModelCost(model, choice) <= cost);
      cost = ModelCost(model, choice);
    }
    if (model.edges.empty()) {
      EXPECT_TRUE(cost == CheapestCost(model));
    }
  }
}

TEST(RepairTest, WhatItReturnsIsFeasible) {
  int repaired = 0, feasible = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Compiled compiled = Compile(RandomProblem(seed));
    if (compiled.infeasible_time >= 0 || CheapestCost(compiled.model) == kInfCost) continue;
    ++feasible;
    RandomSource random(seed);
    const Neighbourhoods near(compiled.model);
    const Choice choice =
        Repair(compiled.model, near, RandomChoice(compiled.model, &random), 100, nullptr);
    if (choice.empty()) continue;
    ++repaired;
    EXPECT_TRUE(Fits(compiled.model, choice));
    EXPECT_TRUE(ModelCost(compiled.model, choice) < kInfCost);
  }
  EXPECT_GT(repaired, feasible * 8 / 10);
}

TEST(NeighbourhoodSearchTest, ImprovesAndDoesNotDependOnThreads) {
  Problem problem = PlanningProblem({.layers = 6, .ops = 10, .strategies = 8, .seed = 3});
  // Everything replicated takes this much; half of it makes memory bind.
  const Choice replicated(problem.nodes.size(), 0);
  problem.usage_limit = static_cast<int64_t>(Evaluate(problem, replicated).peak / 2);
  const Model model = Compile(problem).model;
  const Neighbourhoods near(model);
  const Choice start = Repair(model, near, replicated, 100, nullptr);
  ASSERT_FALSE(start.empty());
  std::optional<Choice> single;
  for (int threads : {1, 2, 3}) {
    NeighbourhoodSearch search(model, start,
                               {.seed = 5, .threads = threads, .multipliers = {}, .stop = nullptr});
    for (int round = 0; round < 6; ++round) {
      const Int128 before = search.cost();
      search.Round();
      EXPECT_TRUE(search.cost() <= before);
      EXPECT_TRUE(search.cost() == ModelCost(model, search.choice()));
      EXPECT_TRUE(Fits(model, search.choice()));
    }
    EXPECT_TRUE(search.cost() < ModelCost(model, start));
    if (!single.has_value()) single = search.choice();
    EXPECT_EQ(search.choice(), *single) << threads << " threads";
  }
}

}  // namespace
}  // namespace meshwright::solve
