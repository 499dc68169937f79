#include "meshwright/plan/make/categorize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "meshwright/hlo/text/reader.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

// A program, run in the order of its text, with every value alive from its definition to its last
// use.
struct Categorized {
  Module module;
  Graph graph;
  Schedule schedule;
  std::vector<Interval> intervals;
  std::map<std::string, std::string> of;  // op name to category of its first result

  explicit Categorized(const std::string& text) {
    module = ParseHloText(text, "test.hlo").value();
    graph = BuildGraph(module).value();
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      schedule.order.push_back(OpId(i));
      schedule.time.push_back(static_cast<int32_t>(i));
    }
    for (const Value& value : graph.values) {
      Interval interval{value.producer.value, value.producer.value + 1};
      for (OpId user : value.users) interval.end = std::max(interval.end, user.value + 1);
      intervals.push_back(interval);
    }
    const std::vector<MemoryCategory> categories =
        CategorizeValues(graph, TiedParameters(graph, true), schedule, intervals);
    for (const Op& op : graph.ops) {
      if (op.results.empty()) continue;
      of[op.name] = Word(categories[op.results[0].index()]);
    }
  }
};

// y = relu-like(x w1) * scale, z = y w2; w1 and w2 with momentum, scale by plain descent.
constexpr const char* kTrainingStep = R"(
HloModule step

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  w1 = f32[16,32] parameter(0)
  w2 = f32[32,8] parameter(1)
  scale = f32[32] parameter(2)
  m1 = f32[16,32] parameter(3)
  m2 = f32[32,8] parameter(4)
  x = f32[64,16] parameter(5)
  y = f32[64,8] parameter(6)
  w1c = bf16[16,32] convert(w1)
  xc = bf16[64,16] convert(x)
  h = bf16[64,32] dot(xc, w1c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  hf = f32[64,32] convert(h)
  scale_b = f32[64,32] broadcast(scale), dimensions={1}
  hs = f32[64,32] multiply(hf, scale_b)
  z = f32[64,8] dot(hs, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dz = f32[64,8] subtract(z, y)
  g2t = f32[8,32] dot(dz, hs), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  g2 = f32[32,8] transpose(g2t), dimensions={1,0}
  dhs = f32[64,32] dot(dz, w2), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  dscale_all = f32[64,32] multiply(dhs, hf)
  zero = f32[] constant(0)
  gs = f32[32] reduce(dscale_all, zero), dimensions={0}, to_apply=add
  dh = f32[64,32] multiply(dhs, scale_b)
  g1 = f32[16,32] dot(x, dh), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  lr = f32[] constant(0.1)
  lr1 = f32[16,32] broadcast(lr), dimensions={}
  lr2 = f32[32,8] broadcast(lr), dimensions={}
  lrs = f32[32] broadcast(lr), dimensions={}
  m1n = f32[16,32] add(m1, g1)
  m2n = f32[32,8] add(m2, g2)
  u1 = f32[16,32] multiply(m1n, lr1)
  u2 = f32[32,8] multiply(m2n, lr2)
  us = f32[32] multiply(gs, lrs)
  w1n = f32[16,32] subtract(w1, u1)
  w2n = f32[32,8] subtract(w2, u2)
  scale_n = f32[32] subtract(scale, us)
  loss = f32[] reduce(dz, zero), dimensions={0,1}, to_apply=add
  ROOT out = (f32[16,32], f32[32,8], f32[32], f32[16,32], f32[32,8], f32[]) tuple(w1n, w2n, scale_n, m1n, m2n, loss)
}
)";

TEST(CategorizeValues, TrainingStep) {
  Categorized step(kTrainingStep);
  for (const char* name : {"w1", "w2", "scale", "w1n", "w2n", "scale_n", "w1c"}) {
    EXPECT_EQ(step.of[name], "parameters") << name;
  }
  for (const char* name : {"m1", "m2", "m1n", "m2n"}) {
    EXPECT_EQ(step.of[name], "optimizer_state") << name;
  }
  for (const char* name : {"x", "y"}) EXPECT_EQ(step.of[name], "inputs") << name;
  for (const char* name : {"g2t", "g2", "g1", "gs", "us"})
    EXPECT_EQ(step.of[name], "gradients") << name;
  // Made before g2t, the first gradient, and used after it.
  for (const char* name : {"hf", "scale_b", "dz"}) EXPECT_EQ(step.of[name], "activations") << name;
  // hs is last used by g2t itself, h long before; dh is made after it; u1 mixes in state.
  for (const char* name : {"h", "xc", "dh", "u1", "u2", "loss"}) {
    EXPECT_EQ(step.of[name], "temporaries") << name;
  }
}

TEST(CategorizeValues, ForwardProgramHasInputsAndTemporariesOnly) {
  Categorized forward(R"(
HloModule forward
ENTRY main {
  w = f32[8,8] parameter(0)
  x = f32[4,8] parameter(1)
  ROOT y = f32[4,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)");
  EXPECT_EQ(forward.of["w"], "inputs");
  EXPECT_EQ(forward.of["x"], "inputs");
  EXPECT_EQ(forward.of["y"], "temporaries");
}

// Donation decides where there is any; a parameter at the same position is then no state.
TEST(CategorizeValues, DonatedBuffersAreState) {
  Categorized step(R"(
HloModule step, input_output_alias={ {1}: (1, {}, may-alias) }
ENTRY main {
  x = f32[8,8] parameter(0)
  w = f32[8,8] parameter(1)
  y = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[8,8] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  wn = f32[8,8] subtract(w, g)
  ROOT out = (f32[8,8], f32[8,8]) tuple(y, wn)
}
)");
  EXPECT_EQ(step.of["x"], "inputs");
  EXPECT_EQ(step.of["w"], "parameters");
  EXPECT_EQ(step.of["g"], "gradients");
  EXPECT_EQ(step.of["wn"], "parameters");
}

// Layers as a loop: the weights are used in slices inside it, their gradient is its result.
TEST(CategorizeValues, WeightsAndGradientsOfLoops) {
  Categorized step(R"(
HloModule scan

cond {
  cp = (s32[], f32[4,8,8], f32[4,8,8], f32[8,8]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  cn = s32[] constant(4)
  ROOT cc = pred[] compare(ci, cn), direction=LT
}

body {
  p = (s32[], f32[4,8,8], f32[4,8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  w = f32[4,8,8] get-tuple-element(p), index=1
  g = f32[4,8,8] get-tuple-element(p), index=2
  x = f32[8,8] get-tuple-element(p), index=3
  z = s32[] constant(0)
  ws = f32[1,8,8] dynamic-slice(w, i, z, z), dynamic_slice_sizes={1,8,8}
  wr = f32[8,8] reshape(ws)
  y = f32[8,8] dot(x, wr), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  gr = f32[1,8,8] reshape(y)
  gn = f32[4,8,8] dynamic-update-slice(g, gr, i, z, z)
  one = s32[] constant(1)
  in = s32[] add(i, one)
  ROOT r = (s32[], f32[4,8,8], f32[4,8,8], f32[8,8]) tuple(in, w, gn, y)
}

ENTRY main {
  ww = f32[4,8,8] parameter(0)
  m = f32[4,8,8] parameter(1)
  xx = f32[8,8] parameter(2)
  zero = s32[] constant(0)
  fz = f32[] constant(0)
  acc = f32[4,8,8] broadcast(fz), dimensions={}
  t = (s32[], f32[4,8,8], f32[4,8,8], f32[8,8]) tuple(zero, ww, acc, xx)
  loop = (s32[], f32[4,8,8], f32[4,8,8], f32[8,8]) while(t), condition=cond, body=body
  grad = f32[4,8,8] get-tuple-element(loop), index=2
  mn = f32[4,8,8] add(m, grad)
  wn = f32[4,8,8] subtract(ww, mn)
  ROOT out = (f32[4,8,8], f32[4,8,8]) tuple(wn, mn)
}
)");
  EXPECT_EQ(step.of["ww"], "parameters");
  EXPECT_EQ(step.of["loop/carry{1}"], "parameters");
  EXPECT_EQ(step.of["m"], "optimizer_state");
  EXPECT_EQ(step.of["xx"], "inputs");
  EXPECT_EQ(step.of["loop{2}"], "gradients");
  EXPECT_EQ(step.of["loop/carry{2}"], "gradients");
  EXPECT_EQ(step.of["gn"], "gradients");
}

// Several steps in one loop: the weights are carried, the update is inside.
TEST(CategorizeValues, UpdateInsideALoop) {
  Categorized steps(R"(
HloModule steps

cond {
  cp = (s32[], f32[8,8], f32[8,8], f32[8,8]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  cn = s32[] constant(4)
  ROOT cc = pred[] compare(ci, cn), direction=LT
}

body {
  p = (s32[], f32[8,8], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  w = f32[8,8] get-tuple-element(p), index=1
  m = f32[8,8] get-tuple-element(p), index=2
  x = f32[8,8] get-tuple-element(p), index=3
  y = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[8,8] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  mn = f32[8,8] add(m, g)
  wn = f32[8,8] subtract(w, mn)
  one = s32[] constant(1)
  in = s32[] add(i, one)
  ROOT r = (s32[], f32[8,8], f32[8,8], f32[8,8]) tuple(in, wn, mn, x)
}

ENTRY main {
  ww = f32[8,8] parameter(0)
  mm = f32[8,8] parameter(1)
  xx = f32[8,8] parameter(2)
  zero = s32[] constant(0)
  t = (s32[], f32[8,8], f32[8,8], f32[8,8]) tuple(zero, ww, mm, xx)
  loop = (s32[], f32[8,8], f32[8,8], f32[8,8]) while(t), condition=cond, body=body
  w_out = f32[8,8] get-tuple-element(loop), index=1
  m_out = f32[8,8] get-tuple-element(loop), index=2
  loss = f32[] constant(0)
  ROOT out = (f32[8,8], f32[8,8], f32[]) tuple(w_out, m_out, loss)
}
)");
  EXPECT_EQ(steps.of["ww"], "parameters");
  EXPECT_EQ(steps.of["loop{1}"], "parameters");
  EXPECT_EQ(steps.of["loop/carry{1}"], "parameters");
  EXPECT_EQ(steps.of["mm"], "optimizer_state");
  EXPECT_EQ(steps.of["loop/carry{2}"], "optimizer_state");
  EXPECT_EQ(steps.of["g"], "gradients");
  EXPECT_EQ(steps.of["xx"], "inputs");
}

TEST(PeakByCategory, AddsUpToThePeak) {
  PeakMemory peak;
  peak.bytes = 100;
  peak.live = {ValueId(2), ValueId(0)};
  const MemoryByCategory sums = PeakByCategory(
      peak, {10, 1000, 50},
      {MemoryCategory::kInputs, MemoryCategory::kInputs, MemoryCategory::kParameters});
  EXPECT_EQ(sums, (MemoryByCategory{50, 0, 10, 0, 0, 40}));
}

}  // namespace
}  // namespace meshwright
