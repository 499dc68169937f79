#include "meshwright/solve/exact_relaxation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/compile.h"
#include "meshwright/solve/proximal_bundle.h"
#include "tests/solve/model_brute_force.h"
#include "tests/solve/random_problem.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

OptimiseOptions Options() {
  OptimiseOptions options;
  options.max_table_entries = 1 << 20;
  options.stop = [] { return false; };
  return options;
}

constexpr int64_t kSteps = int64_t{1} << 40;
constexpr double kPrecision = 1e-12;

std::optional<Model> RandomModelWithRows(uint64_t seed) {
  Compiled compiled = Compile(RandomProblem(seed, {.max_nodes = 5}));
  if (compiled.infeasible_time >= 0 || compiled.model.rows() == 0) return std::nullopt;
  return std::move(compiled.model);
}

// Cost of `choice` and what its usage beyond the capacities costs.
double RelaxedCost(const Model& model, const Choice& choice,
                   const std::vector<double>& multipliers) {
  auto cost = static_cast<double>(ModelCost(model, choice));
  const std::vector<int64_t> usage = RowUsage(model, choice);
  for (size_t r = 0; r < multipliers.size(); ++r)
    cost += multipliers[r] * static_cast<double>(usage[r] - model.capacity[r]);
  return cost;
}

std::vector<double> RandomPrices(const Model& model, RandomSource* random) {
  std::vector<double> multipliers(model.rows());
  for (double& p : multipliers) p = static_cast<double>(random->Below(9)) / 4;
  return multipliers;
}

TEST(ExactRelaxationTest, IsTheCheapestRelaxedChoice) {
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModelWithRows(seed);
    if (!model.has_value()) continue;
    RandomSource random(seed);
    const std::vector<double> multipliers = RandomPrices(*model, &random);
    std::optional<double> least;
    ForEveryChoice(*model, [&](const Choice& choice) {
      if (ModelCost(*model, choice) >= kInfCost) return;
      const double cost = RelaxedCost(*model, choice, multipliers);
      least = std::min(cost, least.value_or(cost));
    });
    const auto minimum = ExactRelaxation(*model, Options()).At(multipliers, kPrecision, kSteps);
    ASSERT_EQ(minimum.complete, least.has_value());
    if (!minimum.complete) continue;
    EXPECT_NEAR(minimum.value, *least, 1e-6);
    EXPECT_NEAR(RelaxedCost(*model, minimum.choice, multipliers), *least, 1e-6);
    EXPECT_TRUE(minimum.bound <= CheapestCost(*model));
    EXPECT_GE(static_cast<double>(minimum.bound), *least - 1e-6);
    if (HasFailure()) return;
  }
}

// A dense graph whose edges want all nodes to differ; no elimination order has small tables.
Model Clique(int32_t nodes) {
  Model model;
  model.capacity = {10};
  RandomSource random(1);
  for (int32_t v = 0; v < nodes; ++v)
    model.nodes.push_back({{0, 0, 0, 0, 0}, {{0, 1, {5, 4, 3, 2, 1}}}});
  for (int32_t a = 0; a < nodes; ++a) {
    for (int32_t b = a + 1; b < nodes; ++b) {
      Matrix matrix{5, 5, {}};
      for (int i = 0; i < 25; ++i) matrix.cost.push_back(random.Below(1000));
      model.edges.push_back({a, b, std::make_shared<const Matrix>(std::move(matrix))});
    }
  }
  return model;
}

TEST(ExactRelaxationTest, BoundsWhereStepsEnd) {
  const Model model = Clique(40);
  const ExactRelaxation::Minimum minimum =
      ExactRelaxation(model, Options()).At({0.5}, kPrecision, 100'000);
  EXPECT_FALSE(minimum.complete);
  ASSERT_FALSE(minimum.choice.empty());
  EXPECT_LT(static_cast<double>(minimum.bound), RelaxedCost(model, minimum.choice, {0.5}));
}

TEST(ExactRelaxationTest, RefusesPricesThatSumsCannotHold) {
  Model model;
  model.capacity = {int64_t{1} << 40};
  model.nodes.push_back({{0, 1}, {{0, 1, {int64_t{1} << 40, 0}}}});
  const auto minimum = ExactRelaxation(model, Options()).At({1e30}, kPrecision, kSteps);
  EXPECT_FALSE(minimum.complete);
  EXPECT_TRUE(minimum.choice.empty());
}

double Raise(const Model& model, const ExactRelaxation& relaxation, int rounds,
             ProximalBundle* bundle) {
  std::vector<double> multipliers(model.rows(), 0.0);
  for (int i = 0; i < rounds; ++i) {
    const auto minimum = relaxation.At(multipliers, kPrecision, kSteps);
    bundle->Add(multipliers, minimum.value, minimum.choice);
    multipliers = bundle->Next(1e-3);
  }
  return bundle->best();
}

TEST(ProximalBundleTest, NoPricesGiveMore) {
  for (uint64_t seed = 1; seed <= RandomCases(300); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::optional<Model> model = RandomModelWithRows(seed);
    if (!model.has_value()) continue;
    const Int128 optimum = CheapestCost(*model);
    if (optimum == kInfCost) continue;  // then multipliers may rise for ever
    const ExactRelaxation relaxation(*model, Options());
    ProximalBundle bundle(*model, static_cast<double>(optimum));
    const double best = Raise(*model, relaxation, 100, &bundle);
    EXPECT_LE(best, static_cast<double>(optimum) + 1e-6);
    RandomSource random(seed);
    for (int i = 0; i < 100; ++i)
      EXPECT_GE(best,
                relaxation.At(RandomPrices(*model, &random), kPrecision, kSteps).value - 1e-3);
    EXPECT_NEAR(relaxation.At(bundle.best_multipliers(), kPrecision, kSteps).value, best, 1e-6);
    if (HasFailure()) return;
  }
}

// Many equal parts share a row: the planes meet between minimisers that use too much and such that
// use too little, and the multipliers leave nothing to be gained.
TEST(ProximalBundleTest, WeighsMinimisersOnBothSidesOfARow) {
  Model model;
  constexpr int kParts = 40;
  model.capacity = {kParts * 6};
  const auto apart = std::make_shared<const Matrix>(Matrix{3, 3, {9, 0, 1, 0, 9, 4, 1, 4, 9}});
  for (int32_t part = 0; part < kParts; ++part) {
    for (int i = 0; i < 3; ++i) model.nodes.push_back({{0, 2, 7}, {{0, 1, {5, 3, 0}}}});
    for (int32_t i = 0; i < 3; ++i)
      model.edges.push_back({3 * part + i, 3 * part + (i + 1) % 3, apart});
  }
  const ExactRelaxation relaxation(model, Options());
  ProximalBundle bundle(model, 1000);
  Raise(model, relaxation, 40, &bundle);
  EXPECT_LT(bundle.expected(), 1e-3);
  int64_t least = model.capacity[0] * 2, most = 0;
  for (const Choice& choice : bundle.Weighted()) {
    least = std::min(least, RowUsage(model, choice)[0]);
    most = std::max(most, RowUsage(model, choice)[0]);
  }
  EXPECT_LE(least, model.capacity[0]);
  EXPECT_GE(most, model.capacity[0]);
}

}  // namespace
}  // namespace meshwright::solve
