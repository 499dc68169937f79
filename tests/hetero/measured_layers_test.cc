// What was measured and what the model says, in one plan.

#include "meshwright/hetero/measured_layers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hetero/costs.h"
#include "tests/hetero/samples.h"

namespace meshwright::transformer::hetero {
namespace {

Problem TwoKinds() {
  Problem problem;
  problem.model = DenseModel(8, 8, 4);
  problem.workload = {.sequence = 512, .global_batch = 8};
  problem.cluster = *ParseMixedCluster("2x4xa100-40g+2x4xv100");
  return problem;
}

const Family kFamily = {{{2, 2, 1}, {2, 2, 1}}, 0, Recompute::kNone};
const std::vector<Stage> kStages = {{0, 2}, {1, 2}};

// The model's times of a stage's passes as a profile: entries of one device and degree, `times` as
// long.
std::string ModelAsProfile(const Problem& problem, const std::string& gpu, int64_t tp,
                           double times) {
  const Family family = {{{tp, 4 / tp, 1}, {tp, 4 / tp, 1}}, 0, Recompute::kNone};
  const size_t group = gpu == "v100" ? 1 : 0;
  Problem model = problem;
  model.profile.reset();
  Coster coster(model);
  const Costs costs = coster.CostsOf(family);
  std::string text;
  const int64_t layers = model.model.layers();
  for (int64_t entry = 0; entry < layers + 2; ++entry) {
    StageContent content = {entry - 1, 1, false, false};
    if (entry == 0) content = {0, 0, true, false};
    if (entry == layers + 1) content = {layers, 0, false, true};
    const Cell& cell = costs.CellAt(group, content);
    absl::StrAppend(&text, gpu, ",", tp, ",", entry, ",", times * cell.forward, ",",
                    times * cell.backward, "\n");
  }
  return text;
}

constexpr char kHeader[] = "gpu,tp,layer_id,forward_seconds,backward_seconds\n";

LayerProfile Read(const std::string& rows) {
  return *LayerProfile::Parse(absl::StrCat(kHeader, rows), "p", {"m"});
}

// Devices that were not measured take what the model says.
TEST(HeteroMeasuredLayers, OtherDevicesAreTheModels) {
  Problem problem = TwoKinds();
  const Figures model = Coster(problem).FiguresOf({kFamily, kStages});
  problem.profile = Read(ModelAsProfile(problem, "a100-40g", 2, 3));
  ASSERT_EQ(CheckProblem(problem), absl::OkStatus());
  const Figures mixed = Coster(problem).FiguresOf({kFamily, kStages});
  EXPECT_NEAR(mixed.stages[0].forward, 3 * model.stages[0].forward, 1e-4 * mixed.stages[0].forward);
  EXPECT_EQ(mixed.stages[1].forward, model.stages[1].forward);
  EXPECT_EQ(mixed.stages[1].backward, model.stages[1].backward);
  EXPECT_EQ(FindMeasured(problem, BuiltinCostParameters(), 1, kFamily.degrees[1]).nearest_tp, 0);
}

// Degrees that were not measured take what the model says, as many times as those that were.
TEST(HeteroMeasuredLayers, OtherDegreesAreTheModelsInProportion) {
  Problem problem = TwoKinds();
  const Figures model = Coster(problem).FiguresOf({kFamily, kStages});
  problem.profile = Read(ModelAsProfile(problem, "v100", 1, 1.5));
  const MeasuredLayers found =
      FindMeasured(problem, BuiltinCostParameters(), 1, kFamily.degrees[1]);
  EXPECT_FALSE(found.times.has_value());
  EXPECT_EQ(found.nearest_tp, 1);
  EXPECT_NEAR(found.scale, 1.5, 1e-4);
  const Figures mixed = Coster(problem).FiguresOf({kFamily, kStages});
  EXPECT_EQ(mixed.stages[0].forward, model.stages[0].forward);
  EXPECT_NEAR(mixed.stages[1].forward, found.scale * model.stages[1].forward,
              1e-9 * mixed.stages[1].forward);
  EXPECT_NEAR(mixed.stages[1].backward, found.scale * model.stages[1].backward,
              1e-9 * mixed.stages[1].backward);
  // Between measured degrees times are measured ones.
  problem.profile =
      Read(ModelAsProfile(problem, "v100", 1, 1.5) + ModelAsProfile(problem, "v100", 4, 1.5));
  EXPECT_TRUE(
      FindMeasured(problem, BuiltinCostParameters(), 1, kFamily.degrees[1]).times.has_value());
}

}  // namespace
}  // namespace meshwright::transformer::hetero
