#include "meshwright/hlo/dead_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Module ParseDead(std::string_view text) {
  absl::StatusOr<Module> module = ParseHloText(text, "test");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) names.push_back(op.name);
  return names;
}

TEST(DeadCode, EffectsAndWhatTheyNeedStay) {
  const Module module = ParseDead(R"(HloModule m
ENTRY e {
  a = f32[8] parameter(0)
  unused = f32[8] parameter(1)
  dead = f32[8] sine(a)
  deader = f32[8] cosine(dead)
  printed = f32[8] tanh(a)
  print = () custom-call(printed), custom_call_target="print", custom_call_has_side_effect=true
  pure = f32[8] custom-call(a), custom_call_target="pure"
  ROOT r = f32[8] negate(a)
})");
  const absl::StatusOr<Graph> graph = BuildGraph(module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(Names(*graph), ElementsAre("a", "unused", "printed", "print", "r", "output"));
  EXPECT_THAT((*graph)[(*graph)[graph->parameters[1]].result()].users, IsEmpty());
}

TEST(DeadCode, LoopsKeepWhatTheirConditionNeeds) {
  const Module module = ParseDead(R"(HloModule m
cond {
  p = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  p = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(p), index=1
  y = f32[8] get-tuple-element(p), index=2
  x2 = f32[8] sine(x)
  y2 = f32[8] add(x, y)
  ROOT t = (s32[], f32[8], f32[8]) tuple(next, x2, y2)
}
ENTRY e {
  a = f32[8] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[8], f32[8]) tuple(zero, a, a)
  w = (s32[], f32[8], f32[8]) while(init), condition=cond, body=body
  ROOT x = f32[8] get-tuple-element(w), index=1
})");
  const absl::StatusOr<Graph> graph = BuildGraph(module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->loops.size(), 1u);
  EXPECT_EQ(graph->carries.size(), 2u);  // i and x
  EXPECT_EQ(graph->loops[0].trip_count, 5);
  EXPECT_EQ((*graph)[(*graph)[graph->loops[0].condition].producer].name, "lt");
  for (const Carry& carry : graph->carries) {
    EXPECT_TRUE((*graph)[carry.init].carried);
    EXPECT_TRUE((*graph)[carry.next].carried);
  }
  std::vector<int32_t> leaves;
  for (const Op& op : graph->ops) {
    if (op.kind == OpKind::kLoopExit) leaves.push_back(op.leaf_number);
  }
  EXPECT_THAT(leaves, ElementsAre(0, 1));
}

TEST(DeadCode, LoopsThatLeaveNothingAreGone) {
  const Module module = ParseDead(R"(HloModule m
cond {
  p = (s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  ROOT go = pred[] custom-call(i), custom_call_target="who_knows"
}
body {
  p = (s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  j = s32[] negate(i)
  ROOT t = (s32[]) tuple(j)
}
ENTRY e {
  a = s32[] parameter(0)
  init = (s32[]) tuple(a)
  w = (s32[]) while(init), condition=cond, body=body
  ROOT r = s32[] negate(a)
})");
  const absl::StatusOr<Graph> graph = BuildGraph(module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(graph->loops, IsEmpty());
  EXPECT_THAT(graph->carries, IsEmpty());
  EXPECT_THAT(graph->warnings, IsEmpty());  // nobody asks how often it would have run
  EXPECT_THAT(Names(*graph), ElementsAre("a", "r", "output"));
}

TEST(DeadCode, ConditionalsKeepPredicatesOfWhatIsLeft) {
  const Module module = ParseDead(R"(HloModule m
yes {
  p = (f32[8], f32[8]) parameter(0)
  x = f32[8] get-tuple-element(p), index=0
  s = f32[8] sine(x)
  c = f32[8] cosine(x)
  ROOT t = (f32[8], f32[8]) tuple(s, c)
}
no {
  p = (f32[8], f32[8]) parameter(0)
  y = f32[8] get-tuple-element(p), index=1
  e = f32[8] exponential(y)
  print = () custom-call(e), custom_call_target="print", custom_call_has_side_effect=true
  ROOT t = (f32[8], f32[8]) tuple(y, y)
}
ENTRY e {
  a = f32[8] parameter(0)
  b = pred[] parameter(1)
  nb = pred[] not(b)
  pair = (f32[8], f32[8]) tuple(a, a)
  kept = (f32[8], f32[8]) conditional(nb, pair, pair), true_computation=yes, false_computation=no
  ROOT r = f32[8] get-tuple-element(kept), index=1
})");
  const absl::StatusOr<Graph> graph = BuildGraph(module);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(Names(*graph), ElementsAre("a", "b", "nb", "c", "e", "print", "kept{1}", "output"));
  ASSERT_EQ(graph->conditionals.size(), 1u);
  EXPECT_EQ((*graph)[(*graph)[graph->conditionals[0].predicate].producer].name, "nb");
  const Op& select = graph->ops[6];
  EXPECT_EQ(select.leaf_number, 1);
  EXPECT_EQ(select.predicate, graph->conditionals[0].predicate);
}

}  // namespace
}  // namespace meshwright
