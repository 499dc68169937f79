// The bounds and exact engines against brute force, one model at a time: they all see the same
// models.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/branch_and_bound.h"
#include "meshwright/solve/compile.h"
#include "meshwright/solve/dual_bound.h"
#include "meshwright/solve/eliminate.h"
#include "meshwright/solve/multiplier_annealing.h"
#include "meshwright/solve/reduce.h"
#include "meshwright/solve/subgradient_ascent.h"
#include "tests/solve/model_brute_force.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {
namespace {

std::optional<Model> RandomModel(uint64_t seed, const RandomShape& shape = {.max_nodes = 5}) {
  Compiled compiled = Compile(RandomProblem(seed, shape));
  if (compiled.infeasible_time >= 0) return std::nullopt;
  return std::move(compiled.model);
}

TEST(DualBoundTest, NeverExceedsTheOptimumWhateverThePrices) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModel(seed);
    if (!model.has_value()) continue;
    const Int128 optimum = CheapestCost(*model);
    DualBound bound(*model);
    RandomSource random(seed);
    for (int round = 0; round < 6; ++round) {
      bound.Pass();
      EXPECT_TRUE(bound.bound() <= optimum) << "round " << round;
      bound.Pass();
      EXPECT_TRUE(bound.bound() <= optimum) << "round " << round;
      std::vector<double> multipliers(model->rows());
      for (double& p : multipliers) p = static_cast<double>(random.Below(8)) / 4;
      bound.SetMultipliers(multipliers);
    }
    SubgradientAscent ascent(*model, &bound);
    for (int step = 0; step < 20; ++step) ascent.Step(optimum == kInfCost ? 100 : optimum);
    EXPECT_TRUE(ascent.best() <= optimum);
    if (HasFailure()) return;
  }
}

TEST(MultiplierAnnealingTest, NeverExceedsTheOptimumAndRestoresItsBest) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModel(seed);
    if (!model.has_value() || model->rows() == 0) continue;
    const Int128 optimum = CheapestCost(*model);
    DualBound bound(*model);
    MultiplierAnnealing annealing(*model, &bound);
    while (!annealing.Cold()) annealing.Step();
    EXPECT_TRUE(annealing.best() <= optimum);
    annealing.RestoreBest();
    for (int i = 0; i < 2; ++i) bound.Pass();
    EXPECT_TRUE(bound.bound() <= optimum);
    if (HasFailure()) return;
  }
}

// Nodes that choose between expensive and light: a spike that a few of them share, and a plateau of
// many rows that all of them share. Either alone is easy; the multipliers of both must come out
// right.
TEST(MultiplierAnnealingTest, PricesSpikesAndPlateaus) {
  Model model;
  RandomSource random(1);
  constexpr int kNodes = 60, kRows = 200;
  model.capacity.assign(kRows, 300);  // of 600 if all are heavy
  model.capacity[100] = 20'000;       // of 100,000
  for (int v = 0; v < kNodes; ++v) {
    ModelNode node{{0, 10 + random.Below(90)}, {}};
    if (v % 6 == 0) {
      node.segments = {{0, 100, {10, 0}}, {100, 101, {10'000, 0}}, {101, kRows, {10, 0}}};
    } else {
      node.segments = {{0, 100, {10, 0}}, {101, kRows, {10, 0}}};
    }
    model.nodes.push_back(std::move(node));
  }
  // Without edges the problem is a choice of which nodes stay heavy, and its relaxation is off by
  // less than one node a row.
  std::vector<int64_t> spike, plateau;
  DualBound bound(model);
  MultiplierAnnealing annealing(model, &bound);
  while (!annealing.Cold()) annealing.Step();
  annealing.RestoreBest();
  for (int i = 0; i < 2; ++i) bound.Pass();
  // What the most expensive nodes that may stay heavy save: 2 of the 10 at the spike, 30 of all.
  for (int v = 0; v < kNodes; ++v) (v % 6 == 0 ? spike : plateau).push_back(model.nodes[v].cost[1]);
  std::sort(spike.begin(), spike.end());
  std::sort(plateau.begin(), plateau.end());
  Int128 optimum = 0;
  for (size_t i = 0; i + 2 < spike.size(); ++i) optimum += spike[i];
  for (size_t i = 0; i + 28 < plateau.size(); ++i) optimum += plateau[i];
  EXPECT_TRUE(bound.bound() <= optimum);
  EXPECT_GE(static_cast<double>(bound.bound()), 0.97 * static_cast<double>(optimum));
}

TEST(ReducedTest, RowsLeaveTheirPricesToThoseThatImplyThem) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModel(seed);
    if (!model.has_value() || model->rows() == 0) continue;
    const Reduced reduced = Reduce(*model);
    if (reduced.infeasible) continue;
    std::vector<double> multipliers(model->rows());
    RandomSource random(seed);
    for (double& p : multipliers) p = static_cast<double>(random.Below(8)) / 4;
    const std::vector<double> projected = reduced.ProjectMultipliers(multipliers);
    ASSERT_EQ(static_cast<int32_t>(projected.size()), reduced.model.rows());
    double all = 0, kept = 0;
    for (double p : multipliers) all += p;
    for (double p : projected) kept += p;
    EXPECT_LE(kept, all);
    // The multiplier of a row that still stands is at least what it was.
    for (int32_t r = 0; r < model->rows(); ++r) {
      if (reduced.row_now[r] >= 0) EXPECT_GE(projected[reduced.row_now[r]], multipliers[r]);
    }
  }
}

TEST(DualBoundTest, IsExactOnTreesWithoutRows) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomSource random(seed);
    Model model;
    for (int v = 0; v < 6; ++v) {
      ModelNode node;
      for (int s = 0; s < 3; ++s) node.cost.push_back(random.Below(10));
      model.nodes.push_back(node);
    }
    for (int32_t v = 1; v < 6; ++v) {
      Matrix m{3, 3, {}};
      for (int i = 0; i < 9; ++i) m.cost.push_back(random.Below(10));
      model.edges.push_back(
          {static_cast<int32_t>(random.Below(v)), v, std::make_shared<const Matrix>(m)});
    }
    DualBound bound(model);
    for (int i = 0; i < 60; ++i) bound.Pass();
    EXPECT_TRUE(bound.bound() == CheapestCost(model));
  }
}

// No strategy of a feasible choice below `below` is removed.
void ExpectCheaperChoicesKept(const Model& model, const DualBound& bound, Int128 below) {
  const StrategyMask allowed = bound.AllowedBelow(below);
  ForEveryChoice(model, [&](const Choice& choice) {
    if (ModelCost(model, choice) >= below || !Fits(model, choice)) return;
    for (int32_t v = 0; v < model.size(); ++v) EXPECT_TRUE(allowed[v][choice[v]]);
  });
}

TEST(DualBoundTest, KeepsEveryStrategyOfCheaperChoices) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModel(seed);
    if (!model.has_value()) continue;
    DualBound bound(*model);
    std::vector<double> multipliers(model->rows(), 0.5 * static_cast<double>(seed % 3));
    bound.SetMultipliers(multipliers);
    for (int i = 0; i < 5; ++i) bound.Pass();
    const Int128 below = CheapestCost(*model) + 2;
    if (below > kInfCost) continue;
    ExpectCheaperChoicesKept(*model, bound, below);
    if (HasFailure()) return;
  }
}

// Costs as planning has them: some of collectives, the others next to nothing beside them. What a
// pass pushes from a node to its neighbours must not be counted at both ends.
TEST(DualBoundTest, KeepsEveryStrategyWithCostsOfTwoScales) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::optional<Model> model = RandomModel(seed);
    if (!model.has_value()) continue;
    const auto widen = [](std::vector<int64_t> cost) {
      for (int64_t& c : cost) c = IsInf(c) ? c : (c % 2 != 0 ? 38'000'000 : 0) + c;
      return cost;
    };
    for (ModelNode& node : model->nodes) node.cost = widen(node.cost);
    for (ModelEdge& edge : model->edges) {
      edge.matrix = std::make_shared<const Matrix>(
          Matrix{edge.matrix->rows, edge.matrix->cols, widen(edge.matrix->cost)});
    }
    DualBound bound(*model);
    for (int passes = 1; passes <= 4; ++passes) {
      bound.Pass();
      const Int128 below = CheapestCost(*model) + 1;
      if (below > kInfCost) continue;
      ExpectCheaperChoicesKept(*model, bound, below);
      if (HasFailure()) return;
    }
  }
}

// Choices cost the same, and the bound is there at once.
TEST(DualBoundTest, ReparametrisedModelsStartAtTheBound) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModel(seed);
    if (!model.has_value()) continue;
    DualBound bound(*model);
    RandomSource random(seed);
    std::vector<double> multipliers(model->rows());
    for (double& p : multipliers) p = static_cast<double>(random.Below(8)) / 4;
    bound.SetMultipliers(multipliers);
    for (int i = 0; i < 30; ++i) bound.Pass();
    const Model moved = bound.Reparametrised(*model);
    ForEveryChoice(*model, [&](const Choice& choice) {
      EXPECT_TRUE(ModelCost(moved, choice) == ModelCost(*model, choice));
    });
    DualBound again(moved);
    again.SetMultipliers(multipliers);
    again.Pass();
    // What is lost to rounding comes back with passes.
    const auto lost = static_cast<Int128>(model->nodes.size() + 2 * model->edges.size() + 1);
    EXPECT_TRUE(again.bound() >= bound.bound() - lost);
    if (HasFailure()) return;
  }
}

TEST(DualBoundTest, FittingDecodeFits) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    // Without usage somewhere in every node there is always something that fits.
    std::optional<Model> model = RandomModel(seed);
    if (!model.has_value()) continue;
    for (ModelNode& node : model->nodes) {
      for (Segment& g : node.segments) g.amount[0] = 0;
    }
    DualBound bound(*model);
    bound.Pass();
    bound.Pass();
    EXPECT_TRUE(Fits(*model, bound.DecodeFitting()));
  }
}

TEST(EliminateTest, FindsTheOptimum) {
  RandomShape shape{.max_nodes = 7, .max_strategies = 3, .max_edges = 18};
  shape.limited = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModel(seed, shape);
    ASSERT_TRUE(model.has_value());
    const Int128 optimum = CheapestCost(*model);
    const std::optional<Choice> choice = EliminateExactly(*model, 1 << 20);
    ASSERT_TRUE(choice.has_value());
    if (optimum == kInfCost) {
      EXPECT_TRUE(choice->empty());
    } else {
      ASSERT_FALSE(choice->empty());
      EXPECT_TRUE(ModelCost(*model, *choice) == optimum);
    }
  }
}

TEST(EliminateTest, RefusesTablesBeyondTheLimit) {
  Model model;
  const auto matrix = std::make_shared<const Matrix>(Matrix{4, 4, std::vector<int64_t>(16, 1)});
  for (int v = 0; v < 6; ++v) model.nodes.push_back({{0, 1, 2, 3}, {}});
  for (int32_t a = 0; a < 6; ++a) {
    for (int32_t b = a + 1; b < 6; ++b) model.edges.push_back({a, b, matrix});
  }
  EXPECT_FALSE(EliminateExactly(model, 4095).has_value());
  EXPECT_TRUE(EliminateExactly(model, 4096 + 1024 + 256 + 64 + 16 + 4).has_value());
}

TEST(BranchAndBoundTest, FindsTheOptimumOrProvesThereIsNone) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModel(seed);
    if (!model.has_value()) continue;
    const Int128 optimum = CheapestCost(*model);
    BranchOptions options;
    options.max_steps = 100'000'000;
    options.max_entries =
        seed % 2 == 0 ? 0 : 1 << 16;  // with and without elimination at the leaves
    const BranchResult result = BranchAndBound(*model, options);
    EXPECT_TRUE(result.complete);
    EXPECT_TRUE(result.cost == optimum);
    if (!result.choice.empty()) {
      EXPECT_TRUE(ModelCost(*model, result.choice) == optimum);
      EXPECT_TRUE(Fits(*model, result.choice));
    }
    // With the optimum as the limit there is nothing to find.
    options.upper = optimum;
    const BranchResult nothing = BranchAndBound(*model, options);
    EXPECT_TRUE(nothing.complete);
    EXPECT_TRUE(nothing.choice.empty());
    if (HasFailure()) return;
  }
}

TEST(BranchAndBoundTest, StopsWhenItsStepsAreSpent) {
  RandomShape shape{.max_nodes = 40, .max_strategies = 6, .max_edges = 200, .max_cost = 1000};
  shape.forbidden_node = shape.forbidden_entry = shape.functional_edge = shape.separable_edge = 0;
  const std::optional<Model> model = RandomModel(5, shape);
  ASSERT_TRUE(model.has_value());
  BranchOptions options;
  options.max_steps = 10'000;
  const BranchResult result = BranchAndBound(*model, options);
  EXPECT_FALSE(result.complete);
  EXPECT_LT(result.steps, 10'000'000);
}

}  // namespace
}  // namespace meshwright::solve
