#include "meshwright/sharding/given_call_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/hlo/text/reader.h"
#include "meshwright/sharding/call_rule.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kProgram =
    "HloModule m\nENTRY e {\n  x = f32[8,16,64] parameter(0)\n  w = f32[64] parameter(1)\n"
    "  ROOT c = f32[8,16,64] custom-call(x, w), custom_call_target=\"my_norm_2\"\n}\n";

struct ReadModule {
  Module module;
  Graph graph;
};

void Read(std::string_view text, ReadModule* read) {
  absl::StatusOr<Module> module = ParseHloText(std::string(text), "m");
  ASSERT_TRUE(module.ok()) << module.status();
  read->module = *std::move(module);
  absl::StatusOr<Graph> graph = BuildGraph(read->module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  read->graph = *std::move(graph);
}

const Op& CallIn(const Graph& graph) {
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kInstruction && op.instruction->opcode == Opcode::kCustomCall) return op;
  }
  std::abort();
}

absl::Status Give(std::string_view rules, ReadModule* read) {
  const auto parsed = ParseGivenCallRules(rules, "rules.txt");
  if (!parsed.ok()) return parsed.status();
  return StateGivenCallRules(*parsed, read->graph, &read->module);
}

TEST(GivenCallRules, TheFirstLineThatFitsHolds) {
  ReadModule read;
  Read(kProgram, &read);
  const absl::Status given = Give(
      "# of this project\n\nmy_norm_*  ([b, h], [h])->([b, h])  # two dimensions\n"
      "my_norm_* ([b, s, h], [h])->([b, s, h]) need_replication={h} flops=6*b*s*h "
      "bytes=8*b*s*h+4*h memory=max(b, s)*4 kernel=matmul\n",
      &read);
  ASSERT_TRUE(given.ok()) << given;
  const Rule rule = RuleFor(read.graph, CallIn(read.graph));
  EXPECT_TRUE(rule.supported);
  EXPECT_EQ(rule.ToString(), "([b,s,h],[h])->[b,s,h] h:whole");
  EXPECT_EQ(rule.flops, 6 * 8 * 16 * 64);
  EXPECT_EQ(rule.bytes, 8 * 8 * 16 * 64 + 4 * 64);
  EXPECT_EQ(rule.scratch, 64);
  EXPECT_EQ(rule.kernel, KernelClass::kMatmul);
}

TEST(GivenCallRules, CallsOfOtherTargetsKeepTheirs) {
  ReadModule read;
  Read(kProgram, &read);
  ASSERT_TRUE(Give("other ([b])->([b])\n", &read).ok());
  EXPECT_FALSE(RuleFor(read.graph, CallIn(read.graph)).supported);
}

TEST(GivenCallRules, Errors) {
  ReadModule read;
  Read(kProgram, &read);
  const auto error = [&](std::string_view rules) {
    return std::string(Give(rules, &read).message());
  };
  EXPECT_THAT(error("\nmy_norm ([b, s)->([b, s])\n"), HasSubstr("rules.txt:2:"));
  EXPECT_THAT(error("my_norm ([b], [s])->([b]) reduction={t}\n"),
              HasSubstr("expected a factor of the rule (b, s), found \"t\""));
  EXPECT_THAT(error("my_norm ([b])->([b]) flops=2*n\n"),
              HasSubstr("expected a factor of the rule, found \"n\""));
  EXPECT_THAT(error("my_norm ([b])->([b]) flops=2*(b\n"), HasSubstr("rules.txt:1:"));
  EXPECT_THAT(
      error("my_norm ([b])->([b]) kernel=fast\n"),
      HasSubstr("expected loop, atomic, sort, top_k, scan, matmul, attention, attention_backward"));
  EXPECT_THAT(error("my_norm ([b])->([b]) cost=1\n"), HasSubstr("reduction="));
  EXPECT_THAT(error("my_norm_2 ([b], [h])->([b])\n"),
              HasSubstr("rules.txt:1: the rule for my_norm_2 gives operand 0, f32[8,16,64], 1 "
                        "dimensions (call \"c\" to my_norm_2)"));
  EXPECT_THAT(error("my_norm_2 ([b, s, s], [h])->([b, s, h])\n"), HasSubstr("makes 64 of s"));
  EXPECT_THAT(error("my_norm_2 ([b, s, hd], [h])->([b, s, hd])\n"), HasSubstr(""));
}

// The draft is a rule for the call it was made from.
TEST(GivenCallRules, ADraftCanBeGiven) {
  ReadModule read;
  Read(kProgram, &read);
  const std::string draft = DraftCallRule(read.graph, CallIn(read.graph));
  EXPECT_EQ(draft, "my_norm_2  ([a, b, c], [c])->([a, b, c]) need_replication={a, b, c}");
  ASSERT_TRUE(Give(draft, &read).ok());
  EXPECT_TRUE(RuleFor(read.graph, CallIn(read.graph)).supported);
}

// A factor that a result has shards it; results without it are partial sums.
TEST(GivenCallRules, ReducedFactorsShardTheResultsThatHaveThem) {
  ReadModule read;
  Read(
      "HloModule m\nENTRY e {\n  x = f32[8,64] parameter(0)\n  ROOT c = (f32[8,64], f32[64]) "
      "custom-call(x), custom_call_target=\"gradients\"\n}\n",
      &read);
  ASSERT_TRUE(Give("gradients ([..., h])->([..., h], [h]) reduction={...}\n", &read).ok());
  const Rule rule = RuleFor(read.graph, CallIn(read.graph));
  EXPECT_EQ(rule.ToString(), "([i,h])->([i,h],[h]) i:sum");
}

}  // namespace
}  // namespace meshwright
