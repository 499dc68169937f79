#include "meshwright/plan/annotate/annotate.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

Mesh TestMesh() {
  Cluster cluster;
  cluster.devices_per_node = 8;
  return MakeMesh({2, 4}, cluster);
}

// A program and a made-up plan in which every value is replicated but for the given ones (by op
// name).
struct Annotated {
  Module module;                          // after annotation, as read back from its text
  std::map<std::string, std::string> of;  // instruction name to its sharding

  Annotated(const std::string& text, const std::map<std::string, std::string>& shardings) {
    const Mesh mesh = TestMesh();
    const Module source = ParseHloText(text, "test.hlo").value();
    const Graph graph = BuildGraph(source).value();
    IntraPlan intra;
    intra.ops.resize(graph.ops.size());
    for (const Value& value : graph.values) {
      const auto given = shardings.find(graph[value.producer].name);
      intra.shardings.push_back(
          given == shardings.end()
              ? Sharding::Replicated(value.shape.rank())
              : ParseSharding(given->second, mesh, value.shape.rank()).value());
    }
    const Module annotated =
        AnnotateModule(graph, mesh, intra, TiedParameters(graph, /*by_position=*/true));
    const absl::StatusOr<Module> read = ParseHloText(ToHloText(annotated), "annotated.hlo");
    EXPECT_TRUE(read.ok()) << read.status() << "\n" << ToHloText(annotated);
    if (!read.ok()) return;
    module = *read;
    for (const Computation& computation : module.computations) {
      for (const Instruction& instruction : computation.instructions) {
        of[instruction.name] = instruction.sharding;
      }
    }
  }
};

TEST(AnnotateModule, ArraysTuplesAndTheRoot) {
  Annotated a(R"(
HloModule m
ENTRY main {
  w = f32[8,8] parameter(0), sharding={replicated}
  x = f32[8,8] parameter(1)
  y = f32[8,8] add(w, x)
  s = f32[] constant(1)
  ROOT out = (f32[8,8], f32[]) tuple(y, s)
}
)",
              {{"w", "[x,y]"}, {"x", "[(x,y),_]"}, {"y", "[_,y]"}});
  EXPECT_EQ(a.of["w"], "{devices=[2,4]<=[8]}");
  EXPECT_EQ(a.of["x"], "{devices=[8,1]<=[8]}");
  EXPECT_EQ(a.of["s"], "{replicated}");
  // The first output replaces w and leaves as that is stored.
  EXPECT_EQ(a.of["out"], "{{devices=[2,4]<=[8]}, {replicated}}");
  EXPECT_EQ(a.of["y"].find("last_tile_dim_replicate") == std::string::npos, false);
  bool partitions = false;
  for (const auto& [key, value] : a.module.other)
    partitions |= key == "num_partitions" && value == "8";
  EXPECT_TRUE(partitions);
}

TEST(AnnotateModule, LoopsCarryTupleShardings) {
  Annotated a(R"(
HloModule m
cond {
  cp = (s32[], f32[8,8]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  cn = s32[] constant(4)
  ROOT cc = pred[] compare(ci, cn), direction=LT
}
body {
  p = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[8,8] get-tuple-element(p), index=1
  vv = f32[8,8] add(v, v)
  one = s32[] constant(1)
  in = s32[] add(i, one)
  ROOT r = (s32[], f32[8,8]) tuple(in, vv)
}
ENTRY main {
  x = f32[8,8] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[8,8]) tuple(zero, x)
  loop = (s32[], f32[8,8]) while(t), condition=cond, body=body
  ROOT y = f32[8,8] get-tuple-element(loop), index=1
}
)",
              {{"x", "[x,_]"}, {"loop/carry{1}", "[x,y]"}, {"vv", "[x,y]"}, {"loop{1}", "[x,y]"}});
  const std::string tuple = "{{replicated}, {devices=[2,4]<=[8]}}";
  for (const char* name : {"cp", "p", "r", "loop"}) EXPECT_EQ(a.of[name], tuple) << name;
  EXPECT_EQ(a.of["v"], "{devices=[2,4]<=[8]}");
  EXPECT_NE(a.of["t"], tuple);  // the initial value is still kept as x is
  EXPECT_NE(a.of["t"], "");
}

TEST(AnnotateModule, CalleesWithOneCallAreAnnotatedSharedOnesAreNot) {
  Annotated a(R"(
HloModule m
once {
  a1 = f32[8,8] parameter(0)
  ROOT b1 = f32[8,8] negate(a1)
}
twice {
  a2 = f32[8,8] parameter(0)
  ROOT b2 = f32[8,8] negate(a2)
}
ENTRY main {
  x = f32[8,8] parameter(0)
  c1 = f32[8,8] call(x), to_apply=once
  c2 = f32[8,8] call(c1), to_apply=twice
  c3 = f32[8,8] call(c2), to_apply=twice
  ROOT y = f32[8,8] add(c3, c3)
}
)",
              {{"x", "[x,_]"}, {"b1", "[x,y]"}, {"c2/b2", "[_,(x,y)]"}, {"c3/b2", "[(x,y),_]"}});
  EXPECT_EQ(a.of["a1"], a.of["x"]);
  EXPECT_EQ(a.of["b1"], "{devices=[2,4]<=[8]}");
  EXPECT_EQ(a.of["c1"], a.of["b1"]);
  EXPECT_EQ(a.of["a2"], "");
  EXPECT_EQ(a.of["b2"], "");
  EXPECT_EQ(a.of["c3"], "{devices=[8,1]<=[8]}");
  // c2 goes straight into another call: that call's inlined op says what it is.
  EXPECT_EQ(a.of["c2"], "{devices=[1,8]<=[8]}");
}

TEST(AnnotateModule, Conditionals) {
  Annotated a(R"(
HloModule m
yes {
  py = f32[8,8] parameter(0)
  ROOT ny = f32[8,8] negate(py)
}
no {
  pn = f32[8,8] parameter(0)
  ROOT nn = f32[8,8] abs(pn)
}
ENTRY main {
  c = pred[] parameter(0)
  x = f32[8,8] parameter(1)
  ROOT r = f32[8,8] conditional(c, x, x), true_computation=yes, false_computation=no
}
)",
              {{"x", "[x,_]"}, {"ny", "[x,y]"}, {"nn", "[_,y]"}});
  EXPECT_EQ(a.of["py"], a.of["x"]);
  EXPECT_EQ(a.of["pn"], a.of["x"]);
  EXPECT_EQ(a.of["ny"], "{devices=[2,4]<=[8]}");
  EXPECT_NE(a.of["nn"], "");
  EXPECT_EQ(a.of["r"], "{replicated}");
}

const Instruction& RootOf(const Module& module, const std::string& computation) {
  for (const Computation& c : module.computations) {
    if (c.name == computation) return c[c.root];
  }
  ADD_FAILURE() << computation;
  return module.computations[0].instructions[0];
}

// XLA refuses branches that end in several shardings.
TEST(AnnotateModule, BranchesEndAsTheirConditional) {
  Annotated a(
      R"(
HloModule m
yes {
  py = f32[8,8] parameter(0)
  ROOT ny = f32[8,8] negate(py)
}
no {
  pn = f32[8,8] parameter(0)
  ROOT nn = f32[8,8] abs(pn)
}
both {
  pb = f32[8,8] parameter(0)
  eb = f32[8,8] exponential(pb)
  ROOT tb = (f32[8,8], f32[8,8]) tuple(eb, pb)
}
same {
  ROOT ps = (f32[8,8], f32[8,8]) parameter(0)
}
ENTRY main {
  c = pred[] parameter(0)
  x = f32[8,8] parameter(1)
  r = f32[8,8] conditional(c, x, x), true_computation=yes, false_computation=no
  z = (f32[8,8], f32[8,8]) tuple(r, x)
  ROOT q = (f32[8,8], f32[8,8]) conditional(c, x, z), true_computation=both, false_computation=same
}
)",
      {{"ny", "[x,y]"}, {"nn", "[_,y]"}, {"r", "[_,y]"}, {"eb", "[x,_]"}, {"q{1}", "[y,_]"}});
  const std::string columns = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}";
  EXPECT_EQ(a.of["ny"], "{devices=[2,4]<=[8]}");
  const Instruction& yes = RootOf(a.module, "yes");
  EXPECT_EQ(yes.opcode, Opcode::kReshape);
  EXPECT_EQ(yes.sharding, columns);
  EXPECT_EQ(a.of["r"], columns);
  EXPECT_EQ(RootOf(a.module, "no").name, "nn");
  EXPECT_EQ(RootOf(a.module, "no").sharding, columns);
  EXPECT_EQ(RootOf(a.module, "both").sharding, a.of["q"]);
  EXPECT_EQ(RootOf(a.module, "same").sharding, a.of["q"]);
  const auto ends = [&a](const std::string& computation) {
    std::string found;
    for (const Computation& c : a.module.computations) {
      if (c.name != computation) continue;
      for (const InstructionId operand : c[c.root].operands)
        found += std::string(OpcodeName(c[operand].opcode)) + c[operand].sharding + " ";
    }
    return found;
  };
  const std::string rows = "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}";
  EXPECT_EQ(ends("both"), "reshape{replicated} reshape" + rows + " ");
  EXPECT_EQ(ends("same"), "reshape{replicated} reshape" + rows + " ");
}

}  // namespace
}  // namespace meshwright
