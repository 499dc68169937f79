// The plan of the shortest step: against every choice of small random programs, under less and more
// memory, and against shardings written by hand.

#include "meshwright/intra/step_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cost/calibrated.h"
#include "meshwright/intra/names.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/all_choices.h"
#include "tests/intra/random_program.h"
#include "tests/intra/test_program.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

// Small arrays are worth sharding and moving, and a part of the moves is hidden.
class SmallCostModel : public CostModel {
 public:
  SmallCostModel(const Mesh& mesh, double collective) : CostModel(mesh), collective_(collective) {}
  std::string name() const override { return "small"; }
  double ComputeSeconds(const Work& work) const override {
    return 1e-6 * (work.flops + work.bytes + work.copy_bytes);
  }
  double CollectiveSeconds(CollectiveKind, const AxisList& axes, int64_t bytes) const override {
    return mesh().Size(axes) > 1 ? 1e-5 + collective_ * static_cast<double>(bytes) : 0;
  }
  std::optional<Overlap> overlap() const override { return Overlap{0.4, 1e-4}; }

 private:
  double collective_;
};

TEST(StepSearchTest, FindsTheShortestStepOfAllAndBoundsIt) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  constexpr int kPrograms = 200;
  constexpr double kMostChoices = 30'000;
  int compared = 0, best_found = 0;
  for (int seed = 0; compared < kPrograms && seed < 10 * kPrograms; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    const TestProgram program = ProgramFromText(RandomProgram(random, 2 + seed % 4));
    const SmallCostModel cost_model(TestMesh("2", "2xh100-sxm"), seed % 2 == 0 ? 3e-6 : 2e-5);
    PlannerOptions options;
    const auto prepared = PreparedProblem::Make(program.graph, cost_model, options);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    if (ChoicesOf((*prepared)->problem()) > kMostChoices) continue;
    ++compared;
    double best = std::numeric_limits<double>::infinity();
    int64_t number = 0;
    ForEachAllowed(**prepared, *cost_model.overlap(),
                   [&](const std::vector<int32_t>& choice, double seconds) {
                     best = std::min(best, seconds);
                     if (++number % 97 != 0) return;
                     const IntraPlan plan = (*prepared)->DecodeAsRun(choice, solve::kUnlimited);
                     EXPECT_NEAR(seconds, plan.step_seconds, 1e-9 * seconds);
                   });
    const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, cost_model, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->step_seconds, best * (1 - 1e-9));
    EXPECT_LE(plan->step_bound, best * (1 + 1e-6));
    EXPECT_NEAR(plan->step_gap, 1 - plan->step_bound / plan->step_seconds, 1e-12);
    best_found += plan->step_seconds <= best * (1 + 1e-9) ? 1 : 0;
  }
  EXPECT_EQ(compared, kPrograms);
  EXPECT_GE(best_found, kPrograms * 95 / 100);
  printf("the best of all choices found for %d of %d programs\n", best_found, compared);
}

class StepOfPrograms : public ::testing::TestWithParam<const char*> {
 protected:
  StepOfPrograms() : program_(ProgramFromData(GetParam())) {}

  IntraPlan Plan(const CostModel& cost_model, PlannerOptions options = {}) const {
    absl::StatusOr<IntraPlan> plan = PlanIntra(program_.graph, cost_model, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *std::move(plan) : IntraPlan();
  }

  TestProgram program_;
};

TEST_P(StepOfPrograms, MoreMemoryMakesNoPlanSlower) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const CalibratedCostModel cost_model(TestMesh("2x2", "4xh100-sxm"), *FindCalibration("h100-sxm"));
  const IntraPlan free = Plan(cost_model);
  double before = std::numeric_limits<double>::infinity();
  for (double share : {0.7, 0.8, 0.9, 0.95, 1.0, 1.1, 1.5}) {
    PlannerOptions options;
    options.budget_bytes = static_cast<int64_t>(share * static_cast<double>(free.peak.bytes));
    const IntraPlan plan = Plan(cost_model, options);
    if (!plan.fits) continue;
    EXPECT_LE(plan.peak.bytes, options.budget_bytes);
    EXPECT_LE(plan.step_seconds, before * (1 + 1e-9)) << share;
    before = plan.step_seconds;
  }
  EXPECT_LE(free.step_seconds, before * (1 + 1e-9));
}

class StepByHand : public StepOfPrograms {};

// Inputs along their first dimension, and of the state nothing, or everything along its first
// dimension that divides; then the same the other way round on the second axis.
TEST_P(StepByHand, NoShardingWrittenByHandIsFaster) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const Graph& graph = program_.graph;
  for (const char* mesh : {"4", "8", "2x4"}) {
    const CalibratedCostModel cost_model(
        TestMesh(mesh, std::string(mesh) == "4" ? "4xh100-sxm" : "8xh100-sxm"),
        *FindCalibration("h100-sxm"));
    const IntraPlan plan = Plan(cost_model);
    const auto axes = static_cast<int>(cost_model.mesh().rank());
    const std::vector<int32_t> tied = TiedParameters(graph, true);
    // By axis: not used by inputs or state, by inputs, by both.
    for (int written = 1; written < (axes == 1 ? 3 : 9); ++written) {
      const auto use = [&](int axis) { return axis == 0 ? written % 3 : written / 3; };
      PlannerOptions options;
      options.completion = Completion::kPropagate;
      std::vector<Sharding> given;
      for (size_t i = 0; i < graph.parameters.size(); ++i) {
        const Shape& shape = graph[graph[graph.parameters[i]].result()].shape;
        const bool is_state =
            std::find(tied.begin(), tied.end(), static_cast<int32_t>(i)) != tied.end();
        AxisList list;
        for (int axis = 0; axis < axes; ++axis) {
          if (use(axis) >= (is_state ? 2 : 1)) list.push_back(static_cast<AxisIndex>(axis));
        }
        Sharding& sharding = given.emplace_back(Sharding::Replicated(shape.rank()));
        for (int64_t d = 0; d < shape.rank(); ++d) {
          if (list.empty() || shape.dims[d] % cost_model.mesh().Size(list) != 0) continue;
          sharding.dims[d] = list;
          break;
        }
        options.given_parameters.emplace_back(static_cast<int32_t>(i), sharding);
      }
      for (size_t i = 0; i < tied.size(); ++i) {
        if (tied[i] >= 0)
          options.given_outputs.emplace_back(static_cast<int32_t>(i), given[tied[i]]);
      }
      const IntraPlan by_hand = Plan(cost_model, options);
      EXPECT_LE(plan.step_seconds, by_hand.step_seconds * (1 + 1e-9)) << mesh << " " << written;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, StepOfPrograms,
                         ::testing::Values("readme_step.train.hlo.txt", "mlp_adam.train.hlo.txt",
                                           "mlp_4096x4.train.hlo.txt.gz"));
INSTANTIATE_TEST_SUITE_P(Programs, StepByHand, ::testing::Values("readme_step.train.hlo.txt"));

}  // namespace
}  // namespace meshwright
