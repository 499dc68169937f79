// Programs of the kinds that users have and that once went wrong: calls for their effects, values
// that loops read too, aliases between different shapes, dead code, devices that repeat each
// other's work.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <tuple>

#include "meshwright/base/strings.h"
#include "meshwright/plan/make/plan_program.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

ProgramRequest RequestFor(std::string program) {
  ProgramRequest request;
  request.program = std::move(program);
  request.cluster = "8xh100-sxm";
  request.mesh = "x=2,y=4";
  return request;
}

ProgramRequest CaseRequest(std::string_view file) {
  return RequestFor(std::string(MESHWRIGHT_TEST_DATA "/cases/") + std::string(file));
}

ProgramRequest TextRequest(std::string_view text) {
  ProgramRequest request = RequestFor("program");
  request.contents = text;
  return request;
}

// Seconds of the objective, serial compute, and bytes: what a plan is chosen and judged by.
void ExpectSamePrice(const ProgramRequest& a, const ProgramRequest& b) {
  const absl::StatusOr<PlannedProgram> first = PlanProgram(a), second = PlanProgram(b);
  ASSERT_TRUE(first.ok()) << a.program << ": " << first.status();
  ASSERT_TRUE(second.ok()) << b.program << ": " << second.status();
  EXPECT_DOUBLE_EQ(first->plan.objective_seconds, second->plan.objective_seconds) << a.program;
  EXPECT_DOUBLE_EQ(first->plan.step_seconds, second->plan.step_seconds) << a.program;
  EXPECT_EQ(first->plan.peak_bytes, second->plan.peak_bytes) << a.program;
}

TEST(AwkwardPrograms, CallsForTheirEffectsStayWhereTheyAre) {
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(CaseRequest("effect.mlir"));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_THAT(planned->plan.program.instructions,
              Contains(Field(&PlanInstruction::opcode, PlanOpcode::kCustomCall)));
  EXPECT_THAT(AnnotatedText(*planned), HasSubstr("@check"));

  const absl::StatusOr<PlannedProgram> bare =
      PlanProgram(CaseRequest("effect_without_operands.hlo"));
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_THAT(bare->plan.program.instructions, Contains(Field(&PlanInstruction::name, "k")));
  EXPECT_THAT(AnnotatedText(*bare), HasSubstr("custom_call_target=\"foo\""));
}

// An elementwise operator whose value a loop carries as well does not merge into its other reader.
TEST(AwkwardPrograms, LoopsReadWhatTheyCarry) {
  for (const char* file :
       {"carry_read_elsewhere.hlo", "scan_stacks_results.mlir", "scan_residual.mlir"}) {
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(CaseRequest(file));
    EXPECT_TRUE(planned.ok()) << file << ": " << planned.status();
  }
}

TEST(AwkwardPrograms, AliasesOfOtherShapesAreTwoBuffers) {
  const absl::StatusOr<PlannedProgram> planned =
      PlanProgram(CaseRequest("alias_of_other_shape.hlo"));
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->program.graph.output_alias[0], -1);
}

// The shapes of a partitioned program are those of shards.
// XLA's conversion of StableHLO leaves such operators out; HLO text may have them.
TEST(AwkwardPrograms, ConvolutionsMayHaveNoElements) {
  for (const auto& [batch, in, out] : {std::tuple(0, 4, 8), {32, 0, 8}, {32, 4, 0}, {0, 0, 0}}) {
    const std::string text = StrCat(
        "HloModule m\nENTRY e {\n  x = f32[", batch, ",", in, ",28,28] parameter(0)\n  k = f32[",
        in, ",", out, ",5,5] parameter(1)\n  ROOT c = f32[", batch, ",", out,
        ",24,24] convolution(x, k), window={size=5x5}, dim_labels=bf01_io01->bf01\n}\n");
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(TextRequest(text));
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_TRUE(std::isfinite(planned->plan.step_seconds));
  }
}

TEST(AwkwardPrograms, PartitionedProgramsAreRefused) {
  const absl::StatusOr<PlannedProgram> planned =
      PlanProgram(CaseRequest("reduce_scatter_start.hlo"));
  EXPECT_EQ(planned.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(planned.status().message()),
              AllOf(HasSubstr("reduce_scatter_start.hlo:9:3: s: "),
                    HasSubstr("this program is partitioned already")));
}

TEST(AwkwardPrograms, BothFormsGiveTheSamePlan) {
  ExpectSamePrice(CaseRequest("clip.hlo"), CaseRequest("clip.mlir"));
  ExpectSamePrice(CaseRequest("zero_plus.hlo"), CaseRequest("zero_plus.mlir"));
  ExpectSamePrice(CaseRequest("dead_call_result.hlo"), CaseRequest("dead_call_result.mlir"));
}

TEST(AwkwardPrograms, WhatNobodyReadsCostsNothing) {
  constexpr std::string_view kSum = R"(HloModule sum
ENTRY main {
  x = f32[4096,4096] parameter(0)
  w = f32[4096,4096] parameter(1)
  ROOT r = f32[4096,4096] add(x, w)
})";
  ExpectSamePrice(CaseRequest("dead_call_result.hlo"), TextRequest(kSum));
  ExpectSamePrice(CaseRequest("dead_barrier.mlir"), TextRequest(kSum));

  constexpr std::string_view kCase = R"(
module @m {
  func.func public @main(%p: tensor<i32>, %x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>) {
    %0 = "stablehlo.case"(%p) ({
      %a = stablehlo.add %x, %w : tensor<4096x4096xf32>
      stablehlo.return %a : tensor<4096x4096xf32>
    }, {
      stablehlo.return %w : tensor<4096x4096xf32>
    }) : (tensor<i32>) -> tensor<4096x4096xf32>
    return %0 : tensor<4096x4096xf32>
  }
})";
  ExpectSamePrice(CaseRequest("dead_case_result.mlir"), TextRequest(kCase));

  constexpr std::string_view kLoop = R"(
module @m {
  func.func public @main(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<4> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i32>, tensor<4096x4096xf32>
     cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %b = stablehlo.add %a, %w : tensor<4096x4096xf32>
      stablehlo.return %j, %b : tensor<i32>, tensor<4096x4096xf32>
    }
    return %r#1 : tensor<4096x4096xf32>
  }
})";
  ExpectSamePrice(CaseRequest("dead_while_carry.mlir"), TextRequest(kLoop));
}

// The one warning of a plan that has one; empty if it has none.
std::string TheWarning(const absl::StatusOr<PlannedProgram>& planned) {
  EXPECT_TRUE(planned.ok()) << planned.status();
  if (!planned.ok() || planned->plan.warnings.empty()) return "";
  EXPECT_EQ(planned->plan.warnings.size(), 1u);
  return planned->plan.warnings[0];
}

TEST(AwkwardPrograms, AnnotationsAreKeptWhereTheyCanBe) {
  const absl::StatusOr<PlannedProgram> parts = PlanProgram(CaseRequest("annotated_by_parts.mlir"));
  EXPECT_EQ(TheWarning(parts), "");
  EXPECT_THAT(AnnotatedText(*parts), HasSubstr("[{\"x\"}, {\"y\"}]"));
  EXPECT_EQ(TheWarning(PlanProgram(CaseRequest("annotated_for_fewer.hlo"))),
            "2 of 2 annotations not used: the mesh has 8 devices, they were made for 4");
  EXPECT_EQ(TheWarning(PlanProgram(CaseRequest("annotated_unevenly.hlo"))),
            "2 of 2 annotations not used: p: dimension 0 of size 65 does not divide into 8 shards, "
            "as arguments and results must, and 1 more");
}

// What is emitted says the same order, in both forms.
TEST(AwkwardPrograms, AxesInAnotherOrderAreEmitted) {
  const absl::StatusOr<PlannedProgram> hlo = PlanProgram(TextRequest(R"(HloModule m
ENTRY e {
  p = f32[64,64] parameter(0), sharding={devices=[8,1]<=[2,4]T(1,0)}
  n = f32[64,64] negate(p), sharding={devices=[8,1]<=[8]}
  ROOT r = f32[64,64] tanh(n), sharding={devices=[8,1]<=[2,4]T(1,0)}
})"));
  EXPECT_EQ(TheWarning(hlo), "");
  EXPECT_THAT(AnnotatedText(*hlo),
              AllOf(HasSubstr("parameter(0), sharding={devices=[8,1]<=[2,4]T(1,0)}"),
                    HasSubstr("sharding={devices=[8,1]<=[8]}")));
  EXPECT_EQ(hlo->plan.program.parameters[0].spec, (PlanSpec{{"y", "x"}, {}}));

  const absl::StatusOr<PlannedProgram> mlir = PlanProgram(TextRequest(R"(
module @m {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%a: tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}) -> tensor<64x10xf32> {
    %0 = stablehlo.negate %a : tensor<64x10xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"y"}]> : tensor<64x10xf32>
    %2 = stablehlo.tanh %1 : tensor<64x10xf32>
    return %2 : tensor<64x10xf32>
  }
})"));
  EXPECT_EQ(TheWarning(mlir), "");
  EXPECT_THAT(AnnotatedText(*mlir),
              AllOf(HasSubstr("[{\"y\", \"x\"}, {}]"), HasSubstr("[{}, {\"y\"}]")));
}

TEST(AwkwardPrograms, DevicesThatRepeatOthersWorkAreNamed) {
  ProgramRequest request = CaseRequest("three_devices.mlir");
  request.mesh = "auto";
  for (const char* cluster : {"3xh100-sxm", "6xh100-sxm"}) {
    request.cluster = cluster;
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_THAT(planned->plan.warnings, Contains(HasSubstr("nothing is sharded over mesh axis")))
        << cluster;
    EXPECT_THAT(planned->plan.warnings, Contains(HasSubstr("would take"))) << cluster;
  }
  for (const char* cluster : {"2xh100-sxm", "4xh100-sxm"}) {
    request.cluster = cluster;
    const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_THAT(planned->plan.warnings, Each(Not(HasSubstr("nothing is sharded")))) << cluster;
  }
}

}  // namespace
}  // namespace meshwright
