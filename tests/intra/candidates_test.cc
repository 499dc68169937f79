#include "meshwright/intra/candidates.h"

#include <gtest/gtest.h>

#include "meshwright/cost/roofline.h"
#include "meshwright/intra/planner.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

// 1,024 rows of 64 go through 8 groups; what comes back for the weights takes the same rows.
constexpr char kExperts[] = R"(HloModule m

ENTRY main {
  x = bf16[1024,64] parameter(0)
  w = bf16[8,64,32] parameter(1)
  sizes = s32[8] parameter(2)
  dy = bf16[1024,32] parameter(3)
  y = bf16[1024,32] ragged-dot(x, w, sizes), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
  z = bf16[1024,32] multiply(y, dy)
  dw = bf16[8,64,32] ragged-dot(x, z, sizes), lhs_contracting_dims={0}, rhs_contracting_dims={0}, lhs_ragged_dims={0}
  ROOT out = (bf16[1024,32], bf16[8,64,32]) tuple(z, dw)
}
)";
constexpr int64_t kMasked = 8 * 1024 * 64 * 2;

int64_t PeakOn(const char* mesh, const char* cluster) {
  const TestProgram program = ProgramFromText(kExperts);
  const RooflineCostModel model(TestMesh(mesh, cluster));
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, model, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan->peak.bytes : 0;
}

TEST(RaggedProducts, CopyTheirRowsForEachGroupOnGpusAlone) {
  const int64_t tpu = PeakOn("1", "1xtpu-v5p"), gpu = PeakOn("1", "1xh100-sxm");
  EXPECT_GE(gpu, tpu + kMasked);  // kept for the second, which needs nothing else
  EXPECT_LE(gpu, tpu + 2 * kMasked);
}

TEST(RaggedProducts, CopiesAreMadeOnceForTheSameRows) {
  const TestProgram program = ProgramFromText(kExperts);
  OpId first, second;
  for (size_t i = 0; i < program.graph.ops.size(); ++i) {
    const Op& op = program.graph.ops[i];
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kRaggedDot) continue;
    (first.valid() ? second : first) = OpId(i);
  }
  ASSERT_TRUE(second.valid());
  EXPECT_EQ(LastWithSameRows(program.graph, first), second);
  EXPECT_EQ(LastWithSameRows(program.graph, second), second);
}

// The gradient of a filter of a transposed convolution goes through a window of 32 x 32 places; a
// plain one is shared between blocks. Three features are left to plain units.
TEST(Convolutions, AreComputedByTheKernelsThatXlaHas) {
  const auto seconds = [](const std::string& convolution) {
    const TestProgram program =
        ProgramFromText("HloModule m\n\nENTRY main {\n" + convolution + "}\n");
    const RooflineCostModel model(TestMesh("1", "1xh200"));
    const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, model, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->compute : 0;
  };
  const std::string transposed =
      "  x = bf16[2,16,16,64] parameter(0)\n  dy = bf16[2,32,32,64] parameter(1)\n"
      "  ROOT dw = bf16[2,2,64,64] convolution(x, dy), window={size=32x32 pad=1_1x1_1 "
      "lhs_dilate=2x2}, dim_labels=f01b_i01o->01bf\n";
  const std::string plain =
      "  x = bf16[2,32,32,64] parameter(0)\n  dy = bf16[2,32,32,64] parameter(1)\n"
      "  ROOT dw = bf16[3,3,64,64] convolution(x, dy), window={size=32x32 pad=1_1x1_1}, "
      "dim_labels=f01b_i01o->01bf\n";
  EXPECT_GT(seconds(transposed), 1024 * 0.22e-6);
  EXPECT_LT(seconds(plain), 1024 * 0.22e-6 / 4);
  const auto stem = [&](int features) {
    const std::string n = std::to_string(features);
    return seconds("  x = bf16[64,64,64," + n + "] parameter(0)\n  w = bf16[7,7," + n +
                   ",64] parameter(1)\n  ROOT y = bf16[64,58,58,64] convolution(x, w), "
                   "window={size=7x7}, dim_labels=b01f_01io->b01f\n");
  };
  EXPECT_GT(stem(3), 4 * stem(8));
  // One feature a group: cuDNN has kernels for images, not for sequences, and XLA leaves the
  // gradient of a filter as large as the image a forward convolution.
  const std::string image =
      "  x = bf16[16,32,32,64] parameter(0)\n  w = bf16[4,4,1,64] parameter(1)\n"
      "  ROOT y = bf16[16,29,29,64] convolution(x, w), window={size=4x4}, "
      "dim_labels=b01f_01io->b01f, feature_group_count=64\n";
  const std::string sequence =
      "  x = bf16[16,1024,64] parameter(0)\n  w = bf16[16,1,64] parameter(1)\n"
      "  ROOT y = bf16[16,1009,64] convolution(x, w), window={size=16}, "
      "dim_labels=b0f_0io->b0f, feature_group_count=64\n";
  EXPECT_GT(seconds(sequence), 10 * seconds(image));
  const auto filter = [&](int places) {
    const std::string n = std::to_string(places);
    const std::string operand = "bf16[64," + n + "," + n + ",64] parameter(";
    return seconds("  x = " + operand + "0)\n  dy = " + operand +
                   "1)\n  ROOT dw = bf16[7,7,1,64] convolution(x, dy), window={size=" + n + "x" +
                   n + " pad=3_3x3_3}, dim_labels=f01b_i01o->01bf, batch_group_count=64\n");
  };
  EXPECT_GT(filter(7), 4 * filter(8));
}

// TF32 is what f32 operands get; the highest precision is a program's wish for f32.
TEST(Products, AreExactWhereTheProgramWantsIt) {
  const auto seconds = [](const std::string& more) {
    const TestProgram program = ProgramFromText(
        "HloModule m\n\nENTRY main {\n  a = f32[2048,2048] parameter(0)\n  ROOT c = f32[2048,2048] "
        "dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}" +
        more + "\n}\n");
    const RooflineCostModel model(TestMesh("1", "1xh200"));
    const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, model, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? plan->compute : 0;
  };
  EXPECT_GT(seconds(", operand_precision={highest,highest}"), 5 * seconds(""));
  EXPECT_EQ(seconds(", operand_precision={default,default}"), seconds(""));
}

}  // namespace
}  // namespace meshwright
