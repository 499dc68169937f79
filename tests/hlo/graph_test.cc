#include "meshwright/hlo/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A graph and the module it points into.
struct GraphOfText {
  std::unique_ptr<Module> module;
  Graph graph;

  const Op* Find(std::string_view name) const {
    for (const Op& op : graph.ops) {
      if (op.name == name) return &op;
    }
    return nullptr;
  }
  std::string NameOf(ValueId value) const {
    const Value& v = graph[value];
    const Op& op = graph[v.producer];
    return op.results.size() > 1 ? StrCat(op.name, "#", v.result) : op.name;
  }
  // "add(a, b)" for every op but parameters and constants, in order.
  std::vector<std::string> Listing() const {
    std::vector<std::string> lines;
    for (const Op& op : graph.ops) {
      const bool leaf =
          op.kind == OpKind::kInstruction && (op.instruction->opcode == Opcode::kParameter ||
                                              op.instruction->opcode == Opcode::kConstant);
      if (leaf) continue;
      std::vector<std::string> operands;
      for (ValueId operand : op.operands) operands.push_back(NameOf(operand));
      lines.push_back(StrCat(op.name, "(", absl::StrJoin(operands, ", "), ")"));
    }
    return lines;
  }
};

// What holds for every graph.
void CheckInvariants(const Graph& graph) {
  std::set<std::string> names;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    EXPECT_TRUE(names.insert(op.name).second) << "two ops are called " << op.name;
    for (ValueId operand : op.operands) {
      EXPECT_LT(graph[operand].producer, OpId(i)) << op.name;
      const std::vector<OpId>& users = graph[operand].users;
      EXPECT_EQ(std::count(users.begin(), users.end(), OpId(i)), 1) << op.name;
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      EXPECT_EQ(graph[op.results[r]].producer, OpId(i));
      EXPECT_EQ(graph[op.results[r]].result, static_cast<int32_t>(r));
      EXPECT_FALSE(graph[op.results[r]].shape.is_tuple()) << op.name;
    }
    double multiplicity = 1;
    for (int32_t loop = op.loop; loop >= 0; loop = graph.loops[loop].parent) {
      multiplicity *= graph.loops[loop].trip_count;
      EXPECT_LE(graph.loops[loop].begin, OpId(i)) << op.name;
      EXPECT_LT(OpId(i), graph.loops[loop].end) << op.name;
    }
    EXPECT_EQ(op.multiplicity, multiplicity) << op.name;
  }
  for (const Carry& carry : graph.carries) {
    EXPECT_TRUE(graph[carry.parameter].shape.SameType(graph[carry.next].shape));
    EXPECT_TRUE(graph[carry.init].shape.SameType(graph[carry.exit].shape));
    EXPECT_EQ(carry.invariant, carry.next == carry.parameter);
  }
  EXPECT_EQ(graph.output_alias.size(), graph.outputs.size());
}

GraphOfText Build(std::string_view text) {
  absl::StatusOr<Module> module = ParseHloText(text, "test.hlo");
  EXPECT_TRUE(module.ok()) << module.status();
  GraphOfText program;
  if (!module.ok()) return program;
  program.module = std::make_unique<Module>(*std::move(module));
  absl::StatusOr<Graph> graph = BuildGraph(*program.module);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (graph.ok()) program.graph = *std::move(graph);
  CheckInvariants(program.graph);
  return program;
}

TEST(GraphTest, CallsAreInlinedAndNamedByTheirSites) {
  const GraphOfText p = Build(R"(HloModule m
twice { x = f32[4] parameter(0) ROOT y = f32[4] add(x, x) }
outer { u = f32[4] parameter(0) ROOT v = f32[4] call(u), to_apply=twice }
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] call(a), to_apply=twice
  c = f32[4] call(b), to_apply=outer
  d = f32[4] fusion(c), kind=kLoop, calls=fused
  ROOT r = f32[4] negate(d)
}
fused { g = f32[4] parameter(0) ROOT h = f32[4] exponential(g) })");
  EXPECT_THAT(p.Listing(),
              ElementsAre("b/y(a, a)", "v/y(b/y, b/y)", "h(v/y)", "r(h)", "output(r)"));
  EXPECT_THAT(p.graph[p.graph.parameters[0]].results, SizeIs(1));
}

TEST(GraphTest, EqualNamesInTwoComputationsAreToldApart) {
  const GraphOfText p = Build(R"(HloModule m
f { x = f32[4] parameter(0) ROOT y = f32[4] negate(x) }
g { x = f32[4] parameter(0) ROOT y = f32[4] abs(x) }
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] call(a), to_apply=f
  ROOT c = f32[4] call(b), to_apply=g
})");
  EXPECT_THAT(p.Listing(), ElementsAre("y(a)", "y~2(y)", "output(y~2)"));
}

TEST(GraphTest, TuplesDissolve) {
  const GraphOfText p = Build(R"(HloModule m, input_output_alias={ {1,0}: (0, {1}, may-alias) }
ENTRY e {
  t = (f32[4], (f32[2], s32[])) parameter(0)
  a = f32[4] get-tuple-element(t), index=0
  n = (f32[2], s32[]) get-tuple-element(t), index=1
  b = (f32[4], (f32[2], s32[])) tuple(a, n)
  c = (f32[4], (f32[2], s32[])) opt-barrier(b)
  d = (f32[2], s32[]) get-tuple-element(c), index=1
  s = s32[] get-tuple-element(d), index=1
  i = s32[] negate(s)
  u = f32[4] get-tuple-element(c), index=0
  v = (f32[4], s32[]) tuple(u, i)
  ROOT r = (s32[], (f32[4], s32[])) tuple(s, v)
})");
  EXPECT_THAT(p.Listing(),
              ElementsAre("i(t{1,1})", "output{0}(t{1,1})", "output{1,0}(t{0})", "output{1,1}(i)"));
  ASSERT_THAT(p.graph.parameters, SizeIs(3));
  EXPECT_THAT(p.graph[p.graph.parameters[2]].leaf, ElementsAre(1, 1));
  EXPECT_EQ(p.graph[p.graph.parameters[2]].parameter, 0);
  // The alias above names no leaf ({1} is a tuple): it is ignored, with a warning.
  EXPECT_THAT(p.graph.output_alias, ElementsAre(-1, -1, -1));
  ASSERT_THAT(p.graph.warnings, SizeIs(1));
  EXPECT_THAT(p.graph.warnings[0], HasSubstr("{1,0}"));
}

TEST(GraphTest, AliasesJoinLeaves) {
  const GraphOfText p = Build(
      R"(HloModule m, input_output_alias={ {1}: (0, {}, may-alias), {0}: (1, {}, must-alias) }
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  c = f32[4] add(a, b)
  ROOT r = (f32[4], f32[4], f32[4]) tuple(a, c, c)
})");
  EXPECT_THAT(p.graph.output_alias, ElementsAre(1, 0, -1));
}

constexpr std::string_view kLoop = R"(HloModule m
condition {
  cp = (s32[], f32[4], f32[4]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  cn = s32[] constant(6)
  ROOT less = pred[] compare(ci, cn), direction=LT
}
body {
  bp = (s32[], f32[4], f32[4]) parameter(0)
  bi = s32[] get-tuple-element(bp), index=0
  one = s32[] constant(1)
  bj = s32[] add(bi, one)
  bx = f32[4] get-tuple-element(bp), index=1
  bw = f32[4] get-tuple-element(bp), index=2
  by = f32[4] multiply(bx, bw)
  ROOT bt = (s32[], f32[4], f32[4]) tuple(bj, by, bw)
}
ENTRY e {
  x = f32[4] parameter(0)
  w = f32[4] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[4], f32[4]) tuple(zero, x, w)
  loop = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body
  y = f32[4] get-tuple-element(loop), index=1
  ROOT r = f32[4] negate(y)
})";

TEST(GraphTest, LoopsAreOpened) {
  const GraphOfText p = Build(kLoop);
  EXPECT_THAT(p.Listing(), ElementsAre("loop/carry{0}()", "loop/carry{1}()", "loop/carry{2}()",
                                       "less(loop/carry{0}, cn)", "bj(loop/carry{0}, one)",
                                       "by(loop/carry{1}, loop/carry{2})", "loop{0}()", "loop{1}()",
                                       "loop{2}()", "r(loop{1})", "output(r)"));
  ASSERT_THAT(p.graph.loops, SizeIs(1));
  EXPECT_EQ(p.graph.loops[0].trip_count, 6);
  EXPECT_TRUE(p.graph.loops[0].trip_count_known);
  EXPECT_EQ(p.Find("by")->multiplicity, 6);
  EXPECT_EQ(p.Find("r")->multiplicity, 1);
  ASSERT_THAT(p.graph.carries, SizeIs(3));
  const Carry& carry = p.graph.carries[1];
  EXPECT_EQ(p.NameOf(carry.init), "x");
  EXPECT_EQ(p.NameOf(carry.parameter), "loop/carry{1}");
  EXPECT_EQ(p.NameOf(carry.next), "by");
  EXPECT_EQ(p.NameOf(carry.exit), "loop{1}");
  EXPECT_FALSE(carry.invariant);
  EXPECT_TRUE(p.graph.carries[2].invariant);
}

TEST(GraphTest, UnknownTripCountWarns) {
  std::string text(kLoop);
  text.replace(text.find("add(bi, one)"), 12, "multiply(bi, bi)");
  const GraphOfText p = Build(text);
  EXPECT_EQ(p.graph.loops[0].trip_count, 1);
  EXPECT_FALSE(p.graph.loops[0].trip_count_known);
  ASSERT_THAT(p.graph.warnings, SizeIs(1));
  EXPECT_THAT(p.graph.warnings[0], HasSubstr("\"loop\""));
}

TEST(GraphTest, ConditionalsJoinTheirBranches) {
  const GraphOfText p = Build(R"(HloModule m
yes { y = (f32[4], f32[4]) parameter(0)
  y0 = f32[4] get-tuple-element(y), index=0
  y1 = f32[4] get-tuple-element(y), index=1
  ROOT ys = f32[4] add(y0, y1) }
no { n = f32[4] parameter(0) ROOT ns = f32[4] negate(n) }
ENTRY e {
  p = pred[] parameter(0)
  a = f32[4] parameter(1)
  b = f32[4] parameter(2)
  t = (f32[4], f32[4]) tuple(a, b)
  ROOT c = f32[4] conditional(p, t, b), true_computation=yes, false_computation=no
})");
  EXPECT_THAT(p.Listing(), ElementsAre("ys(a, b)", "ns(b)", "c(ys, ns)", "output(c)"));
  EXPECT_EQ(p.Find("c")->kind, OpKind::kSelectBranch);
}

TEST(GraphTest, AsynchronousPairs) {
  const GraphOfText p = Build(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
wrapped { wp = f32[8] parameter(0) ROOT wn = f32[8] negate(wp) }
ENTRY e {
  p = f32[8] parameter(0)
  ag = (f32[8], f32[16]) all-gather-start(p), replica_groups={{0,1}}, dimensions={0}
  in = f32[8] get-tuple-element(ag), index=0
  agd = f32[16] all-gather-done(ag)
  ar = f32[8] all-reduce-start(in), replica_groups={{0,1}}, to_apply=add
  ard = f32[8] all-reduce-done(ar)
  cp = (f32[8], f32[8], u32[], u32[]) collective-permute-start(ard), source_target_pairs={{0,1}}
  cpd = f32[8] collective-permute-done(cp)
  co = (f32[8], f32[8], u32[]) copy-start(cpd)
  cod = f32[8] copy-done(co)
  as = ((f32[8]), f32[8], s32[]) async-start(cod), calls=wrapped
  up = ((f32[8]), f32[8], s32[]) async-update(as)
  asd = f32[8] async-done(up)
  ROOT r = (f32[8], f32[16]) tuple(asd, agd)
})");
  EXPECT_THAT(p.Listing(), ElementsAre("ag(p)", "ar(p)", "cp(ar)", "co(cp#0)", "wn(co#0)",
                                       "output{0}(wn)", "output{1}(ag)"));
}

// XLA of 2026 wraps every collective; reduce-scatter's to_apply is its reduction, not the wrapped
// operation.
TEST(GraphTest, AsynchronousPairsOfGenericShape) {
  const GraphOfText p = Build(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  ar = ((f32[8]), f32[8]) all-reduce-start(p), replica_groups={{0,1}}, to_apply=add
  ard = f32[8] all-reduce-done(ar)
  rs = ((f32[8], f32[8]), (f32[4], f32[4])) reduce-scatter-start(ard, q), replica_groups={{0,1}}, dimensions={0}, to_apply=add
  rsd = (f32[4], f32[4]) reduce-scatter-done(rs)
  a2a = ((f32[8]), f32[8]) all-to-all-start(q), replica_groups={{0,1}}, dimensions={0}
  a2d = f32[8] all-to-all-done(a2a)
  x = f32[4] get-tuple-element(rsd), index=1
  ROOT r = (f32[4], f32[8]) tuple(x, a2d)
})");
  EXPECT_THAT(p.Listing(),
              ElementsAre("ar(p)", "rs(ar, q)", "a2a(q)", "output{0}(rs#1)", "output{1}(a2a)"));
}

TEST(GraphTest, ShardingsStayWithTheirValues) {
  const GraphOfText p = Build(R"(HloModule m
ENTRY e {
  a = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  b = f32[4] parameter(1)
  c = f32[4] custom-call(b), custom_call_target="Sharding", sharding={replicated}
  d = f32[4] custom-call(a), custom_call_target="Sharding", sharding={replicated}
  e = f32[4] add(c, d)
  ROOT r = (f32[4], f32[4]) tuple(e, a), sharding={{maximal device=1}, {replicated}}
})");
  EXPECT_THAT(p.Listing(), ElementsAre("d(a)", "e(b, d)", "output{0}(e)", "output{1}(a)"));
  const auto sharding = [&](std::string_view name) {
    return p.graph[p.Find(name)->results[0]].sharding;
  };
  EXPECT_EQ(sharding("a"), "{devices=[2]<=[2]}");
  EXPECT_EQ(sharding("b"), "{replicated}");
  EXPECT_EQ(sharding("d"), "{replicated}") << "another sharding than a's: it stays";
  EXPECT_EQ(sharding("e"), "") << "the result's, not the value's";
}

// Modules no reader lets through.
Module Chain(int computations) {
  Module module;
  module.name = "chain";
  for (int i = 0; i < computations; ++i) {
    Computation& c = module.computations.emplace_back();
    c.name = StrCat("c", i);
    Instruction parameter;
    parameter.name = "p";
    parameter.opcode = Opcode::kParameter;
    parameter.parameter_number = 0;
    parameter.shape = Shape::Array(ElementType::kF32, {});
    c.instructions.push_back(parameter);
    c.parameters = {InstructionId(size_t{0})};
    for (int k = 0; i > 0 && k < 2; ++k) {  // two calls each: 2^i instructions once inlined
      Instruction call = parameter;
      call.name = StrCat("call", k);
      call.opcode = Opcode::kCall;
      call.operands = {InstructionId(c.instructions.size() - 1)};
      call.called = {ComputationId(static_cast<size_t>(i - 1))};
      c.instructions.push_back(call);
    }
    c.root = InstructionId(c.instructions.size() - 1);
    c.instructions.back().is_root = true;
  }
  module.entry = ComputationId(module.computations.size() - 1);
  return module;
}

TEST(GraphTest, ExplosionIsRefused) {
  EXPECT_TRUE(BuildGraph(Chain(10)).ok());
  EXPECT_THAT(BuildGraph(Chain(60)).status().message(),
              HasSubstr("more than 4194304 instructions"));
  EXPECT_THAT(BuildGraph(Chain(1000)).status().message(), HasSubstr("deep"));
}

TEST(GraphTest, BrokenModulesAreErrors) {
  Module module = Chain(3);
  module.computations[0].instructions[0].opcode = Opcode::kCall;
  EXPECT_FALSE(BuildGraph(module).ok());

  module = Chain(3);
  module.computations[1].instructions[1].called = {ComputationId(size_t{2})};
  EXPECT_THAT(BuildGraph(module).status().message(), HasSubstr("recursively"));
  module.computations[1].instructions[1].called = {ComputationId(size_t{9})};
  EXPECT_THAT(BuildGraph(module).status().message(), HasSubstr("does not exist"));

  module = Chain(3);
  module.computations[2].instructions[1].operands = {InstructionId(size_t{2})};
  EXPECT_THAT(BuildGraph(module).status().message(), HasSubstr("does not come before it"));

  EXPECT_THAT(BuildGraph(Module()).status().message(), HasSubstr("no entry"));
}

TEST(Graph, SizesThatAreOnlyBoundedAreNamed) {
  const auto graph_of = [](const std::string& type) {
    const Module module =
        ParseHloText("HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  q = " + type +
                         " parameter(1)\n  ROOT n = " + type + " negate(q)\n}\n",
                     "test.hlo")
            .value();
    const Graph graph = BuildGraph(module).value();
    return std::pair(FindBoundedSize(graph), graph.warnings);
  };
  EXPECT_EQ(
      graph_of("f32[<=64,32]"),
      std::pair(std::string("\"q\" f32[<=64,32]"),
                std::vector<std::string>{"\"q\" f32[<=64,32] has a size that is only bounded; "
                                         "it is taken to be always the bound"}));
  EXPECT_EQ(graph_of("f32[64,32]"), std::pair(std::string(), std::vector<std::string>()));
}

}  // namespace
}  // namespace meshwright
