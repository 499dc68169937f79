#include "meshwright/sharding/call_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_split.h"
#include "meshwright/base/glob.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/sharding/call_rule.h"
#include "tests/sharding/call_stand_ins.h"

// The table of calls. That a rule gives the whole result shard by shard is proven with the other
// operators' (rule_oracle_test.cc).

namespace meshwright {
namespace {

Rule RuleOfCall(const std::string& entry) {
  const absl::StatusOr<Module> module = ParseHloText(ModuleText(entry), "call");
  if (!module.ok()) {
    ADD_FAILURE() << module.status() << entry;
    return Rule();
  }
  const absl::StatusOr<Graph> graph = BuildGraph(*module);
  EXPECT_TRUE(graph.ok()) << graph.status();
  for (const Op& op : graph->ops) {
    if (op.kind == OpKind::kInstruction && op.instruction->name == "r") return RuleFor(*graph, op);
  }
  return Rule();
}

bool IsMark(const CallRow& row) { return row.remark == "the value itself"; }

TEST(CallTable, EveryRowHasExamplesAndRemarkOrNotation) {
  for (const CallRow& row : CallTable()) {
    EXPECT_FALSE(row.notation.empty() && row.remark.empty()) << row.target;
    // A row without a notation is there to say so; an FFT is known to stay whole.
    if (row.notation.empty() || row.target == "*ducc_fft*") continue;
    const bool has = std::any_of(
        CallExamples().begin(), CallExamples().end(),
        [&](const CallExample& example) { return FindCall(example.call.target) == &row; });
    EXPECT_TRUE(has) << "no example for " << row.target;
  }
}

TEST(CallTable, NotationsAreRules) {
  for (const CallRow& row : CallTable()) {
    if (row.notation.empty()) continue;
    for (const absl::string_view line : absl::StrSplit(ToAbsl(row.notation), '\n')) {
      const absl::StatusOr<CallRule> rule = ParseCallRule(FromAbsl(line), row.target);
      EXPECT_TRUE(rule.ok()) << rule.status();
    }
  }
}

TEST(CallTable, RulesOfExamples) {
  Random random(1);
  for (const CallExample& example : CallExamples()) {
    if (IsMark(*FindCall(example.call.target))) continue;  // no operators of the graph
    const std::string entry = RandomCall(example, random);
    const Rule rule = RuleOfCall(entry);
    EXPECT_TRUE(rule.supported) << entry;
    EXPECT_EQ(rule.ToString(), example.rule) << entry;
  }
}

// Flops count the pairs of queries and keys that meet.
TEST(CallTable, FlopsOfAttention) {
  const auto flops = [](std::string_view mask, int64_t window) {
    return RuleOfCall(
               StrCat("  q = bf16[2,8,4,16] parameter(0)\n  k = bf16[2,8,2,16] parameter(1)\n"
                      "  v = bf16[2,8,2,16] parameter(2)\n  ROOT r = (bf16[2,4,8,16], u8[0]) "
                      "custom-call(q, k, v), custom_call_target=\"__cudnn$fmhaSoftmax\", "
                      "backend_config={\"cudnn_fmha_backend_config\": {\"mask_type\": \"",
                      mask, "\", \"sliding_window_length\": ", window,
                      ", \"bmm1_dot_dimension_numbers\": {\"lhs_batch_dimensions\": [\"0\", "
                      "\"2\"]}}}\n"))
        .flops;
  };
  constexpr double kPerPair = 2 * 4 * (2 * 16 + 2 * 16);  // samples, heads, two products
  EXPECT_EQ(flops("NO_MASK", 0), 64 * kPerPair);
  EXPECT_EQ(flops("CAUSAL", 0), 36 * kPerPair);
  EXPECT_EQ(flops("CAUSAL", 2), 15 * kPerPair);
}

TEST(CallTable, ACallThatIsNotAsItsRowSaysHasNoRule) {
  EXPECT_FALSE(RuleOfCall("  q = bf16[2,8,4,16] parameter(0)\n  ROOT r = bf16[2,8,4,16] "
                          "custom-call(q), custom_call_target=\"__cudnn$fmhaSoftmax\"\n")
                   .supported);
  EXPECT_FALSE(RuleOfCall("  x = f32[4,8] parameter(0)\n  ROOT r = f32[4,9] custom-call(x), "
                          "custom_call_target=\"te_scaled_softmax_forward_ffi\"\n")
                   .supported);
}

}  // namespace
}  // namespace meshwright
