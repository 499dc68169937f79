#include "meshwright/intra/partitioner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/intra/partitioner_reshard.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/test_program.h"

// Against XLA itself: tests/python/test_estimate_collectives.py.

namespace meshwright {
namespace {

using ::testing::ElementsAre;

// "all-gather x 64" and so on, bytes in full buffers.
std::vector<std::string> Steps(const std::vector<CollectiveStep>& steps, const Mesh& mesh) {
  std::vector<std::string> texts;
  for (const CollectiveStep& step : steps) {
    std::string axes;
    for (AxisIndex axis : step.axes) StrAppend(&axes, mesh.axes[axis].name);
    texts.push_back(StrCat(CollectiveName(step.kind), " ", axes, " ", step.bytes));
  }
  return texts;
}

std::vector<std::string> Reshards(std::string_view from, std::string_view to,
                                  std::vector<int64_t> dims = {64, 64}) {
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  const auto rank = static_cast<int64_t>(dims.size());
  const Resharding resharding =
      PartitionerReshard(Shape::Array(ElementType::kF32, std::move(dims)),
                         *ParseSharding(from, mesh, rank), *ParseSharding(to, mesh, rank), mesh);
  EXPECT_TRUE(resharding.possible);
  return Steps(resharding.steps, mesh);
}

TEST(PartitionerReshard, TakesWhatAppliesFirst) {
  EXPECT_THAT(Reshards("[x,_]", "[x,y]"), ElementsAre());
  EXPECT_THAT(Reshards("[(x,y),_]", "[_,(x,y)]"), ElementsAre("all-to-all xy 2048"));
  EXPECT_THAT(Reshards("[x,_]", "[y,_]"), ElementsAre("collective-permute xy 4096"));
  EXPECT_THAT(Reshards("[(x,y),_]", "[x,_]"), ElementsAre("all-gather y 8192"));
  EXPECT_THAT(Reshards("[(x,y),_]", "[x,y]"), ElementsAre("all-to-all y 2048"));
  // Slices along y before anything is moved, and the order of axes after it.
  EXPECT_THAT(Reshards("[x,_]", "[_,(x,y)]"),
              ElementsAre("all-to-all x 2048", "collective-permute xy 2048"));
  // One dimension after the other, from the last.
  EXPECT_THAT(Reshards("[x,y]", "[_,_]"), ElementsAre("all-gather y 8192", "all-gather x 16384"));
  // From one dimension to two others there is no other way.
  EXPECT_THAT(Reshards("[(x,y),_,_]", "[_,x,y]", {16, 16, 64}), ElementsAre("all-gather xy 65536"));
}

std::vector<std::string> Estimated(std::string_view entry, std::string_view mesh_text) {
  const TestProgram program = ProgramFromText(StrCat("HloModule t\nENTRY main {\n", entry, "}\n"));
  const Mesh mesh = TestMesh(mesh_text, "8xh100-sxm");
  PlannerOptions options;
  options.completion = Completion::kPropagate;
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<CollectiveStep> steps;
  for (const PlannedCollective& collective : plan->collectives) steps.push_back(collective.step);
  return Steps(steps, mesh);
}

TEST(Partitioner, ProductsOfShardedBatchesAreGatheredBehind) {
  EXPECT_THAT(Estimated(R"(
  l = f32[32,24,64,128] parameter(0), sharding={devices=[8,1,1,1]<=[8]}
  r = f32[32,4096,64,128] parameter(1), sharding={devices=[8,1,1,1]<=[8]}
  ROOT d = f32[32,24,4096] dot(l, r), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2,3}, rhs_contracting_dims={2,3}, sharding={replicated}
)",
                        "x=8"),
              ElementsAre("all-gather x 12582912"));
}

TEST(Partitioner, TheResultDecidesWhereNothingAgrees) {
  EXPECT_THAT(Estimated(R"(
  l = f32[4096,8192] parameter(0), sharding={devices=[8,1]<=[8]}
  r = f32[8192,16] parameter(1), sharding={replicated}
  ROOT d = f32[4096,16] dot(l, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[1,8]<=[8]}
)",
                        "x=8"),
              ElementsAre("all-gather x 134217728"));
}

// What cuts the result before the axes that partial sums are scattered along stays where it is.
TEST(Partitioner, SumsAreScatteredOverPiecesOfTheResult) {
  const auto product = [](std::string_view result) {
    return Estimated(StrCat(R"(
  l = f32[1024,4096] parameter(0), sharding={devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}
  r = f32[4096,4096] parameter(1), sharding={devices=[2,4]<=[8]}
  ROOT d = f32[1024,4096] dot(l, r), lhs_contracting_dims={1}, rhs_contracting_dims={1}, sharding=)",
                            result, "\n"),
                     "x=2,y=4");
  };
  EXPECT_THAT(product("{devices=[1,8]<=[8]}"), ElementsAre("reduce-scatter y 8388608"));
  EXPECT_THAT(product("{devices=[1,8]<=[2,4]T(1,0)}"),
              ElementsAre("all-reduce y 16777216", "all-gather x 16777216"));
}

TEST(Partitioner, ReductionsAreComputedWhereTheirOperandLies) {
  EXPECT_THAT(Estimated(R"(
  a = f32[256,128] parameter(0), sharding={devices=[8,1]<=[8]}
  z = f32[] constant(0)
  ROOT s = f32[256] reduce(a, z), dimensions={1}, to_apply=add, sharding={replicated}
}
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
)",
                        "x=8"),
              ElementsAre("all-gather x 1024"));
}

TEST(Partitioner, ResultsOfTheProgramAreReshardedNotItsValues) {
  // The sum is computed in pieces, and gathered once.
  EXPECT_THAT(Estimated(R"(
  a = f32[256,128] parameter(0), sharding={devices=[8,1]<=[8]}
  b = f32[256,128] parameter(1), sharding={devices=[8,1]<=[8]}
  s = f32[256,128] add(a, b)
  m = f32[256,128] custom-call(s), custom_call_target="xla.sdy.FuncResultSharding", custom_call_has_side_effect=true
  t = (f32[256,128]) tuple(m)
  ROOT r = f32[256,128] get-tuple-element(t), index=0, sharding={replicated}
)",
                        "x=8"),
              ElementsAre("all-gather x 131072"));
}

// What two products want of one value is moved once, whoever decides.
TEST(Partitioner, PlansAndEstimatesOfOneProgramAgree) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  p = f32[4096,4096] parameter(0), sharding={devices=[4,1]<=[4]}
  w = f32[4096,4096] parameter(1), sharding={devices=[1,4]<=[4]}
  v = f32[4096,4096] negate(p), sharding={devices=[4,1]<=[4]}
  a = f32[4096,4096] dot(v, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[1,4]<=[4]}
  b = f32[4096,4096] dot(v, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[1,4]<=[4]}
  ROOT r = f32[4096,4096] add(a, b), sharding={devices=[1,4]<=[4]}
})");
  const RooflineCostModel cost_model(TestMesh("x=4", "4xh100-sxm"));
  PlannerOptions options;
  const absl::StatusOr<IntraPlan> planned = PlanIntra(program.graph, cost_model, options);
  options.completion = Completion::kPropagate;
  const absl::StatusOr<IntraPlan> estimated = PlanIntra(program.graph, cost_model, options);
  ASSERT_TRUE(planned.ok() && estimated.ok());
  EXPECT_EQ(planned->objective, estimated->objective);
  EXPECT_EQ(planned->bound, planned->objective);
  EXPECT_EQ(planned->collectives.size(), 1u);
  EXPECT_EQ(planned->peak.bytes, estimated->peak.bytes);
}

}  // namespace
}  // namespace meshwright
