#include "meshwright/hlo/op_sharding_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"

namespace meshwright {
namespace {

template <typename T>
std::string MessageOf(const absl::StatusOr<T>& result) {
  return std::string(result.status().message());
}

std::string Rule(std::string_view body) { return StrCat("#sdy.op_sharding_rule<", body, ">"); }

TEST(OpShardingRule, ReadsEveryPart) {
  const absl::StatusOr<OpShardingRule> rule = ParseOpShardingRule(
      Rule(
          "([i, jk], [], [l])->([i, l], [zz_1]) {i=2, j=3, k=5, l=7, m=1, n=1, o=1, p=1, q=1, r=1, "
          "s=1, t=1, u=1, v=1, w=1, x=1, y=1, z=4, z_1=2} reduction={k} need_replication={l} "
          "permutation={z} blocked_propagation={i, z_1}, custom"),
      "f");
  ASSERT_TRUE(rule.ok()) << rule.status();
  const std::vector<int64_t> sizes = {2, 3, 5, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 2};
  EXPECT_EQ(*rule, (OpShardingRule{.factor_sizes = sizes,
                                   .operands = {{{0}, {1, 2}}, {}, {{3}}},
                                   .results = {{{0}, {3}}, {{17, 18}}},
                                   .reduction = {2},
                                   .need_replication = {3},
                                   .permutation = {17},
                                   .blocked_propagation = {0, 18},
                                   .custom = true}));
}

TEST(OpShardingRule, IsWrittenAsItIsRead) {
  for (const std::string_view body :
       {"([], [])->([])", "([i, j])->([ij]) {i=2, j=4}",
        "([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}, custom",
        "([i])->([i]) {i=8589934592} permutation={i} blocked_propagation={i}"}) {
    const absl::StatusOr<OpShardingRule> rule = ParseOpShardingRule(Rule(body), "f");
    ASSERT_TRUE(rule.ok()) << rule.status();
    EXPECT_EQ(OpShardingRuleText(*rule), Rule(body));
  }
}

TEST(OpShardingRule, SyntaxErrorsSayWhere) {
  struct Case {
    std::string_view body, message;
  };
  for (const Case& c : std::vector<Case>{
           {"([i])->([i])", "f:1:25: factor i has no size; add i=... to the sizes in {}"},
           {"([m])->([m]) {i=8}", "f:1:25: factor m has no size; add m=... to the sizes in {}"},
           {"([a])->([i]) {i=8}",
            "f:1:25: expected a factor, i to z or z_1, z_2, ...; found \"a\""},
           {"([iz_0])->([i]) {i=8}", "f:1:26: expected z_1 to z_4096; found \"z_0\""},
           {"([i])->([i]) {j=8}",
            "f:1:37: expected the size of factor i, as all are given in their order; found \"j\""},
           {"([i])->([i]) {i=-8}", "f:1:39: factor i has size -8; at least 0"},
           {"([i])->([i]) {i=8} reduction={i, i}",
            "f:1:56: factors of reduction are given once each, in increasing order"},
           {"([i]) ([i]) {i=8}",
            "f:1:29: expected '->' before the factors of results, found \"(\""},
           {"([i])->([i]) {i=8} sometimes",
            "f:1:42: expected '>' after a sharding rule, found \"sometimes\""},
       }) {
    EXPECT_EQ(MessageOf(ParseOpShardingRule(Rule(c.body), "f")), c.message);
  }
}

std::string ProblemOf(std::string_view body, const std::vector<Shape>& operands,
                      const std::vector<Shape>& results) {
  const absl::StatusOr<OpShardingRule> rule = ParseOpShardingRule(Rule(body), "f");
  EXPECT_TRUE(rule.ok()) << rule.status();
  std::vector<const Shape*> in, out;
  for (const Shape& shape : operands) in.push_back(&shape);
  for (const Shape& shape : results) out.push_back(&shape);
  return FindOpShardingRuleProblem(*rule, in, out);
}

TEST(OpShardingRule, MustFitItsCall) {
  const Shape matrix = Shape::Array(ElementType::kF32, {8, 6});
  EXPECT_EQ(ProblemOf("([i, j])->([i, j]) {i=8, j=6}", {matrix}, {matrix}), "");
  EXPECT_EQ(ProblemOf("([i, jk])->([i, jk]) {i=8, j=2, k=3}", {matrix}, {matrix}), "");
  EXPECT_EQ(ProblemOf("([i, j])->([i, j]) {i=8, j=6}", {matrix, matrix}, {matrix}),
            "gives the factors of 1 operands; there are 2");
  EXPECT_EQ(ProblemOf("([i, j])->([i, j], [i]) {i=8, j=6}", {matrix}, {matrix}),
            "gives the factors of 2 results; there are 1");
  EXPECT_EQ(ProblemOf("([i])->([i, j]) {i=8, j=6}", {matrix}, {matrix}),
            "gives the factors of 1 dimensions of operand 0, which is f32[8,6]");
  EXPECT_EQ(ProblemOf("([i, j])->([i, j]) {i=8, j=7}", {matrix}, {matrix}),
            "makes dimension 1 of operand 0, f32[8,6], of factors j, whose sizes multiply to 7");
  EXPECT_EQ(ProblemOf("([i, i])->([i, j]) {i=8, j=6}", {matrix}, {matrix}),
            "has factor i twice in operand 0");
  EXPECT_EQ(ProblemOf("([i, j])->([i, j]) {i=8, j=6, k=2}", {matrix}, {matrix}),
            "has factor k, which is in no operand and no result");
  EXPECT_EQ(ProblemOf("([i, j])->([i, j]) {i=8, j=6} reduction={j}", {matrix}, {matrix}),
            "reduces factor j, which is in a result");
  EXPECT_EQ(ProblemOf("([i, j])->([i, j]) {i=8, j=6} need_replication={j} permutation={j}",
                      {matrix}, {matrix}),
            "has factor j in more than one of reduction, need_replication and permutation");
  // What is padded differs in size.
  EXPECT_EQ(ProblemOf("([i, j])->([i, j]) {i=8, j=6} permutation={j}", {matrix},
                      {Shape::Array(ElementType::kF32, {8, 9})}),
            "");
}

TEST(OpShardingRule, TakesTheSizesOfAMicroBatch) {
  OpShardingRule rule = *ParseOpShardingRule(Rule("([ij, k])->([i, j, k]) {i=8, j=4, k=6}"), "f");
  const Shape in = Shape::Array(ElementType::kF32, {8, 6});
  const Shape out = Shape::Array(ElementType::kF32, {2, 4, 6});
  ASSERT_TRUE(ResizeOpShardingRule({&in}, {&out}, &rule));
  EXPECT_EQ(OpShardingRuleText(rule), Rule("([ij, k])->([i, j, k]) {i=2, j=4, k=6}"));
  const Shape odd = Shape::Array(ElementType::kF32, {6, 6});
  EXPECT_FALSE(ResizeOpShardingRule({&odd}, {&out}, &rule));
}

constexpr std::string_view kRule = "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>";

std::string Stablehlo(std::string_view attributes) {
  return StrCat("func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {\n",
                "  %0 = stablehlo.custom_call @f(%a) {", attributes,
                "} : (tensor<8x4xf32>) -> tensor<8x4xf32>\n  return %0 : tensor<8x4xf32>\n}\n");
}

std::string Hlo(std::string_view rule) {
  return StrCat("HloModule m\nENTRY e {\n  a = f32[8,4] parameter(0)\n",
                "  ROOT c = f32[8,4] custom-call(a), custom_call_target=\"f\", "
                "frontend_attributes={xla.sdy.sharding_rule=\"",
                rule, "\"}\n}\n");
}

// The rule of the root of `module`.
std::string RuleOfRoot(const absl::StatusOr<Module>& module) {
  if (!module.ok()) return module.status().ToString();
  const Computation& entry = module->entry_computation();
  const std::string* const rule = FindOpShardingRule(entry[entry.root]);
  return rule == nullptr ? "none" : *rule;
}

TEST(OpShardingRule, IsKeptInAllForms) {
  const std::string as_attribute = Stablehlo(StrCat("sdy.sharding_rule = ", kRule));
  EXPECT_EQ(RuleOfRoot(ParseStablehlo(as_attribute, "f")), kRule);
  EXPECT_EQ(
      RuleOfRoot(ParseStablehlo(
          Stablehlo(StrCat("mhlo.frontend_attributes = {xla.sdy.sharding_rule = \"", kRule, "\"}")),
          "f")),
      kRule);
  EXPECT_EQ(RuleOfRoot(ParseHloText(Hlo(kRule), "f")), kRule);
  const absl::StatusOr<Module> read = ParseStablehlo(as_attribute, "f");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(RuleOfRoot(ParseHloText(ToHloText(*read), "f")), kRule);
}

TEST(OpShardingRule, IsRefusedWithItsPlace) {
  EXPECT_EQ(MessageOf(ParseStablehlo(
                Stablehlo("sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) "
                          "{i=8, j=4}, custom>"),
                "f.mlir")),
            "f.mlir:2:95: factor k has no size; add k=... to the sizes in {}");
  EXPECT_EQ(
      MessageOf(
          ParseStablehlo(Stablehlo("sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, "
                                   "j]) {i=8, j=4}, custom>"),
                         "f.mlir")),
      "f.mlir:2:3: custom-call.1: its sharding rule gives the factors of 2 operands; there are "
      "1");
  EXPECT_EQ(
      MessageOf(ParseHloText(Hlo("#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=5}>"), "f.hlo")),
      "f.hlo:4:3: c: its sharding rule makes dimension 1 of operand 0, f32[8,4], of factors j, "
      "whose sizes multiply to 5");
  EXPECT_EQ(MessageOf(ParseHloText(Hlo("([i, j])->([i, j])"), "f.hlo")),
            "f.hlo:4:3: c: xla.sdy.sharding_rule:1:1: expected '#sdy.op_sharding_rule' before a "
            "sharding rule, found \"(\"");
}

}  // namespace
}  // namespace meshwright
