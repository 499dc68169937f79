#include "meshwright/sharding/rule.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/sharding/rule_table.h"
#include "tests/sharding/random_operators.h"
#include "tests/sharding/test_mesh.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

// The rule of the instruction called r.
Rule RuleOf(std::string_view entry) {
  absl::StatusOr<Module> module = ParseHloText(ModuleText(entry), "test");
  if (!module.ok()) {
    ADD_FAILURE() << module.status() << "\n" << entry;
    return Rule();
  }
  absl::StatusOr<Graph> graph = BuildGraph(*module);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.status();
    return Rule();
  }
  for (const Op& op : graph->ops) {
    if (op.kind == OpKind::kInstruction && op.instruction->name == "r") return RuleFor(*graph, op);
  }
  ADD_FAILURE() << "no instruction r in\n" << entry;
  return Rule();
}

struct RuleCase {
  const char *entry, *rule;
};

TEST(Rule, Notation) {
  const std::vector<RuleCase> cases = {
      {"  a = f32[8,4] parameter(0)\n  ROOT r = f32[8,4] add(a, a)\n",
       "([i,j]+,[i,j]+)->[i,j]+ +:pending sum"},
      {"  a = f32[8,1] parameter(0)\n  ROOT r = f32[8,1] tanh(a)\n", "([i,1])->[i,1]"},
      {"  a = f32[2,8,4] parameter(0)\n  b = f32[2,4,16] parameter(1)\n  ROOT r = f32[2,8,16] "
       "dot(a, b), "
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
       "rhs_contracting_dims={1}\n",
       "([b,m,k],[b,k,n])->[b,m,n] k:sum"},
      {"  a = f32[8,4] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[8] reduce(a, z), "
       "dimensions={1}, "
       "to_apply=maximum_body\n",
       "([i,j],[])->[i] j:max"},
      {"  a = f32[8,4] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[8] reduce(a, z), "
       "dimensions={1}, "
       "to_apply=second_body\n",
       "([i,W],[])->[i] W:whole"},
      {"  a = f32[8] parameter(0)\n  ROOT r = f32[2,8] broadcast(a), dimensions={1}\n",
       "([j])->[i,j]"},
      {"  a = f32[6,4] parameter(0)\n  ROOT r = f32[2,3,4] reshape(a)\n", "([i j,k])->[i,j,k]"},
      {"  a = f32[6,4,5] parameter(0)\n  ROOT r = f32[4,6,5] reshape(a)\n",
       "([i W,X,j])->[i Y,Z,j] W:whole X:whole Y:whole Z:whole"},
      {"  a = f32[32000,64] parameter(0)\n  b = s32[4,16,1] parameter(1)\n  ROOT r = f32[4,16,64] "
       "gather(a, b), "
       "offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, "
       "slice_sizes={1,64}\n",
       "([k,l],[i,j,1])->[i,j,l] k:sum"},
      {"  z = f32[] constant(0)\n  a = f32[320,64] broadcast(z), dimensions={}\n  b = s32[16,1] "
       "parameter(0)\n"
       "  u = f32[16,64] parameter(1)\n  ROOT r = f32[320,64] scatter(a, b, u), "
       "update_window_dims={1}, "
       "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
       "to_apply=add_body\n",
       "([j,k],[i,1],[i,k])->[j,k] i:sum"},
      {"  a = f32[320,64] parameter(2)\n  b = s32[16,1] parameter(0)\n"
       "  u = f32[16,64] parameter(1)\n  ROOT r = f32[320,64] scatter(a, b, u), "
       "update_window_dims={1}, "
       "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
       "to_apply=add_body\n",
       "([i,j],[W,1],[W,j])->[i,j] W:whole"},
      {"  a = f32[8,16,16,4] parameter(0)\n  b = f32[3,3,4,32] parameter(1)\n  ROOT r = "
       "f32[8,14,14,32] "
       "convolution(a, b), window={size=3x3}, dim_labels=b01f_01io->b01f\n",
       "([b,W,W,i],[X,X,i,o])->[b,Y,Y,o] i:sum W:whole X:whole Y:whole"},
      {"  a = f32[8,4] parameter(0)\n  s = f32[4] parameter(1)\n  ROOT r = (f32[8,4], f32[4], "
       "f32[4]) "
       "batch-norm-training(a, s, s), epsilon=0.001, feature_index=1\n",
       "([W,c],[c],[c])->([W,c],[c],[c]) W:whole"},
      {"  a = f32[8,4] parameter(0)\n  s = f32[4] parameter(1)\n  ROOT r = f32[8,4] "
       "batch-norm-inference(a, s, s, s, s), epsilon=0.001, feature_index=1\n",
       "([i,c],[c],[c],[c],[c])->[i,c]"},
      {"  a = f32[8,4] parameter(0)\n  s = f32[4] parameter(1)\n  ROOT r = (f32[8,4], f32[4], "
       "f32[4]) "
       "batch-norm-grad(a, s, s, s, a), epsilon=0.001, feature_index=1\n",
       "([W,c],[c],[c],[c],[W,c])->([W,c],[c],[c]) W:whole"},
      {"  a = f32[8,4,4] parameter(0)\n  ROOT r = f32[8,4,4] cholesky(a), lower=true\n",
       "([i,W,W])->[i,W,W] W:whole"},
      {"  a = f32[8,4,4] parameter(0)\n  b = f32[8,4,6] parameter(1)\n  ROOT r = f32[8,4,6] "
       "triangular-solve(a, b), "
       "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE\n",
       "([i,W,W],[i,W,j])->[i,W,j] W:whole"},
      {"  a = c64[8,6,4] parameter(0)\n  ROOT r = c64[8,6,4] fft(a), fft_type=FFT, "
       "fft_length={4}\n",
       "([i,j,W])->[i,j,W] W:whole"},
      {"  a = f32[8,6,4] parameter(0)\n  ROOT r = c64[8,6,3] fft(a), fft_type=RFFT, "
       "fft_length={6,4}\n",
       "([i,W,X])->[i,W,Y] W:whole X:whole Y:whole"},
      {"  a = f32[8,6] parameter(0)\n  ROOT r = f32[8,6] custom-call(a), "
       "custom_call_target=\"unheard_of\"\n",
       "([W,X])->[W,X] W:whole X:whole (no rule)"},
  };
  for (const RuleCase& c : cases) {
    std::string text = RuleOf(c.entry).ToString();
    EXPECT_EQ(text, c.rule) << c.entry;
  }
}

TEST(Rule, SizesInNotation) {
  Rule rule = RuleOf("  a = f32[6,4] parameter(0)\n  ROOT r = f32[2,3,4] reshape(a)\n");
  EXPECT_EQ(rule.ToString(/*sizes=*/true), "([i=2 j=3,k=4])->[i=2,j=3,k=4]");
}

TEST(Rule, Flops) {
  EXPECT_EQ(RuleOf("  a = f32[2,8,4] parameter(0)\n  b = f32[2,4,16] parameter(1)\n  ROOT r = "
                   "f32[2,8,16] dot(a, b), "
                   "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                   "rhs_contracting_dims={1}\n")
                .flops,
            2.0 * 2 * 8 * 16 * 4);
  EXPECT_EQ(
      RuleOf("  a = f32[8,16,16,4] parameter(0)\n  b = f32[3,3,4,32] parameter(1)\n  ROOT r = "
             "f32[8,14,14,32] convolution(a, b), window={size=3x3}, dim_labels=b01f_01io->b01f\n")
          .flops,
      2.0 * 8 * 14 * 14 * 32 * 4 * 9);
  EXPECT_EQ(RuleOf("  a = f32[8,4] parameter(0)\n  ROOT r = f32[8,4] tanh(a)\n").flops, 32);
  EXPECT_EQ(
      RuleOf("  a = f32[8,4] parameter(0)\n  ROOT r = f32[4,8] transpose(a), dimensions={1,0}\n")
          .flops,
      0);
}

// A dimension after the other; one longer than a kernel holds in several, and one that rearranges.
TEST(Rule, TransformsPassOverTheirDataForEachDimension) {
  const auto bytes = [](const std::string& shape, const std::string& lengths) {
    return RuleOf("  a = " + shape + " parameter(0)\n  ROOT r = " + shape +
                  " fft(a), fft_type=FFT, fft_length={" + lengths + "}\n")
        .bytes;
  };
  EXPECT_LT(bytes("c64[8,4096]", "4096"), 0);  // what its operands and results hold
  EXPECT_EQ(bytes("c64[8,64,64]", "64,64"), 2 * (2.0 * 8 * 64 * 64 * 8));
  EXPECT_EQ(bytes("c64[2,65536]", "65536"), 3 * (2.0 * 2 * 65536 * 8));
}

// Only what may meet in one element takes atomic operations.
TEST(Rule, ScattersAreAtomicWhereUpdatesMeet) {
  const auto rule = [](const std::string& body, const std::string& more) {
    return RuleOf(
        "  a = f32[100,8] parameter(0)\n  i = s32[30,1] parameter(1)\n  u = f32[30,8] "
        "parameter(2)\n  ROOT r = f32[100,8] scatter(a, i, u), update_window_dims={1}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1" +
        more + ", to_apply=" + body + "\n");
  };
  EXPECT_EQ(rule("add_body", "").kernel, KernelClass::kAtomic);
  EXPECT_EQ(rule("add_body", "").flops, 30 * 8);
  EXPECT_EQ(rule("maximum_body", "").kernel, KernelClass::kAtomic);
  EXPECT_EQ(rule("second_body", "").kernel, KernelClass::kLoop);
  EXPECT_EQ(rule("add_body", ", unique_indices=true").kernel, KernelClass::kLoop);
}

// A window that reaches back to the first element is a scan to XLA, by one operator.
TEST(Rule, CumulativeWindowsAreScans) {
  const auto rule = [](const std::string& window, const std::string& body) {
    return RuleOf(
        "  a = f32[4,100] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[4,100] "
        "reduce-window(a, z), window={" +
        window + "}, to_apply=" + body + "\n");
  };
  EXPECT_EQ(rule("size=1x100 pad=0_0x99_0", "add_body").kernel, KernelClass::kScan);
  EXPECT_EQ(rule("size=1x100 pad=0_0x0_99", "add_body").flops, 400);
  EXPECT_EQ(rule("size=1x100 pad=0_0x99_0", "second_body").kernel, KernelClass::kLoop);
  EXPECT_EQ(rule("size=1x99 pad=0_0x49_49", "add_body").kernel, KernelClass::kLoop);
  EXPECT_EQ(rule("size=1x99 pad=0_0x49_49", "add_body").flops, 400 * 99);
}

// Three in four elements of the dilated input are zero: XLA leaves them out of the gradient of a
// convolution of stride 2, whose filter is reversed, not of a transposed convolution.
TEST(Rule, DilatedInputsOfGradientsCountWithoutTheirZeros) {
  const auto flops = [](std::string_view filter, std::string_view window) {
    return RuleOf(StrCat("  a = f32[8,7,7,32] parameter(0)\n  b = f32[3,3,32,4] parameter(1)\n"
                         "  c = f32[3,3,32,4] reverse(b), dimensions={0,1}\n"
                         "  ROOT r = f32[8,15,15,4] convolution(a, ",
                         filter, "), window={size=3x3 pad=2_2x2_2 lhs_dilate=2x2", window,
                         "}, dim_labels=b01f_01io->b01f\n"))
        .flops;
  };
  constexpr double kAll = 2.0 * 8 * 15 * 15 * 4 * 32 * 9;
  EXPECT_EQ(flops("c", ""), kAll / 4);
  EXPECT_EQ(flops("b", " rhs_reversal=1x1"), kAll / 4);
  EXPECT_EQ(flops("b", ""), kAll);
}

TEST(Rule, ShardingsOfAStrategy) {
  Mesh mesh = TestMesh({2, 4});
  Rule rule = RuleOf(
      "  a = f32[8,4] parameter(0)\n  b = f32[4,16] parameter(1)\n  ROOT r = f32[8,16] dot(a, b), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  Strategy strategy = {0, 2};  // m over x, k over y
  ASSERT_EQ(rule.factors[2].label, 'k');
  EXPECT_EQ(OperandSharding(rule, strategy, 0, mesh)->ToString(mesh), "[x,y]");
  EXPECT_EQ(OperandSharding(rule, strategy, 1, mesh)->ToString(mesh), "[y,_]");
  EXPECT_EQ(ResultSharding(rule, strategy, 0, mesh)->ToString(mesh), "[x,_]{sum:y}");
  EXPECT_EQ(StrategyText(rule, strategy, mesh), "m=x, k=y");
  EXPECT_EQ(StrategyText(rule, {kNoFactor, kNoFactor}, mesh), "replicated");
  EXPECT_EQ(StrategyText(rule, {2, 2}, mesh), "k=(x,y)");
  EXPECT_EQ(ComputeShards(rule, strategy, mesh), 8);
  EXPECT_EQ(ComputeShards(rule, {kNoFactor, 1}, mesh), 4);
}

TEST(Rule, PendingSumsDoNotCountAsComputeShards) {
  Mesh mesh = TestMesh({2, 4});
  Rule rule = RuleOf("  a = f32[8,4] parameter(0)\n  ROOT r = f32[8,4] add(a, a)\n");
  FactorIndex pending = static_cast<FactorIndex>(rule.factors.size() - 1);
  ASSERT_EQ(rule.factors[pending].kind, FactorKind::kPending);
  Strategy strategy = {0, pending};
  EXPECT_EQ(OperandSharding(rule, strategy, 0, mesh)->ToString(mesh), "[x,_]{sum:y}");
  EXPECT_EQ(ResultSharding(rule, strategy, 0, mesh)->ToString(mesh), "[x,_]{sum:y}");
  EXPECT_EQ(ComputeShards(rule, strategy, mesh), 2);
}

TEST(Rule, MinorFactorsNeedMajorOnesCutCompletely) {
  Mesh mesh = TestMesh({2, 4});
  Rule rule = RuleOf("  a = f32[2,8] parameter(0)\n  ROOT r = f32[16] reshape(a)\n");
  EXPECT_FALSE(ResultSharding(rule, {kNoFactor, 1}, 0, mesh).has_value());
  EXPECT_EQ(ResultSharding(rule, {0, 1}, 0, mesh)->ToString(mesh), "[(x,y)]");
  std::vector<std::string> texts;
  for (const Strategy& strategy : EnumerateStrategies(rule, mesh)) {
    texts.push_back(StrategyText(rule, strategy, mesh));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"replicated", "i=x", "i=x, j=y"}));
}

TEST(Rule, AxesComeInOrdersThatAreAskedFor) {
  Mesh mesh = TestMesh({2, 4});
  Rule rule = RuleOf(
      "  a = f32[8,8] parameter(0)\n  b = f32[8,16] parameter(1)\n  ROOT r = f32[8,16] dot(a, b), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  const std::vector<Strategy> known = EnumerateStrategies(rule, mesh);
  const std::vector<Strategy> all =
      EnumerateStrategies(rule, mesh, {AxisList{1, 0}, AxisList{0, 1}});
  EXPECT_TRUE(std::equal(known.begin(), known.end(), all.begin()));
  std::vector<std::string> texts;
  for (size_t s = known.size(); s < all.size(); ++s) {
    texts.push_back(StrategyText(rule, all[s], mesh));
    const Sharding left = *OperandSharding(rule, all[s], 0, mesh);
    EXPECT_EQ(OrderedAs(rule, rule.operands[0], left, all[s], mesh), all[s]);
    EXPECT_EQ(ComputeShards(rule, all[s], mesh), 8);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"m=(y,x)", "n=(y,x)", "k=(y,x)"}));
  EXPECT_EQ(OperandSharding(rule, all[known.size()], 0, mesh)->ToString(mesh), "[(y,x),_]");
  EXPECT_EQ(ResultSharding(rule, all[known.size()], 0, mesh)->ToString(mesh), "[(y,x),_]");
  EXPECT_EQ(OperandSharding(rule, all[known.size() + 2], 1, mesh)->ToString(mesh), "[(y,x),_]");
  EXPECT_EQ(ResultSharding(rule, all[known.size() + 2], 0, mesh)->ToString(mesh), "[_,_]{sum:x,y}");
}

// Axes that an order does not name come behind those that it does.
TEST(Rule, OrdersOfSomeAxes) {
  Mesh mesh = TestMesh({2, 2, 2});
  Rule rule = RuleOf("  a = f32[8] parameter(0)\n  ROOT r = f32[8] tanh(a)\n");
  std::vector<std::string> texts;
  for (const Strategy& strategy : EnumerateStrategies(rule, mesh, {AxisList{2, 0}}))
    texts.push_back(ResultSharding(rule, strategy, 0, mesh)->ToString(mesh));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"[_]", "[z]", "[y]", "[(y,z)]", "[x]", "[(x,z)]", "[(x,y)]",
                                      "[(x,y,z)]", "[(z,y)]", "[(z,x)]", "[(z,x,y)]"}));
}

TEST(Rule, OrderedAsASharding) {
  Mesh mesh = TestMesh({2, 2, 2});
  Rule rule = RuleOf("  a = f32[8,8] parameter(0)\n  ROOT r = f32[8,8] tanh(a)\n");
  const auto ordered = [&](Strategy strategy, std::string_view sharding) {
    return StrategyText(rule,
                        OrderedAs(rule, rule.operands[0], *ParseSharding(sharding, mesh, 2),
                                  std::move(strategy), mesh),
                        mesh);
  };
  EXPECT_EQ(ordered({0, 0, 1}, "[(y,x),z]"), "i=(y,x), j=z");
  EXPECT_EQ(ordered({0, 0, 0}, "[(y,x),z]"), "i=(x,y,z)");  // z is elsewhere
  EXPECT_EQ(ordered({0, 1, 0}, "[(z,y,x),_]"), "i=(z,x), j=y");
  EXPECT_EQ(ordered({0, 1, 0}, "[(x,z),y]"), "i=(x,z), j=y");
}

TEST(Rule, UnevenCutsArePadded) {
  Mesh mesh = TestMesh({2, 4});
  Rule rule = RuleOf(
      "  a = f32[10,6] parameter(0)\n  b = f32[6,16] parameter(1)\n  ROOT r = f32[10,16] dot(a, "
      "b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  EXPECT_FALSE(OperandSharding(rule, {1, 0}, 0, mesh).has_value());
  const size_t even = EnumerateStrategies(rule, mesh).size();
  AllowUneven([](int64_t size) { return size == 10; }, &rule);
  EXPECT_EQ(OperandSharding(rule, {1, 0}, 0, mesh)->ToString(mesh), "[y,_]");
  EXPECT_FALSE(OperandSharding(rule, {1, 2}, 0, mesh).has_value());  // 6 is not allowed
  EXPECT_GT(EnumerateStrategies(rule, mesh).size(), even);
  EXPECT_DOUBLE_EQ(Padding(rule, {1, 0}, &rule.operands[0], mesh), 1.2);
  EXPECT_DOUBLE_EQ(Padding(rule, {1, 0}, &rule.operands[1], mesh), 1);
  EXPECT_DOUBLE_EQ(Padding(rule, {0, 0}, nullptr, mesh), 1.6);  // 8 pieces of 2
  EXPECT_DOUBLE_EQ(Padding(rule, {0, 1}, nullptr, mesh), 1);

  // Parts of a dimension, and dimensions along which devices exchange something, are cut evenly.
  Rule merged = RuleOf("  a = f32[10,6] parameter(0)\n  ROOT r = f32[60] reshape(a)\n");
  AllowUneven([](int64_t) { return true; }, &merged);
  for (const Factor& factor : merged.factors) EXPECT_FALSE(factor.uneven);
}

TEST(Rule, MixedReductionsAreNoStrategy) {
  Rule rule;
  rule.factors = {{4, FactorKind::kReduction, Reduction::kSum, 'k'},
                  {4, FactorKind::kReduction, Reduction::kMax, 'l'}};
  rule.operands = {TensorFactors{{{0}, {1}}}};
  rule.results = {TensorFactors{}};
  Mesh mesh = TestMesh({2, 2});
  EXPECT_EQ(EnumerateStrategies(rule, mesh).size(), 7u);  // of 9
  EXPECT_FALSE(ResultSharding(rule, {0, 1}, 0, mesh).has_value());
}

TEST(Rule, RankSixtyFourOnSixAxesStaysBounded) {
  std::string dims;
  for (int i = 0; i < 64; ++i) StrAppend(&dims, i ? "," : "", i < 40 ? 2 : 1);
  Rule rule = RuleOf(
      StrCat("  a = bf16[", dims, "] parameter(0)\n  ROOT r = bf16[", dims, "] negate(a)\n"));
  ASSERT_EQ(rule.factors.size(), 40u);
  Mesh mesh = TestMesh({2, 2, 2, 2, 2, 2});
  std::vector<Strategy> strategies = EnumerateStrategies(rule, mesh);
  EXPECT_GT(strategies.size(), 1u);  // the largest factors stay shardable
  EXPECT_LE(static_cast<int64_t>(strategies.size()), kMaxStrategies);
  EXPECT_TRUE(OperandSharding(rule, strategies.back(), 0, mesh).has_value());
}

TEST(Rule, EveryOpcodeHasOneRowInOrder) {
  ASSERT_EQ(RuleTable().size(), static_cast<size_t>(kOpcodeCount));
  for (size_t i = 0; i < RuleTable().size(); ++i) {
    const RuleRow& row = RuleTable()[i];
    EXPECT_EQ(row.opcode, static_cast<Opcode>(i)) << OpcodeName(row.opcode);
    EXPECT_NE(row.build, nullptr) << OpcodeName(row.opcode);
    EXPECT_FALSE(row.notation.empty() && row.remark.empty()) << OpcodeName(row.opcode);
  }
}

// The rule of an operator whose attributes contradict its shapes is "no rule", not a crash.
TEST(Rule, ContradictionsAreUnsupported) {
  absl::StatusOr<Module> module =
      ParseHloText(ModuleText("  a = f32[8,4] parameter(0)\n  b = f32[4,16] parameter(1)\n  ROOT r "
                              "= f32[8,16] dot(a, b), "
                              "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
                   "test");
  ASSERT_TRUE(module.ok());
  Instruction broken = module->entry_computation()[module->entry_computation().root];
  absl::StatusOr<Graph> graph = BuildGraph(*module);
  ASSERT_TRUE(graph.ok());
  Op op = *std::find_if(graph->ops.begin(), graph->ops.end(), [](const Op& o) {
    return o.kind == OpKind::kInstruction && o.instruction->name == "r";
  });
  op.instruction = &broken;
  for (int64_t dim : {int64_t{-5}, int64_t{2}, int64_t{1} << 40, int64_t{0}}) {
    broken.dot.lhs_contracting = {dim};
    EXPECT_FALSE(RuleFor(*graph, op).supported) << dim;
  }
  // Any opcode on these two operands: whatever it makes of them, it returns a rule with the right
  // number of dimensions.
  for (int i = 0; i < kOpcodeCount; ++i) {
    broken.opcode = static_cast<Opcode>(i);
    Rule rule = RuleFor(*graph, op);
    ASSERT_EQ(rule.operands.size(), 2u);
    for (const TensorFactors& tensor : rule.operands) EXPECT_EQ(tensor.dims.size(), 2u);
    for (size_t t = 0; t < 3; ++t) {
      const TensorFactors& tensor = t < 2 ? rule.operands[t] : rule.results[0];
      const Shape& shape = (*graph)[t < 2 ? op.operands[t] : op.results[0]].shape;
      for (size_t d = 0; d < tensor.dims.size(); ++d) {
        int64_t product = 1;
        for (FactorIndex f : tensor.dims[d]) product *= rule.factors[f].size;
        EXPECT_EQ(product, shape.dims[d]) << OpcodeName(broken.opcode);
      }
    }
  }
}

// --- whole programs ---

std::vector<std::string> Programs() {
  std::vector<std::string> files;
  std::set<std::string> folders = {MESHWRIGHT_TEST_DATA "/hlo"};
  if (std::filesystem::exists(MESHWRIGHT_SHARED)) {
    std::cout << "using " << MESHWRIGHT_SHARED << "\n";
    for (const char* folder : {"/hlo", "/measured", "/measured/compiled"}) {
      folders.insert(std::string(MESHWRIGHT_SHARED) + folder);
    }
  } else {
    std::cout << "not using " << MESHWRIGHT_SHARED << ": it does not exist\n";
  }
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::string name = entry.path().filename().string();
      bool text = name.ends_with(".hlo.txt.gz") || name.ends_with(".hlo.txt") ||
                  name.ends_with(".compiled.txt.gz");
      if (text) files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Opcodes that have no rule and need none: communication, library calls and a compiled program's
// schedule, which are planned already.
bool MayLackRule(const Op& op) {
  static const std::set<Opcode> opcodes = {
      Opcode::kCustomCall, Opcode::kPartitionId, Opcode::kReplicaId,
      Opcode::kAsyncStart, Opcode::kCopyStart,   Opcode::kInfeed,
      Opcode::kOutfeed,    Opcode::kSend,        Opcode::kRecv};
  return IsCollective(op.instruction->opcode) || opcodes.contains(op.instruction->opcode);
}

TEST(Rule, ProgramsAreCovered) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  Mesh mesh = TestMesh({2, 4, 2});
  size_t programs = 0, ops = 0, strategies = 0, most = 0;
  double rule_seconds = 0, strategy_seconds = 0;
  std::map<std::string, int> unsupported;
  for (const std::string& file : Programs()) {
    absl::StatusOr<std::string> text = ReadFileMaybeGzip(file);
    ASSERT_TRUE(text.ok()) << text.status();
    absl::StatusOr<Module> module = ParseHloText(*text, file);
    ASSERT_TRUE(module.ok()) << module.status();
    absl::StatusOr<Graph> graph = BuildGraph(*module);
    if (!graph.ok()) {  // whether it must be is tested in hlo/
      std::cout << "not checked: " << file << ": " << graph.status() << "\n";
      continue;
    }
    ++programs;
    for (const Op& op : graph->ops) {
      auto begin = std::chrono::steady_clock::now();
      Rule rule = RuleFor(*graph, op);
      auto middle = std::chrono::steady_clock::now();
      std::vector<Strategy> found = EnumerateStrategies(rule, mesh);
      auto end = std::chrono::steady_clock::now();
      rule_seconds += std::chrono::duration<double>(middle - begin).count();
      strategy_seconds += std::chrono::duration<double>(end - middle).count();
      ++ops;
      strategies += found.size();
      most = std::max(most, found.size());
      ASSERT_FALSE(found.empty());
      ASSERT_EQ(rule.operands.size(), op.operands.size()) << op.name;
      ASSERT_EQ(rule.results.size(), op.results.size()) << op.name;
      if (rule.supported) continue;
      ++unsupported[std::string(OpcodeName(op.instruction->opcode))];
      EXPECT_TRUE(MayLackRule(op))
          << file << ": " << op.name << " " << OpcodeName(op.instruction->opcode);
    }
  }
  ASSERT_GT(programs, 3u);
  std::cout << programs << " programs, " << ops << " operators, " << strategies
            << " strategies, at most " << most << " of one operator; rules "
            << rule_seconds / static_cast<double>(ops) * 1e6 << " us each, enumeration "
            << strategy_seconds / static_cast<double>(ops) * 1e6 << " us each\n";
  for (const auto& [opcode, count] : unsupported)
    std::cout << "no rule: " << opcode << " " << count << "\n";
}

}  // namespace
}  // namespace meshwright
