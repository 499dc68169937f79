#include "meshwright/hlo/inline_calls.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"
#include "meshwright/hlo/verify/verifier.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

Module Parse(const std::string& text) {
  absl::StatusOr<Module> module = ParseHloText(text, "test");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// What has no place in the user's program gets that of the call.
Metadata WithoutSource(const Op& op) {
  Metadata metadata = op.instruction->metadata;
  metadata.source_file.clear();
  metadata.source_line = metadata.source_end_line = 0;
  metadata.source_column = metadata.source_end_column = 0;
  metadata.stack_frame_id = 0;
  return metadata;
}

// What the operators of two graphs have in common but their names.
void ExpectSameOps(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.ops.size(), b.ops.size());
  for (size_t i = 0; i < a.ops.size(); ++i) {
    const Op &x = a.ops[i], &y = b.ops[i];
    ASSERT_EQ(x.kind, y.kind) << x.name;
    // Outputs stand for the root, which may have been a call.
    const bool was_call = x.kind == OpKind::kOutput && x.instruction->opcode == Opcode::kCall;
    if (!was_call) {
      ASSERT_EQ(x.instruction->opcode, y.instruction->opcode) << x.name;
      ASSERT_EQ(WithoutSource(x), WithoutSource(y)) << x.name;
    }
    ASSERT_EQ(x.operands, y.operands) << x.name;
    ASSERT_EQ(x.results, y.results) << x.name;
    ASSERT_EQ(x.multiplicity, y.multiplicity) << x.name;
    ASSERT_EQ(x.loop, y.loop) << x.name;
    for (ValueId v : x.results) {
      ASSERT_EQ(a[v].shape, b[v].shape) << x.name;
      ASSERT_EQ(a[v].sharding, b[v].sharding) << x.name;
    }
  }
  for (size_t i = 0; i < a.parameters.size(); ++i) {
    EXPECT_EQ(a[a.parameters[i]].name, b[b.parameters[i]].name);
  }
  EXPECT_EQ(a.output_alias, b.output_alias);
}

void ExpectInlined(const Module& module) {
  const absl::StatusOr<Module> inlined = InlineCalls(module);
  ASSERT_TRUE(inlined.ok()) << inlined.status();
  std::set<std::string> names;
  std::multiset<int32_t> owned;
  for (const Computation& computation : inlined->computations) {
    for (const Instruction& i : computation.instructions) {
      EXPECT_TRUE(names.insert(i.name).second) << i.name << " twice";
      EXPECT_NE(i.opcode, Opcode::kCall);
      if (i.opcode != Opcode::kWhile && i.opcode != Opcode::kConditional) continue;
      for (ComputationId called : i.called) owned.insert(called.value);
    }
  }
  for (int32_t called : owned) EXPECT_EQ(owned.count(called), 1u);
  EXPECT_EQ(FindVerifierError(*inlined), std::nullopt) << FindVerifierError(*inlined)->message;
  const absl::StatusOr<Graph> before = BuildGraph(module), after = BuildGraph(*inlined);
  ASSERT_TRUE(before.ok() && after.ok());
  ExpectSameOps(*before, *after);
  // It is a program that can be written and read.
  const absl::StatusOr<Module> read = ParseHloText(ToHloText(*inlined), "again");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, *inlined);
}

constexpr char kInner[] = R"(
inner {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  ROOT c = f32[4] add(a, b)
}
)";

constexpr char kNested[] = R"(outer {
  x = f32[4] parameter(0)
  y = f32[4] call(x, x), to_apply=inner
  z = f32[4] call(y, x), to_apply=inner
  ROOT t = (f32[4], f32[4]) tuple(z, x)
}
body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  w = f32[4] call(v, v), to_apply=inner, sharding={replicated}
  ROOT r = (s32[], f32[4]) tuple(j, w)
}
condition {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}
ENTRY main {
  a = f32[4] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, a)
  first = (s32[], f32[4]) while(init), condition=condition, body=body
  second = (s32[], f32[4]) while(first), condition=condition, body=body
  out = f32[4] get-tuple-element(second), index=1
  both = (f32[4], f32[4]) call(out), to_apply=outer
  x = f32[4] get-tuple-element(both), index=0
  y = f32[4] get-tuple-element(both), index=1
  c = f32[4] add(x, y)
  ROOT result = (f32[4]) tuple(c)
})";

TEST(InlineCallsTest, NestedCallsAndSharedLoops) {
  const Module module =
      Parse(std::string("HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }") + kInner +
            kNested);
  ExpectInlined(module);
  const Module inlined = *InlineCalls(module);
  EXPECT_EQ(inlined.computations.size(), 5u) << "two bodies, two conditions, the entry";
  EXPECT_EQ(inlined.input_output_alias, module.input_output_alias);
  EXPECT_EQ(*InlineCalls(inlined), inlined);
}

// A quotient by 1 computes nothing, whether the 1 stands beside it or comes as an argument.
TEST(InlineCallsTest, NeutralArguments) {
  const Module module = Parse(R"(HloModule m

divide {
  x = f32[4] parameter(0)
  n = f32[] parameter(1)
  all = f32[4] broadcast(n), dimensions={}
  q = f32[4] divide(x, all)
  ROOT s = f32[4] sine(q)
}
ENTRY main {
  a = f32[4] parameter(0)
  one = f32[] constant(1)
  two = f32[] constant(2)
  b = f32[4] call(a, one), to_apply=divide
  ROOT c = f32[4] call(b, two), to_apply=divide
})");
  ExpectInlined(module);
  const Graph graph = *BuildGraph(module);
  const auto quotients = std::count_if(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    return op.instruction->opcode == Opcode::kDivide;
  });
  EXPECT_EQ(quotients, 1);
}

// By what main ends with.
TEST(InlineCallsTest, RootIsACall) {
  constexpr char kFunctions[] = R"(outer {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  ROOT z = f32[4] call(y, x), to_apply=inner
}
same {
  ROOT x = f32[4] parameter(0)
}
pair {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  ROOT t = (f32[4], f32[4]) tuple(y, x)
}
ENTRY main {
  a = f32[4] parameter(0)
  n = f32[4] sine(a)
)";
  for (const char* end : {
           "ROOT r = f32[4] call(n, a), to_apply=inner",
           "ROOT r = f32[4] call(n), to_apply=outer",
           "ROOT r = f32[4] call(n), to_apply=same",
           "ROOT r = f32[4] call(a), to_apply=same",
           "ROOT r = f32[4] call(n), to_apply=same, sharding={devices=[2]<=[2]}",
           "ROOT r = f32[4] call(a), to_apply=same, sharding={devices=[2]<=[2]}",
           "r = f32[4] call(n), to_apply=same, sharding={replicated}\nROOT s = f32[4] negate(r)",
           "r = f32[4] call(n), to_apply=same, sharding={replicated}\n"
           "ROOT s = f32[4] call(r), to_apply=same, sharding={devices=[2]<=[2]}",
           "ROOT r = (f32[4], f32[4]) call(n), to_apply=pair",
           "r = f32[4] call(n), to_apply=outer ROOT t = (f32[4]) tuple(r)",
           "r = f32[4] call(n), to_apply=outer ROOT t = (f32[4], f32[4]) tuple(n, r)",
           "ROOT r = f32[4] call(n, n), to_apply=inner last = f32[4] call(n), to_apply=outer",
       }) {
    SCOPED_TRACE(end);
    ExpectInlined(Parse(std::string("HloModule m") + kInner + kFunctions + end + "\n}"));
  }
}

TEST(InlineCallsTest, Errors) {
  Module loop = Parse(R"(HloModule m
one { a = f32[] parameter(0) ROOT c = f32[] negate(a) }
two { a = f32[] parameter(0) ROOT c = f32[] call(a), to_apply=one }
ENTRY main { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=two })");
  Module few = loop;
  for (Computation& computation : few.computations) {
    for (Instruction& i : computation.instructions) {
      if (i.name == "y") i.operands.clear();
    }
  }
  EXPECT_THAT(std::string(InlineCalls(few).status().message()),
              HasSubstr("\"y\" gives 0 arguments to computation \"two\", which takes 1"));
  for (Computation& computation : loop.computations) {
    if (computation.name != "two") continue;
    for (Instruction& i : computation.instructions) {
      if (i.opcode == Opcode::kCall) {
        i.called[0] = ComputationId(static_cast<size_t>(&computation - loop.computations.data()));
      }
    }
  }
  EXPECT_THAT(std::string(InlineCalls(loop).status().message()), HasSubstr("\"two\" calls itself"));
}

TEST(InlineCallsTest, WhatHasNoPlaceIsWhereItIsCalled) {
  const Module module = Parse(R"(HloModule m
f {
  a = f32[4] parameter(0)
  b = f32[4] negate(a)
  ROOT c = f32[4] tanh(b), metadata={source_file="inner.py" source_line=2}
}
ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] call(x), to_apply=f, metadata={source_file="model.py" source_line=7}
})");
  const absl::StatusOr<Module> inlined = InlineCalls(module);
  ASSERT_TRUE(inlined.ok()) << inlined.status();
  const std::vector<Instruction>& found = inlined->entry_computation().instructions;
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].metadata.source_file, "model.py");
  EXPECT_EQ(found[1].metadata.source_line, 7);
  EXPECT_EQ(found[2].metadata.source_file, "inner.py");
}

TEST(InlineCallsTest, Programs) {
  size_t count = 0;
  for (const std::string folder : {MESHWRIGHT_TEST_DATA "/hlo", MESHWRIGHT_SHARED "/hlo"}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string path = entry.path().string();
      if (!path.ends_with(".hlo.txt.gz")) continue;
      SCOPED_TRACE(path);
      const absl::StatusOr<Module> module = ReadHlo(path);
      ASSERT_TRUE(module.ok()) << module.status();
      ExpectInlined(*module);
      ++count;
    }
  }
  EXPECT_GE(count, 4u);
}

}  // namespace
}  // namespace meshwright
