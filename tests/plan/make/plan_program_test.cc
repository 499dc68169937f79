#include "meshwright/plan/make/plan_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/shortage.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

ProgramRequest MlpRequest() {
  ProgramRequest request;
  request.program = HloData("mlp_4096x4.train.hlo.txt.gz");
  request.cluster = "8xh100-sxm";
  request.mesh = "2x4";
  return request;
}

TEST(PlanProgram, PlanIsConsistent) {
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(MlpRequest());
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Plan& plan = planned->plan;
  // Four 64 MiB weights, two 16 MiB batches.
  ASSERT_EQ(plan.program.parameters.size(), 6u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.program.parameters[i].name, "p[" + std::to_string(i) + "]");
    EXPECT_EQ(plan.program.parameters[i].category, MemoryCategory::kParameters);
    EXPECT_EQ(plan.program.outputs[i].spec, plan.program.parameters[i].spec);
  }
  EXPECT_EQ(plan.program.parameters[5].category, MemoryCategory::kInputs);
  EXPECT_EQ(plan.program.instructions.size(), planned->program.graph.ops.size());
  EXPECT_EQ(plan.inputs[0].sha256.size(), 64u);
  const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(plan), "plan");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, plan);
}

// A fix of an output is what the plan says and what the annotated program has, in every format.
TEST(PlanProgram, FixedOutputsLeaveAsFixed) {
  constexpr char kHlo[] = R"(HloModule scale
ENTRY main {
  x = f32[64,64] parameter(0)
  c = f32[] constant(2)
  b = f32[64,64] broadcast(c), dimensions={}
  ROOT m = f32[64,64] multiply(x, b)
})";
  constexpr char kStablehlo[] = R"(module @scale {
  func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %c = stablehlo.constant dense<2.0> : tensor<64x64xf32>
    %0 = stablehlo.multiply %x, %c : tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
})";
  for (const char* text : {kHlo, kStablehlo}) {
    ProgramRequest request = MlpRequest();
    request.program = "scale";
    request.contents = text;
    request.mesh = "x=2,y=4";
    request.fixes = {{"x", "[x,_]", "--fix #1"}, {"output", "replicated", "--fix #2"}};
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_EQ(planned->plan.program.parameters[0].spec, (PlanSpec{{"x"}, {}}));
    EXPECT_EQ(planned->plan.program.outputs[0].spec, (PlanSpec{{}, {}}));
    EXPECT_THAT(
        AnnotatedText(*planned),
        testing::AnyOf(HasSubstr("ROOT m = f32[64,64] multiply(x, b), sharding={replicated}"),
                       HasSubstr("(tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, "
                                 "[{}, {}]>})")));
  }
}

TEST(PlanProgram, DonatedOutputsAreNotFixedOtherwise) {
  ProgramRequest request = MlpRequest();
  request.program = "scale";
  request.contents = R"(module @scale {
  func.func public @main(%x: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<64x64xf32>) {
    %0 = stablehlo.negate %x : tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
})";
  request.mesh = "x=2,y=4";
  request.fixes = {{"x", "[x,_]", "--fix #1"}, {"output", "replicated", "--fix #2"}};
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  EXPECT_EQ(planned.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(planned.status().message()),
              HasSubstr("output is fixed to [_,_] but shares its buffer with x, which is fixed to "
                        "[x,_]"));
}

TEST(PlanProgram, ProtoAndTextGiveTheSamePlan) {
  ProgramRequest request = MlpRequest();
  const absl::StatusOr<PlannedProgram> text = PlanProgram(request);
  request.program = HloData("mlp_4096x4.train.hlo.pb.gz");
  const absl::StatusOr<PlannedProgram> proto = PlanProgram(request);
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_TRUE(proto.ok()) << proto.status();
  EXPECT_EQ(proto->plan.inputs[0].kind, "hlo_proto");
  EXPECT_EQ(proto->plan.program.instructions, text->plan.program.instructions);
  EXPECT_EQ(proto->plan.program.parameters, text->plan.program.parameters);
}

// The same program in every format: the same decisions. Only names of instructions differ.
TEST(PlanProgram, StablehloGivesTheSamePlan) {
  for (const char* name : {"mlp_4096x4.train", "tiny_gpt.train"}) {
    SCOPED_TRACE(name);
    ProgramRequest request = MlpRequest();
    request.program = std::string(MESHWRIGHT_TEST_DATA "/hlo/") + name + ".hlo.txt.gz";
    const absl::StatusOr<PlannedProgram> hlo = PlanProgram(request);
    request.program = std::string(MESHWRIGHT_TEST_DATA "/hlo/") + name + ".stablehlo.mlir.gz";
    const absl::StatusOr<PlannedProgram> stablehlo = PlanProgram(request);
    ASSERT_TRUE(hlo.ok()) << hlo.status();
    ASSERT_TRUE(stablehlo.ok()) << stablehlo.status();
    EXPECT_EQ(stablehlo->plan.inputs[0].kind, "stablehlo");
    EXPECT_EQ(stablehlo->plan.objective_seconds, hlo->plan.objective_seconds);
    EXPECT_EQ(stablehlo->plan.peak_bytes, hlo->plan.peak_bytes);
    EXPECT_EQ(stablehlo->plan.program.collectives, hlo->plan.program.collectives);
    EXPECT_EQ(stablehlo->plan.program.outputs, hlo->plan.program.outputs);
    EXPECT_EQ(stablehlo->intra.shardings, hlo->intra.shardings);
  }
}

TEST(PlanProgram, AutoLeavesOutMeshesThatAFixDoesNotSuit) {
  ProgramRequest request = MlpRequest();
  request.mesh = "auto";
  request.fixes = {{"x", "[y,_]", "--fix #1"}};
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.mesh.size(), 2u);
  EXPECT_THAT(planned->plan.warnings, testing::Contains(HasSubstr("mesh x=8 was left out: ")));
}

TEST(PlanProgram, NamesTheMeshesThatADeadlineLeavesOut) {
  ProgramRequest request = MlpRequest();
  request.mesh = "auto";
  request.deadline_seconds = 1e-4;
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_TRUE(planned->intra.fits);
  EXPECT_THAT(planned->plan.warnings,
              ::testing::Contains(HasSubstr("was too short for every mesh: not searched are")));
}

TEST(PlanProgram, AnInterruptLeavesTheBestPlanSoFar) {
  ProgramRequest request = MlpRequest();
  request.mesh = "auto";
  request.stop = [] { return true; };
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_TRUE(planned->intra.fits);
  EXPECT_THAT(planned->plan.warnings,
              ::testing::Contains(HasSubstr("the search was interrupted: not searched are")));
}

TEST(PlanProgram, NothingFits) {
  ProgramRequest request = MlpRequest();
  request.memory = {MemoryBudget::Kind::kBytes, 1 << 20};
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_FALSE(planned->intra.fits);
  const std::string text = ShortageText(*planned);
  EXPECT_THAT(text, HasSubstr("nothing fits into 1.00 MiB a device"));
  EXPECT_THAT(text, HasSubstr("f32[4096,4096]"));
}

TEST(PlanProgram, SaysHowManyDevicesWouldDo) {
  ProgramRequest request = MlpRequest();
  request.memory = {MemoryBudget::Kind::kUnlimited};
  const absl::StatusOr<PlannedProgram> any = PlanProgram(request);
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_FALSE(any->enough.has_value());
  // Less than the devices need, but not half of it.
  request.memory = {MemoryBudget::Kind::kBytes, 1 << 20};
  const absl::StatusOr<PlannedProgram> least = PlanProgram(request);
  ASSERT_TRUE(least.ok()) << least.status();
  request.memory.bytes = least->intra.smallest_budget * 3 / 4;
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_FALSE(planned->intra.fits);
  ASSERT_TRUE(planned->enough.has_value());
  const int64_t devices = planned->mesh.devices();
  EXPECT_GT(planned->enough->devices(), devices);
  EXPECT_LE(planned->enough->devices(), 8 * devices);
  EXPECT_THAT(ShortageText(*planned), HasSubstr("it would fit on "));
}

TEST(PlanProgram, Errors) {
  ProgramRequest request = MlpRequest();
  request.cost_model = "guess";
  EXPECT_THAT(
      std::string(PlanProgram(request).status().message()),
      HasSubstr("unknown cost model \"guess\"; there are auto, calibrated, roofline, alpha_beta"));
  request = MlpRequest();
  request.program = "/nonexistent/a.hlo";
  EXPECT_EQ(PlanProgram(request).status().code(), absl::StatusCode::kNotFound);
  request.program = "/dev/zero";
  EXPECT_THAT(std::string(PlanProgram(request).status().message()), HasSubstr("it is a device"));
}

}  // namespace
}  // namespace meshwright
