#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/cost/roofline.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/test_program.h"

// Plans of calls for which the program states the sharding rule.

namespace meshwright {
namespace {

TestProgram ProgramFromStablehlo(std::string_view text) {
  absl::StatusOr<Module> module = ParseStablehlo(text, "test");
  EXPECT_TRUE(module.ok()) << module.status();
  TestProgram program{.module = std::make_unique<Module>(*std::move(module)), .graph = {}};
  absl::StatusOr<Graph> graph = BuildGraph(*program.module);
  EXPECT_TRUE(graph.ok()) << graph.status();
  program.graph = *std::move(graph);
  return program;
}

IntraPlan PlanOf(const TestProgram& program, std::string_view mesh, std::vector<Fix> fixes = {}) {
  PlannerOptions options;
  options.fixes = std::move(fixes);
  absl::StatusOr<IntraPlan> plan =
      PlanIntra(program.graph, RooflineCostModel(TestMesh(mesh, "8xh100-sxm")), options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

constexpr std::string_view kStablehlo = R"(
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<8x2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<8x2048x2048xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048x2048xbf16>
    %1 = stablehlo.custom_call @CustomSPMDPartitioning(%0, %0) {api_version = 2 : i32, backend_config = "1", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, j, k])->([i, j, k]) {i=8, j=2048, k=2048}, custom>} : (tensor<8x2048x2048xbf16>, tensor<8x2048x2048xbf16>) -> tensor<8x2048x2048xbf16>
    %2 = stablehlo.multiply %1, %1 : tensor<8x2048x2048xbf16>
    return %2 : tensor<8x2048x2048xbf16>
  }
})";

constexpr std::string_view kHlo =
    R"(HloModule jit_f, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=8]>}}

ENTRY main.2 {
  w.1 = bf16[2048,2048]{1,0} parameter(0), sharding={replicated}
  x.1 = bf16[8,2048,2048]{2,1,0} parameter(1), sharding={devices=[8,1,1]<=[8]}
  dot_general.1 = bf16[8,2048,2048]{2,1,0} dot(x.1, w.1), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  custom_partitioning.1 = bf16[8,2048,2048]{2,1,0} custom-call(dot_general.1, dot_general.1), custom_call_target="CustomSPMDPartitioning", api_version=API_VERSION_STATUS_RETURNING, frontend_attributes={xla.sdy.sharding_rule="#sdy.op_sharding_rule<([i, j, k], [i, j, k])->([i, j, k]) {i=8, j=2048, k=2048}, custom>"}, backend_config="1"
  ROOT integer_pow.1 = bf16[8,2048,2048]{2,1,0} multiply(custom_partitioning.1, custom_partitioning.1)
})";

TEST(StatedRules, BothFormsArePlannedAlikeAndWithoutGathers) {
  const IntraPlan stablehlo = PlanOf(ProgramFromStablehlo(kStablehlo), "x=8");
  const IntraPlan hlo = PlanOf(ProgramFromText(kHlo), "x=8");
  EXPECT_TRUE(stablehlo.collectives.empty());
  EXPECT_TRUE(hlo.collectives.empty());
  EXPECT_EQ(stablehlo.objective, hlo.objective);
  EXPECT_EQ(stablehlo.peak.bytes, hlo.peak.bytes);
  EXPECT_EQ(stablehlo.shardings, hlo.shardings);
  EXPECT_TRUE(hlo.warnings.empty());
}

constexpr std::string_view kFlash = R"(
func.func public @main(%q: tensor<8x1024x16x64xbf16>, %k: tensor<8x1024x16x64xbf16>, %v: tensor<8x1024x16x64xbf16>) -> tensor<8x1024x16x64xbf16> {
  %0:2 = stablehlo.custom_call @__cudnn$fmhaSoftmax(%q, %k, %v) {backend_config = "{}", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, l], [i, m, k, l], [i, m, k, l])->([i, j, k, l], [i, k, j]) {i=8, j=1024, k=16, l=64, m=1024}, custom>} : (tensor<8x1024x16x64xbf16>, tensor<8x1024x16x64xbf16>, tensor<8x1024x16x64xbf16>) -> (tensor<8x1024x16x64xbf16>, tensor<8x16x1024xf32>)
  return %0#0 : tensor<8x1024x16x64xbf16>
})";

TEST(StatedRules, AttentionIsShardedOverBatchAndHeads) {
  const TestProgram program = ProgramFromStablehlo(kFlash);
  const std::vector<Fix> fixes = {{"q", "[x,_,y,_]", ""},
                                  {"k", "[x,_,y,_]", ""},
                                  {"v", "[x,_,y,_]", ""},
                                  {"output", "[x,_,y,_]", ""}};
  const IntraPlan plan = PlanOf(program, "x=2,y=4", fixes);
  EXPECT_TRUE(plan.collectives.empty());
  // A call takes the time of its bytes at least.
  EXPECT_GT(plan.compute, 0);
}

// f32[1024,1024] through a call whose factor i is what `kind` says, sharded before and behind it.
IntraPlan ThroughCall(std::string_view kind) {
  return PlanOf(ProgramFromText(std::string(R"(HloModule m
ENTRY e {
  a = f32[1024,1024] parameter(0), sharding={devices=[8,1]<=[8]}
  c = f32[1024,1024] custom-call(a), custom_call_target="f", frontend_attributes={xla.sdy.sharding_rule="#sdy.op_sharding_rule<([i, j])->([i, j]) {i=1024, j=1024})") +
                                std::string(kind) + R"(, custom>"}
  ROOT t = f32[1024,1024] negate(c), sharding={devices=[8,1]<=[8]}
})"),
                "x=8");
}

TEST(StatedRules, KindsOfFactors) {
  const IntraPlan through = ThroughCall("");
  const IntraPlan permuted = ThroughCall(" permutation={i}");
  const IntraPlan replicated = ThroughCall(" need_replication={i}");
  EXPECT_TRUE(through.collectives.empty());
  EXPECT_TRUE(permuted.collectives.empty());
  EXPECT_GT(permuted.objective, through.objective) << "an exchange inside of the call";
  EXPECT_FALSE(replicated.collectives.empty());
  EXPECT_EQ(ThroughCall(" blocked_propagation={i}").objective, through.objective);
}

}  // namespace
}  // namespace meshwright
