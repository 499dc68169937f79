#include "meshwright/intra/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/cost/roofline.h"
#include "meshwright/intra/names.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kProduct[] = R"(HloModule t
ENTRY main {
  p = f32[8192,64] parameter(0)
  w = f32[64,64] parameter(1)
  ROOT d = f32[8192,64] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

absl::StatusOr<IntraPlan> PlanText(std::string_view hlo, std::string_view mesh,
                                   std::string_view cluster, std::vector<Fix> fixes = {}) {
  const TestProgram program = ProgramFromText(hlo);
  PlannerOptions options;
  options.fixes = std::move(fixes);
  return PlanIntra(program.graph, RooflineCostModel(TestMesh(mesh, cluster)), options);
}

TEST(PlannerTest, ConstantsAloneCostNothing) {
  const absl::StatusOr<IntraPlan> plan =
      PlanText("HloModule t\nENTRY main {\n  ROOT c = f32[] constant(1)\n}\n", "8", "8xh100-sxm");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(plan->fits);
  EXPECT_EQ(plan->objective, 0);
}

// XLA pads products of 16-bit types to multiples of eight: 197 queries take copies that 200 do not.
TEST(PlannerTest, ProductsOfUnalignedSizesTakeCopies) {
  const auto seconds = [](const char* type, int size) {
    const std::string side = absl::StrCat(type, "[512,", size, ",64]");
    const absl::StatusOr<IntraPlan> plan = PlanText(
        absl::StrCat("HloModule t\nENTRY main {\n  q = ", side, " parameter(0)\n  k = ", side,
                     " parameter(1)\n  ROOT s = ", type, "[512,", size, ",", size,
                     "] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                     "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n}\n"),
        "1", "1xh100-sxm");
    return plan.ok() ? plan->objective : 0;
  };
  EXPECT_GT(seconds("bf16", 197), 1.5 * seconds("bf16", 200));
  EXPECT_LE(seconds("f32", 197), seconds("f32", 200));
}

// Loops that only carry a value into their first round move it, too.
TEST(PlannerTest, WhatTwoLoopsStartFromIsGatheredAtAPrice) {
  const absl::StatusOr<IntraPlan> plan = PlanText(R"(HloModule t
body {
  q = (s32[], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  a = f32[64,64] get-tuple-element(q), index=1
  c = f32[64,64] cholesky(a)
  ROOT r = (s32[], f32[64,64]) tuple(i, c)
}
cond {
  q = (s32[], f32[64,64]) parameter(0)
  ROOT t = pred[] constant(true)
}
ENTRY main {
  p = f32[64,64] parameter(0), metadata={op_name="p"}
  r = f32[64,64] reverse(p), dimensions={1}
  z = s32[] constant(0)
  t = (s32[], f32[64,64]) tuple(z, r)
  v = (s32[], f32[64,64]) while(t), condition=cond, body=body, backend_config={"known_trip_count":{"n":"1000"}}
  w = (s32[], f32[64,64]) while(t), condition=cond, body=body, backend_config={"known_trip_count":{"n":"1000"}}
  a = f32[64,64] get-tuple-element(v), index=1
  b = f32[64,64] get-tuple-element(w), index=1
  ROOT s = f32[64,64] add(a, b)
})",
                                                  "8", "8xh100-sxm", {{"p", "[x,_]", "--fix #1"}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_THAT(plan->collectives, SizeIs(1));
  EXPECT_EQ(plan->collectives[0].step.kind, CollectiveKind::kAllGather);
  EXPECT_EQ(plan->collectives[0].step.bytes, 64 * 64 * 4);
  EXPECT_EQ(plan->collectives[0].multiplicity, 1);
}

TEST(PlannerTest, StepsOfManyDaysAreStillReckoned) {
  const absl::StatusOr<IntraPlan> plan = PlanText(R"(HloModule t
body {
  q = (s32[], f32[64,128]) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  a = f32[64,128] get-tuple-element(q), index=1
  b = f32[64,128] tanh(a)
  ROOT r = (s32[], f32[64,128]) tuple(i, b)
}
cond {
  q = (s32[], f32[64,128]) parameter(0)
  ROOT t = pred[] constant(true)
}
ENTRY main {
  p = f32[64,128] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[64,128]) tuple(z, p)
  w = (s32[], f32[64,128]) while(t), condition=cond, body=body, backend_config={"known_trip_count":{"n":"1000000000000"}}
  ROOT o = f32[64,128] get-tuple-element(w), index=1
})",
                                                  "8", "8xh100-sxm");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GT(plan->objective, 1e6);
}

TEST(PlannerTest, TooManyAxesAreRefused) {
  const absl::StatusOr<IntraPlan> plan = PlanText(kProduct, "2x2x2x2", "2x8xh100-sxm");
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("4 axes"));
}

struct FixError {
  const char* pattern;
  const char* spec;
  const char* message;
};

TEST(PlannerTest, FixErrorsNameTheFixAndTheReason) {
  for (const FixError& error :
       {FixError{"p=", "[x]", "matches no parameter, output or instruction; nearest: p"},
        FixError{"p", "[(y,x,y),_]", "axis 'y' is used twice"},
        FixError{"p", "[_,_,x]", "p f32[8192,64]"}, FixError{"w", "[(x,y),q]", "q"}}) {
    const absl::StatusOr<IntraPlan> plan =
        PlanText(kProduct, "x=2,y=4", "8xh100-sxm", {{error.pattern, error.spec, "--fix #1"}});
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(plan.status().message()), HasSubstr("--fix #1"));
    EXPECT_THAT(std::string(plan.status().message()), HasSubstr(error.message));
  }
}

TEST(PlannerTest, FixesAreKept) {
  const TestProgram program = ProgramFromText(kProduct);
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  PlannerOptions options;
  options.fixes = {{"p", "[x,y]", ""}, {"output", "[_,(x,y)]", ""}, {"d", "[y,_]", ""}};
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(
      plan->shardings[program.graph[program.graph.parameters[0]].results[0].index()].ToString(mesh),
      "[x,y]");
  const ValueId d = program.graph[program.graph.outputs[0]].operands[0];
  EXPECT_EQ(plan->shardings[d.index()].ToString(mesh), "[y,_]");
  EXPECT_FALSE(plan->collectives.empty());
}

// Axes of a dimension in another order than the mesh's are an order like any other: operators
// compute in it, and only what has to change orders is moved.
TEST(PlannerTest, AxesInAnotherOrderAreKept) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  p = f32[4096,512] parameter(0), sharding={devices=[8,1]<=[2,4]T(1,0)}
  q = f32[4096,512] parameter(1), sharding={devices=[8,1]<=[2,4]T(1,0)}
  s = f32[4096,512] add(p, q)
  ROOT t = f32[4096,512] tanh(s)
})");
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  PlannerOptions options;
  options.fixes = {{"output", "[(y,x),_]", ""}};
  absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings, IsEmpty());
  EXPECT_THAT(plan->collectives, IsEmpty());
  for (const Sharding& sharding : plan->shardings) EXPECT_EQ(sharding.ToString(mesh), "[(y,x),_]");
  EXPECT_EQ(plan->peak.bytes, 4096 / 8 * 512 * 4 * 3);

  options.fixes = {{"output", "[(x,y),_]", ""}};
  plan = PlanIntra(program.graph, RooflineCostModel(mesh), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->collectives.size(), 1u);
  EXPECT_EQ(plan->collectives[0].step,
            (CollectiveStep{CollectiveKind::kCollectivePermute, {0, 1}, 4096 / 8 * 512 * 4}));

  // As XLA would have it: what is given spreads as it is.
  options.fixes = {};
  options.completion = Completion::kPropagate;
  plan = PlanIntra(program.graph, RooflineCostModel(mesh), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->collectives, IsEmpty());
  for (const Sharding& sharding : plan->shardings) EXPECT_EQ(sharding.ToString(mesh), "[(y,x),_]");
}

// Inside a program XLA pads what does not divide; arguments and results are what JAX can hold.
TEST(PlannerTest, UnevenShardsAreKeptInside) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  p = f32[8190,1024] parameter(0), sharding={devices=[8,1]<=[8]}
  w = f32[1024,1024] parameter(1), sharding={replicated}
  t = f32[8190,1024] tanh(p), sharding={devices=[8,1]<=[8]}
  d = f32[8190,1024] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[8190,1024] tanh(d)
  ROOT r = f32[8190,1024] tanh(e), sharding={devices=[8,1]<=[8]}
})");
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  PlannerOptions options;
  options.fixes = {{"p", "replicated", ""}, {"output", "replicated", ""}};
  for (const Completion completion : {Completion::kLeastCost, Completion::kPropagate}) {
    options.completion = completion;
    const absl::StatusOr<IntraPlan> plan =
        PlanIntra(program.graph, RooflineCostModel(mesh), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_THAT(plan->warnings,
                ElementsAre("2 of 4 annotations not used: p: dimension 0 of size 8190 does not "
                            "divide into 8 shards, as arguments and results must, and 1 more"));
    // The product works on an eighth of the rows, 1024 of 8192 with padding, and only the result is
    // put together.
    for (const Op& op : program.graph.ops) {
      if (op.name != "t" && op.name != "d") continue;
      EXPECT_EQ(plan->shardings[op.results[0].index()].ToString(mesh), "[(x,y),_]") << op.name;
      EXPECT_EQ(plan->bytes[op.results[0].index()], 1024 * 1024 * 4) << op.name;
    }
    ASSERT_EQ(plan->collectives.size(), 1u);
    EXPECT_EQ(plan->collectives[0].step,
              (CollectiveStep{CollectiveKind::kAllGather, {0, 1}, 8192 * 1024 * 4}));
  }
  options.fixes = {{"w", "[_,y]", ""}, {"d", "[(y,x),_]", ""}};
  EXPECT_TRUE(PlanIntra(program.graph, RooflineCostModel(mesh), options).ok());
  options.fixes = {{"p", "[(y,x),_]", "--fix #1"}};
  EXPECT_THAT(
      std::string(PlanIntra(program.graph, RooflineCostModel(mesh), options).status().message()),
      HasSubstr("does not divide into 8 shards, as arguments and results must"));
}

// A pattern is for what has the dimensions of its sharding; a name can take it or is refused.
TEST(PlannerTest, PatternsLeaveWhatHasFewerDimensions) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  st.w = f32[1024,1024] parameter(0)
  st.m = f32[1024,1024] parameter(1)
  st.step = f32[] parameter(2)
  a = f32[1024,1024] add(st.w, st.m)
  ROOT r = (f32[1024,1024], f32[]) tuple(a, st.step)
})");
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  PlannerOptions options;
  options.fixes = {{"st*", "[(x,y),_]", "--fix #1"}};
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings,
              ElementsAre("--fix #1 (st*=[(x,y),_]): applied to 2 of 3 that it matches; left as "
                          "they were, with fewer dimensions than the sharding: st.step f32[]"));
  for (const OpId parameter : {program.graph.parameters[0], program.graph.parameters[1]}) {
    EXPECT_EQ(plan->shardings[program.graph[parameter].result().index()].ToString(mesh),
              "[(x,y),_]");
  }
  for (const char* name : {"st.step", "st.s*"}) {
    options.fixes = {{name, "[(x,y),_]", "--fix #1"}};
    EXPECT_THAT(
        std::string(PlanIntra(program.graph, RooflineCostModel(mesh), options).status().message()),
        HasSubstr("st.step f32[]: "));
  }
}

// What a program for other devices replicates says nothing of these.
TEST(PlannerTest, ReplicatedForOtherDevicesIsNotUsed) {
  constexpr char kRest[] = R"(}
  w = f32[8192,8192] parameter(1), sharding={replicated}
  ROOT d = f32[8192,8192] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  struct Case {
    const char *header, *annotation, *warning;
  };
  for (const Case& c : std::vector<Case>{
           {"", "devices=[4,1]<=[4]",
            "2 of 2 annotations not used: the mesh has 8 devices, they were made for 4"},
           {", num_partitions=4", "replicated",
            "2 of 2 annotations not used: the mesh has 8 devices, they were made for 4"},
           {", num_partitions=8", "replicated", nullptr},
           {"", "replicated", nullptr},
           {"", "devices=[8,1]<=[8]", nullptr}}) {
    const TestProgram program = ProgramFromText(absl::StrCat(
        "HloModule t", c.header, "\nENTRY main {\n  p = f32[8192,8192] parameter(0), sharding={",
        c.annotation, kRest));
    const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    const Sharding& w =
        plan->shardings[program.graph[program.graph.parameters[1]].results[0].index()];
    if (c.warning == nullptr) {
      EXPECT_THAT(plan->warnings, IsEmpty());
      EXPECT_TRUE(w.is_replicated());
    } else {
      EXPECT_THAT(plan->warnings, ElementsAre(c.warning));
      EXPECT_FALSE(w.is_replicated());
    }
  }
}

// Where a callback runs is no sharding, and that it sees whole arrays no news.
TEST(PlannerTest, CallbacksAreNothingToWarnOf) {
  const absl::StatusOr<IntraPlan> plan = PlanText(R"(HloModule t
ENTRY main {
  p = f32[64,64] parameter(0)
  c = f32[64,64] custom-call(p), custom_call_target="xla_ffi_python_cpu_callback", sharding={maximal device=0}
  ROOT d = f32[64,64] add(p, c)
})",
                                                  "x=2,y=4", "8xh100-sxm");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings, IsEmpty());
}

// The warnings of a plan of `p`, `b = -p` and `c = -b` with these annotations.
std::vector<std::string> AnnotationWarnings(std::string_view p, std::string_view b,
                                            std::string_view c) {
  const absl::StatusOr<IntraPlan> plan = PlanText(
      absl::StrCat("HloModule t\nENTRY main {\n  p = f32[64,65] parameter(0), sharding={",
                   std::string(p), "}\n  b = f32[64,65] negate(p), sharding={", std::string(b),
                   "}\n  ROOT c = f32[64,65] negate(b), sharding={", std::string(c), "}\n}"),
      "x=2,y=4", "8xh100-sxm");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? plan->warnings : std::vector<std::string>();
}

TEST(PlannerTest, AnnotationsThatDoNotFitAreCountedInOneLine) {
  EXPECT_THAT(AnnotationWarnings("replicated", "devices=[8,1]<=[8]", "unknown"), IsEmpty());
  EXPECT_THAT(AnnotationWarnings("devices=[4,1]<=[4]", "devices=[4,1]<=[4]", "devices=[8,1]<=[8]"),
              ElementsAre("2 of 3 annotations not used: the mesh has 8 devices, they were made for "
                          "4"));
  EXPECT_THAT(AnnotationWarnings("devices=[2,1]<=[2]", "devices=[1,8]<=[8]", "unreduced"),
              ElementsAre("2 of 3 annotations not used: the mesh has 8 devices, 1 was made for 2; "
                          "c: a value cannot be asked to stay a partial sum"));
}

// Axes of another mesh over the same devices, and parts of one.
TEST(PlannerTest, AnnotationsOfAnotherMeshAreKept) {
  const TestProgram program = ProgramFromText(R"(HloModule t
ENTRY main {
  p = f32[64,64] parameter(0), sharding={mesh['a'=8], [{'a':(1)2}, {'a':(2)4}]}
  q = f32[64,64] parameter(1), sharding={mesh['a'=8], [{'a':(2)4}, {}]}
  ROOT s = f32[64,64] add(p, q)
})");
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->warnings, IsEmpty());
  const auto sharding = [&](size_t i) {
    return plan->shardings[program.graph[program.graph.parameters[i]].results[0].index()].ToString(
        mesh);
  };
  EXPECT_EQ(sharding(0), "[x,y]");
  EXPECT_EQ(sharding(1), "[y,_]");
}

TEST(TiedParametersTest, OnlyUpdatesAreTiedByPosition) {
  EXPECT_EQ(TiedParameters(ProgramFromText(kProduct).graph, true), (std::vector<int32_t>{-1}));
  const TestProgram step = ProgramFromText(R"(HloModule t
ENTRY main {
  w = f32[64,64] parameter(0)
  x = f32[64,64] parameter(1)
  g = f32[64,64] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  n = f32[64,64] subtract(w, g)
  ROOT r = (f32[64,64], f32[64,64]) tuple(n, g)
})");
  EXPECT_EQ(TiedParameters(step.graph, true), (std::vector<int32_t>{0, -1}));
  EXPECT_EQ(TiedParameters(step.graph, false), (std::vector<int32_t>{-1, -1}));
}

// That an output replaces a parameter is a guess unless it is donated; a fix of both knows better.
TEST(PlannerTest, FixesOfOutputsAreKept) {
  constexpr char kUpdate[] = R"(HloModule t
ENTRY main {
  x = f32[64,64] parameter(0)
  c = f32[] constant(2)
  b = f32[64,64] broadcast(c), dimensions={}
  m = f32[64,64] multiply(x, b)
  ROOT r = (f32[64,64], f32[64,64]) tuple(m, b)
})";
  const TestProgram program = ProgramFromText(kUpdate);
  const Mesh mesh = TestMesh("x=2,y=4", "8xh100-sxm");
  PlannerOptions options;
  options.fixes = {{"x", "[x,_]", ""}, {"output[0]", "replicated", ""}, {"output[1]", "[_,y]", ""}};
  const absl::StatusOr<IntraPlan> plan = PlanIntra(program.graph, RooflineCostModel(mesh), options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->tied, (std::vector<int32_t>{-1, -1}));
  std::vector<std::string> leaves;
  for (const OpId output : program.graph.outputs) {
    const PlannedOp& op = plan->ops[output.index()];
    leaves.push_back(OperandSharding(op.rule, op.strategy, 0, mesh)->ToString(mesh));
  }
  EXPECT_EQ(leaves, (std::vector<std::string>{"[_,_]", "[_,y]"}));
  ASSERT_EQ(plan->collectives.size(), 1u);
  EXPECT_EQ(plan->collectives[0].step.kind, CollectiveKind::kAllGather);
  options.fixes.pop_back();
  options.fixes.erase(options.fixes.begin());
  EXPECT_EQ(PlanIntra(program.graph, RooflineCostModel(mesh), options)->tied[0], 0);
}

TEST(PlannerTest, FixesOfWhatHasNoShardingAreRefused) {
  const absl::StatusOr<IntraPlan> plan =
      PlanText(R"(HloModule t
ENTRY main {
  x = f32[64,64] parameter(0)
  c = f32[] constant(2)
  b = f32[64,64] broadcast(c), dimensions={}
  ROOT m = f32[64,64] multiply(x, b)
})",
               "x=2,y=4", "8xh100-sxm", {{"b", "[x,_]", "--fix #1"}});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(plan.status().message()),
              HasSubstr("--fix #1 (b=[x,_]): b f32[64,64] depends on no input"));
}

// A path of several steps says where it goes through; XLA would take another one.
TEST(PlannerTest, MovesSayTheirSteps) {
  constexpr char kWhole[] = R"(HloModule t
ENTRY main {
  x = f32[64,64] parameter(0)
  ROOT s = f32[64,64] custom-call(x), custom_call_target="whole"
})";
  const TestProgram program = ProgramFromText(kWhole);
  for (const auto& [shape, cluster, first] : {std::tuple{"x=2,y=8", "2x8xh100-sxm", "[_,y]"},
                                              std::tuple{"x=4,y=2", "8xh100-sxm", "[x,_]"},
                                              std::tuple{"x=2,y=4", "8xh100-sxm", "[_,y]"}}) {
    const Mesh mesh = TestMesh(shape, cluster);
    PlannerOptions options;
    options.fixes = {{"x", "[x,y]", ""}};
    const absl::StatusOr<IntraPlan> plan =
        PlanIntra(program.graph, RooflineCostModel(mesh), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ(plan->moves.size(), 1u) << shape;
    EXPECT_EQ(plan->moves[0].from.ToString(mesh), "[x,y]");
    EXPECT_EQ(plan->moves[0].to.ToString(mesh), "[_,_]");
    ASSERT_EQ(plan->moves[0].through.size(), 1u) << shape;
    EXPECT_EQ(plan->moves[0].through[0].ToString(mesh), first) << shape;
  }
}

}  // namespace
}  // namespace meshwright
