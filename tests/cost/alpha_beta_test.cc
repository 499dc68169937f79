#include "meshwright/cost/alpha_beta.h"

#include <gtest/gtest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/reference_texts.h"

namespace meshwright {
namespace {

using Flavour = AlphaBetaFlavour;

Mesh MeshOf(const std::vector<int64_t>& sizes) {
  int64_t devices = 1;
  for (int64_t size : sizes) devices *= size;
  return MakeMesh(sizes, *ParseCluster(std::to_string(devices) + "xgb200-nvl72"));
}

AlphaBetaCostModel Model(const std::vector<int64_t>& sizes, std::vector<double> alpha,
                         std::vector<double> beta, Flavour flavour = Flavour::kPlayground) {
  AlphaBetaOptions options;
  options.alpha = std::move(alpha);
  options.beta = std::move(beta);
  options.flavour = flavour;
  return AlphaBetaCostModel(MeshOf(sizes), options);
}

// "S0@0,S2@1": tensor dimension @ mesh axis; "R" replicated.
Sharding Spec(const std::string& text, size_t rank) {
  Sharding sharding = Sharding::Replicated(static_cast<int64_t>(rank));
  for (size_t i = 0; text != "R" && i < text.size(); i += 5) {
    sharding.dims[text[i + 1] - '0'].push_back(static_cast<AxisIndex>(text[i + 3] - '0'));
  }
  return sharding;
}

const Shape kSquare = Shape::Array(ElementType::kF32, {128, 128});  // 65536 bytes

// Values of peers/alpa/FORMULAS.md's table and of its definitions, worked out by hand.
TEST(AlphaBetaCostModel, CollectivesAreExact) {
  const auto playground = Model({4, 8}, {1, 1}, {1, 0.01});
  // 65536 x 3/4 = 49152; x 7/8 x 0.01 = 573.44, truncated.
  EXPECT_EQ(playground.CollectiveSeconds(CollectiveKind::kAllGather, {0}, 65536), 49153 + 0.1);
  EXPECT_EQ(playground.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 65536), 98305 + 0.01);
  EXPECT_EQ(playground.CollectiveSeconds(CollectiveKind::kReduceScatter, {0}, 65536),
            49153 + 0.001);
  EXPECT_EQ(playground.CollectiveSeconds(CollectiveKind::kAllToAll, {0}, 65536),
            18433 + 0.001);  // 1.5 x 12288
  EXPECT_EQ(playground.CollectiveSeconds(CollectiveKind::kAllGather, {1}, 65536), 574 + 0.1);
  // Rows 1, 3 and 9 of the acceptance table.
  EXPECT_NEAR(2 * playground.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 128 * 128 * 4),
              196610.02, 1e-9);
  EXPECT_NEAR(playground.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 128 * 1024 * 4),
              786433.01, 1e-9);
  EXPECT_NEAR(2 * playground.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 128 * 128 * 4 / 8) +
                  playground.CollectiveSeconds(CollectiveKind::kAllReduce, {1}, 1024 * 128 * 4 / 4),
              26872.03, 1e-9);

  const auto logical = Model({4, 8}, {1, 1}, {1, 0.01}, Flavour::kLogicalMesh);
  EXPECT_DOUBLE_EQ(logical.CollectiveSeconds(CollectiveKind::kAllGather, {1}, 65536),
                   1 + 573.44 + 0.1);
  EXPECT_DOUBLE_EQ(logical.CollectiveSeconds(CollectiveKind::kAllToAll, {0}, 65536),
                   1 + 2 * 12288 + 0.001);
  // Flattened: the fastest link.
  EXPECT_DOUBLE_EQ(logical.CollectiveSeconds(CollectiveKind::kAllGather, {0, 1}, 65536),
                   1 + 0.01 * 31 / 32 * 65536 + 0.1);

  const auto cpp = Model({4, 8}, {1, 1}, {1, 0.011}, Flavour::kAlpaCpp);
  EXPECT_EQ(cpp.CollectiveSeconds(CollectiveKind::kAllGather, {1}, 65536),
            632 + 0.1);  // 631.784 rounded
  EXPECT_EQ(cpp.CollectiveSeconds(CollectiveKind::kAllReduce, {0, 1}, 65536),
            cpp.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 65536) +
                cpp.CollectiveSeconds(CollectiveKind::kAllReduce, {1}, 65536));
  const auto xla = Model({4, 8}, {1, 2}, {1, 0.01}, Flavour::kXla);
  EXPECT_EQ(xla.CollectiveSeconds(CollectiveKind::kAllReduce, {0, 1}, 65536), 2 + 2 * 63488 + 0.01);
}

TEST(AlphaBetaCostModel, ConstantsReplaceFormulas) {
  AlphaBetaOptions options;
  options.force_all_gather = 1e10;
  const AlphaBetaCostModel model(MeshOf({4, 1}), options);
  EXPECT_EQ(model.CollectiveSeconds(CollectiveKind::kAllGather, {0}, 4), 1e10);
  EXPECT_EQ(model.Reshard(kSquare, Spec("S0@0", 2), Spec("R", 2)).seconds, 1e10);
  EXPECT_EQ(model.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 4), 7 + 0.01);
}

TEST(AlphaBetaCostModel, ComputationIsFreeAndReplicatedParametersCostTwo) {
  const auto model = Model({2, 2}, {1, 1}, {1, 0.1});
  EXPECT_FALSE(model.in_seconds());
  Work work;
  work.flops = 1e15;
  work.bytes = 1e12;
  EXPECT_EQ(model.ComputeSeconds(work), 0);
  EXPECT_EQ(model.ParameterSeconds(kSquare, Spec("R", 2)), 2);
  EXPECT_EQ(model.ParameterSeconds(kSquare, Spec("S1@0", 2)), 0);
  // floor(AR(1, 0) + AR(1, 1)) = floor(round(1 + 1) + round(1 + 0.1) + 0.02)
  EXPECT_EQ(
      Model({2, 2}, {1, 1}, {1, 0.1}, Flavour::kAlpaCpp).ParameterSeconds(kSquare, Spec("R", 2)),
      3);
}

TEST(AlphaBetaCostModel, Reshards) {
  const struct {
    Flavour flavour;
    std::vector<int64_t> mesh;
    const char *from, *to;
    double cost;
    bool possible = true;
  } kCases[] = {
      {Flavour::kPlayground, {2, 3}, "R", "S0@0", 0},
      {Flavour::kPlayground, {2, 3}, "S0@0", "R", 32769.1},
      {Flavour::kPlayground, {2, 3}, "S0@0", "S0@0,S1@1", 0},
      {Flavour::kPlayground, {2, 3}, "S0@0", "S1@0,S0@1", 32769.1},
      {Flavour::kPlayground, {2, 3}, "S0@1", "R", 43691.1},
      {Flavour::kPlayground, {2, 3}, "S0@0,S1@1", "R", 32769.1 + 43691.1},
      {Flavour::kAlpaCpp, {2, 4}, "R", "S0@0", 0},
      {Flavour::kAlpaCpp, {1, 4}, "S0@1", "S1@1", 24577 + 0.001},  // all-to-all: 3/16 x 65536 x 4/2
      {Flavour::kAlpaCpp, {2, 4}, "S0@1", "S1@1", kAlpaInfinity, false},
      {Flavour::kAlpaCpp, {2, 4}, "S0@0", "S0@1", kAlpaInfinity, false},
      {Flavour::kAlpaCpp,
       {2, 4},
       "S0@0,S1@1",
       "R",
       8193.1 + 49153.1},  // 8192 -> 16384 -> 65536 bytes
      {Flavour::kXla, {2, 4}, "S0@0,S1@1", "R", 8193.1 + 49153.1},
      {Flavour::kXla, {2, 2}, "S0@0", "S0@1", 32769},    // permute of 32768 bytes
      {Flavour::kXla, {2, 4}, "S0@0", "S0@1", 32769.1},  // replicate, slice
      {Flavour::kXla, {1, 4}, "S0@1", "S1@1", 24577.001},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.from) + " -> " + c.to + " flavour " +
                 std::to_string(static_cast<int>(c.flavour)));
    const Resharding result =
        Model(c.mesh, {1, 1}, {1, 1}, c.flavour).Reshard(kSquare, Spec(c.from, 2), Spec(c.to, 2));
    EXPECT_NEAR(result.seconds, c.cost, 1e-9);
    EXPECT_EQ(result.possible, c.possible);
  }
}

TEST(AlphaBetaCostModel, ReducesWhatADeviceHolds) {
  const auto model = Model({3, 4}, {1, 1}, {1, 0.01});
  Sharding partial = Spec("S0@0", 2);
  partial.unreduced = {1};
  partial.reduction = Reduction::kSum;
  // Row 11: B H 4 / m0 is no whole number on three devices, and is not padded.
  const Shape activations = Shape::Array(ElementType::kF32, {1024, 128});
  const Resharding reduced = model.Reshard(activations, partial, Spec("S0@0", 2));
  EXPECT_EQ(reduced.seconds, 2622 + 0.01);
  ASSERT_EQ(reduced.steps.size(), 1u);
  EXPECT_EQ(reduced.steps[0], (CollectiveStep{CollectiveKind::kAllReduce, {1}, 174763}));
  // Reduce, then slice for nothing; reduce, then gather.
  EXPECT_EQ(model.Reshard(activations, partial, Spec("S0@0,S1@1", 2)).seconds, 2622 + 0.01);
  EXPECT_EQ(model.Reshard(activations, partial, Spec("R", 2)).seconds,
            2622 + 0.01 + model.CollectiveSeconds(CollectiveKind::kAllGather, {0}, 1024 * 128 * 4));
  // Staying unreduced is free; becoming so is impossible, as is another reduction.
  EXPECT_EQ(model.Reshard(activations, partial, partial).seconds, 0);
  EXPECT_FALSE(model.Reshard(activations, Spec("S0@0", 2), partial).possible);
  Sharding maximum = partial;
  maximum.reduction = Reduction::kMax;
  EXPECT_FALSE(model.Reshard(activations, partial, maximum).possible);
}

// How many costs were compared.
struct PlaygroundCosts {
  int cases = 0, nonzero = 0;
};

PlaygroundCosts CheckPlaygroundCosts(const std::string& text) {
  PlaygroundCosts compared;
  for (const auto& entry : nlohmann::json::parse(text)) {
    SCOPED_TRACE(entry.dump());
    const auto devices = entry["mesh"].get<std::vector<std::vector<int>>>();
    const auto model =
        Model({static_cast<int64_t>(devices.size()), static_cast<int64_t>(devices[0].size())},
              entry["alpha"].get<std::vector<double>>(), entry["beta"].get<std::vector<double>>());
    const auto dims = entry["shape"].get<std::vector<int64_t>>();
    const Resharding result =
        model.Reshard(Shape::Array(ElementType::kF32, dims), Spec(entry["src"], dims.size()),
                      Spec(entry["dst"], dims.size()));
    EXPECT_DOUBLE_EQ(result.seconds, entry["cost"].get<double>());
    ++compared.cases;
    compared.nonzero += result.seconds > 0;
  }
  std::cout << compared.cases << " costs, " << compared.nonzero << " of them not 0\n";
  return compared;
}

TEST(AlphaBetaCostModel, ReproducesThePlaygroundsReshardingCosts) {
  for (const ReferenceText& costs :
       ReferenceTexts("cost/alpa_resharding_costs.json", "peers/alpa/resharding_costs.json")) {
    SCOPED_TRACE(costs.path);
    const PlaygroundCosts compared = CheckPlaygroundCosts(costs.text);
    EXPECT_EQ(compared.cases, costs.is_shared ? 654 : 61);
    EXPECT_GT(compared.nonzero, costs.is_shared ? 100 : 50);
  }
}

}  // namespace
}  // namespace meshwright
