#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/sharding/rule.h"

// Rules of calls that the program states itself.

namespace meshwright {
namespace {

Rule StatedRule(std::string_view operands, std::string_view result, std::string_view rule) {
  const absl::StatusOr<Module> module = ParseHloText(
      StrCat("HloModule m\nENTRY e {\n", operands, "  ROOT c = ", result,
             ", custom_call_target=\"f\", frontend_attributes={xla.sdy.sharding_rule=\"",
             "#sdy.op_sharding_rule<", rule, ", custom>\"}\n}\n"),
      "f");
  if (!module.ok()) {
    ADD_FAILURE() << module.status();
    return Rule();
  }
  const absl::StatusOr<Graph> graph = BuildGraph(*module);
  EXPECT_TRUE(graph.ok()) << graph.status();
  for (const Op& op : graph->ops) {
    if (op.kind == OpKind::kInstruction && op.instruction->name == "c") return RuleFor(*graph, op);
  }
  ADD_FAILURE() << "no call";
  return Rule();
}

constexpr std::string_view kAttention =
    "  q = bf16[8,1024,16,64] parameter(0)\n  k = bf16[8,512,16,64] parameter(1)\n"
    "  v = bf16[8,512,16,64] parameter(2)\n";

TEST(StatedRule, AttentionWithStatistics) {
  const Rule rule = StatedRule(
      kAttention, "(bf16[8,1024,16,64], f32[8,16,1024]) custom-call(q, k, v)",
      "([i, j, k, l], [i, m, k, l], [i, m, k, l])->([i, j, k, l], [i, k, j]) {i=8, j=1024, k=16, "
      "l=64, m=512}");
  EXPECT_TRUE(rule.supported);
  // A part of the keys gives no part of a result.
  EXPECT_EQ(rule.ToString(), "([i,j,k,l],[i,m,k,l],[i,m,k,l])->([i,j,k,l],[i,k,j]) m:whole");
}

TEST(StatedRule, KindsOfFactors) {
  const Rule rule = StatedRule(
      "  a = f32[8,16,32,64] parameter(0)\n  b = f32[] parameter(1)\n",
      "f32[8,32,64] custom-call(a, b)",
      "([i, j, k, l], [])->([i, k, l]) {i=8, j=16, k=32, l=64} reduction={j} need_replication={k} "
      "permutation={l} blocked_propagation={i}");
  EXPECT_EQ(rule.ToString(true), "([i=8,j=16,k=32,l=64],[])->[i=8,k=32,l=64] j:sum k:whole");
  ASSERT_EQ(rule.factors.size(), 4u);
  EXPECT_FALSE(rule.factors[0].spreads);
  EXPECT_TRUE(rule.factors[1].spreads);
  EXPECT_FALSE(rule.factors[2].exchanges);
  EXPECT_TRUE(rule.factors[3].exchanges);
}

TEST(StatedRule, DimensionsOfSeveralFactorsInAnyOrder) {
  const Rule rule = StatedRule("  a = f32[8,16] parameter(0)\n", "f32[128] custom-call(a)",
                               "([j, i])->([ij]) {i=16, j=8}");
  EXPECT_EQ(rule.ToString(), "([j,i])->[i j]");
}

TEST(StatedRule, PaddedDimensionsStayWhole) {
  const Rule rule = StatedRule("  a = f32[8,6] parameter(0)\n", "f32[8,9] custom-call(a)",
                               "([i, j])->([i, j]) {i=8, j=6} permutation={j}");
  EXPECT_EQ(rule.factors[rule.operands[0].dims[1][0]].kind, FactorKind::kWhole);
  EXPECT_EQ(rule.factors[rule.results[0].dims[1][0]].kind, FactorKind::kWhole);
  EXPECT_EQ(rule.factors[rule.operands[0].dims[0][0]].kind, FactorKind::kParallel);
}

TEST(StatedRule, FactorsOfSizeOneAreNone) {
  const Rule rule = StatedRule("  a = f32[8,1] parameter(0)\n", "f32[8,1] custom-call(a)",
                               "([i, j])->([i, j]) {i=8, j=1}");
  EXPECT_EQ(rule.ToString(), "([i,1])->[i,1]");
}

}  // namespace
}  // namespace meshwright
