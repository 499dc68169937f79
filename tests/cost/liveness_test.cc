#include "meshwright/cost/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cost/graphs.h"
#include "tests/testing/reference_texts.h"

namespace meshwright {
namespace {

// A program in a given order (its own by default) with its intervals.
struct Lived {
  Program program;
  FusionInfo fusion;
  Schedule schedule;
  std::vector<Interval> intervals;

  explicit Lived(const std::string& text)
      : program(ParseProgram(text)), fusion(AnalyzeFusion(program.graph)) {
    for (size_t i = 0; i < program.graph.ops.size(); ++i) {
      schedule.order.push_back(OpId(i));
      schedule.time.push_back(static_cast<int32_t>(i));
    }
    intervals = Liveness(program.graph, fusion, schedule);
  }
  int32_t Time(const char* name) const { return schedule.time[program.Op(name).index()]; }
  int32_t End() const { return static_cast<int32_t>(schedule.order.size()); }
  Interval Of(const char* name) const { return intervals[program[name].index()]; }
  Interval Of(ValueId v) const { return intervals[v.index()]; }
};

TEST(Liveness, FromTheWriterToTheLastReader) {
  const Lived l(ModuleText(R"(
    a = f32[64,64] parameter(0)
    d1 = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    view = f32[64,64] transpose(d1), dimensions={1,0}
    d2 = f32[64,64] dot(d1, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    fused = f32[64,64] negate(view)
    d3 = f32[64,64] dot(d2, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    late = f32[64,64] add(fused, d3)
    ROOT d4 = f32[64,64] dot(late, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  )"));
  EXPECT_EQ(l.Of("a"), (Interval{0, l.End()}));  // not donated
  // d1 is read by `late` through a view and a fused operator, and by d2 before.
  EXPECT_EQ(l.Of("view"), (Interval{}));
  EXPECT_EQ(l.Of("fused"), (Interval{}));
  EXPECT_EQ(l.Of("d2"), (Interval{l.Time("d2"), l.Time("d3") + 1}));
  EXPECT_EQ(l.Of("d1"), (Interval{l.Time("d1"), l.Time("late") + 1}));
  // `late` writes over d3, which it is the last to read.
  EXPECT_EQ(l.Of("d3"), (Interval{l.Time("d3"), l.Time("late")}));
  EXPECT_EQ(l.Of("d4"), (Interval{l.Time("d4"), l.End()}));
}

TEST(Liveness, DonatedParametersHandTheirBufferOver) {
  const std::string entry = R"(
    a = f32[64,64] parameter(0)
    b = f32[64,64] parameter(1)
    d1 = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    new_a = f32[64,64] dot(d1, d1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    new_b = f32[64,64] dot(new_a, d1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    check = f32[64,64] dot(b, new_b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ROOT out = (f32[64,64], f32[64,64], f32[64,64]) tuple(new_a, new_b, check)
)";
  std::string text = ModuleText(entry);
  text.replace(
      0, 11,
      "HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }");
  const Lived l(text);
  // Held, though unread, until the output is written into it.
  EXPECT_EQ(l.Of("a"), (Interval{0, l.Time("new_a")}));
  EXPECT_EQ(l.Of("new_a"), (Interval{l.Time("new_a"), l.End()}));
  // Read after the output is there: both exist.
  EXPECT_EQ(l.Of("b"), (Interval{0, l.Time("check") + 1}));
  EXPECT_EQ(l.Of("new_b"), (Interval{l.Time("new_b"), l.End()}));
}

TEST(Liveness, UpdatesInPlaceShareTheBuffer) {
  const Lived l(ModuleText(R"(
    a = f32[64,64] parameter(0)
    row = f32[1,64] parameter(1)
    zero = s32[] constant(0)
    d = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    u1 = f32[64,64] dynamic-update-slice(d, row, zero, zero)
    u2 = f32[64,64] dynamic-update-slice(u1, row, zero, zero)
    keep = f32[64,64] dynamic-update-slice(a, row, zero, zero)
    e = f32[64,64] dot(u2, keep), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ROOT out = f32[64,64] negate(e)
  )"));
  EXPECT_EQ(l.Of("d"), (Interval{l.Time("d"), l.Time("e") + 1}));
  EXPECT_EQ(l.Of("u1"), (Interval{}));
  EXPECT_EQ(l.Of("u2"), (Interval{}));
  // `a` belongs to the caller: it is copied.
  EXPECT_EQ(l.Of("keep"), (Interval{l.Time("keep"), l.Time("e") + 1}));
}

// XLA makes all copies of its one array of zeros at once.
TEST(Liveness, ZerosToWriteIntoAreMadeTogether) {
  const Lived l(ModuleText(R"(
    a = f32[64,64] parameter(0)
    row = f32[1,64] parameter(1)
    i = s32[] constant(0)
    zero = f32[] constant(0)
    one = f32[] constant(1)
    zeros = f32[64,64] broadcast(zero), dimensions={}
    others = f32[64,64] broadcast(zero), dimensions={}
    ones = f32[64,64] broadcast(one), dimensions={}
    wide = f32[64,128] broadcast(zero), dimensions={}
    first = f32[64,64] dynamic-update-slice(zeros, row, i, i)
    d = f32[64,64] dot(first, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    second = f32[64,64] dynamic-update-slice(others, row, i, i)
    third = f32[64,64] dynamic-update-slice(ones, row, i, i)
    fourth = f32[64,128] dynamic-update-slice(wide, row, i, i)
    addend = f32[64,64] dynamic-update-slice(zeros, row, i, i)
    sum = f32[64,64] add(d, addend)
    e = f32[64,64] dot(second, third), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ROOT out = (f32[64,64], f32[64,64], f32[64,128]) tuple(e, sum, fourth)
  )"));
  EXPECT_EQ(l.Of("second"), (Interval{l.Time("first"), l.Time("e") + 1}));
  EXPECT_EQ(l.Of("third").begin, l.Time("third"));
  EXPECT_EQ(l.Of("fourth").begin, l.Time("fourth"));
  EXPECT_EQ(l.Of("addend").begin, l.Time("addend"));  // scattered into d
}

const char kLoop[] = R"(HloModule m

body {
  state = (s32[], f32[64,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[64,64] get-tuple-element(state), index=1
  w = f32[64,64] get-tuple-element(state), index=2
  one = s32[] constant(1)
  next_i = s32[] add(i, one)
  y = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  next_x = f32[64,64] NEXT
  ROOT out = (s32[], f32[64,64], f32[64,64]) tuple(next_i, next_x, w)
}

condition {
  cstate = (s32[], f32[64,64], f32[64,64]) parameter(0)
  ci = s32[] get-tuple-element(cstate), index=0
  limit = s32[] constant(10)
  ROOT less = pred[] compare(ci, limit), direction=LT
}

ENTRY main {
  p = f32[64,64] parameter(0)
  q = f32[64,64] parameter(1)
  start = f32[64,64] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  weight = f32[64,64] dot(q, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = s32[] constant(0)
  init = (s32[], f32[64,64], f32[64,64]) tuple(zero, start, weight)
  loop = (s32[], f32[64,64], f32[64,64]) while(init), condition=condition, body=body
  last = f32[64,64] get-tuple-element(loop), index=1
  after = f32[64,64] dot(last, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT result = f32[64,64] AFTER
}
)";

std::string LoopText(const std::string& next, const std::string& after) {
  std::string text = kLoop;
  text.replace(text.find("NEXT"), 4, next);
  text.replace(text.find("AFTER"), 5, after);
  return text;
}

// The carry of `x` in a program of LoopText.
const Carry& CarryOf(const Lived& l, const char* init) {
  for (const Carry& carry : l.program.graph.carries) {
    if (carry.init == l.program[init]) return carry;
  }
  ADD_FAILURE() << "nothing carries " << init;
  return l.program.graph.carries.at(0);
}

TEST(Liveness, CarriesKeepOneBufferAndInvariantsTheirs) {
  const Lived l(LoopText("add(x, y)", "negate(after)"));
  const Loop& loop = l.program.graph.loops.at(0);
  const int32_t begin = static_cast<int32_t>(loop.begin.index()),
                end = static_cast<int32_t>(loop.end.index());
  const Carry& x = CarryOf(l, "start");
  const int32_t after = l.Time("after");
  EXPECT_EQ(l.Of("start"), (Interval{l.Time("start"), begin}));  // then the loop's
  EXPECT_EQ(l.Of(x.parameter), (Interval{begin, after + 1}));
  EXPECT_EQ(l.Of(x.next), (Interval{}));  // the sum is written over x
  EXPECT_EQ(l.Of(x.exit), (Interval{}));
  const Carry& w = CarryOf(l, "weight");
  ASSERT_TRUE(w.invariant);
  EXPECT_EQ(l.Of("weight"), (Interval{l.Time("weight"), end}));
  EXPECT_EQ(l.Of(w.parameter), (Interval{}));
  EXPECT_EQ(l.Of(w.exit), (Interval{}));
}

TEST(Liveness, NextOfAMatrixProductNeedsASecondBuffer) {
  const Lived l(
      LoopText("dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "negate(after)"));
  const Loop& loop = l.program.graph.loops.at(0);
  const Carry& x = CarryOf(l, "start");
  EXPECT_EQ(l.Of(x.next), (Interval{l.Time("next_x"), static_cast<int32_t>(loop.end.index())}));
}

TEST(Liveness, InitReadAfterTheLoopIsCopied) {
  const Lived l(LoopText("add(x, y)",
                         "dot(after, start), lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  EXPECT_EQ(l.Of("start"), (Interval{l.Time("start"), l.Time("result") + 1}));
  EXPECT_EQ(l.Of(CarryOf(l, "start").parameter).begin,
            static_cast<int32_t>(l.program.graph.loops[0].begin.index()));
}

TEST(ComputePeak, HandComputed) {
  const PeakMemory peak =
      ComputePeak({{0, 4}, {1, 3}, {2, 3}, {0, 0}, {3, 4}}, {10, 5, 7, 1000, 8});
  EXPECT_EQ(peak.bytes, 22);
  EXPECT_EQ(peak.time, 2);
  EXPECT_EQ(peak.live,
            (std::vector<ValueId>{ValueId(size_t{0}), ValueId(size_t{2}), ValueId(size_t{1})}));
  EXPECT_EQ(ComputePeak({}, {}).bytes, 0);
}

// A random program over [64,64] arrays without loops.
std::string RandomText(std::mt19937* random) {
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(*random); };
  const int parameters = 1 + pick(4), ops = 3 + pick(25);
  std::string entry;
  for (int i = 0; i < parameters; ++i) {
    entry += absl::StrCat("v", i, " = f32[64,64] parameter(", i, ")\n");
  }
  int last = parameters;
  for (; last < parameters + ops; ++last) {
    const std::string a = absl::StrCat("v", pick(last)), b = absl::StrCat("v", pick(last));
    const char* const kForms[] = {
        "add($a, $b)",
        "negate($a)",
        "exponential($a)",
        "transpose($a), dimensions={1,0}",
        "dot($a, $b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "dot($a, $b), lhs_contracting_dims={0}, rhs_contracting_dims={0}"};
    std::string form = kForms[pick(6)];
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"$a", a}, {"$b", b}}) {
      if (const size_t at = form.find(name); at != std::string::npos) form.replace(at, 2, value);
    }
    entry += absl::StrCat("v", last, " = f32[64,64] ", form, "\n");
  }
  const int outputs = 1 + pick(3);
  std::string types, list;
  for (int i = 0; i < outputs; ++i) {
    types += i > 0 ? ", f32[64,64]" : "f32[64,64]";
    absl::StrAppend(&list, i > 0 ? ", v" : "v", parameters + pick(ops));
  }
  entry += "ROOT out = (" + types + ") tuple(" + list + ")\n";
  return ModuleText(entry);
}

// Liveness by definition: from every value, all ways through fused operators and views to the ops
// that read it.
std::vector<std::vector<bool>> LiveByDefinition(const Graph& graph, const FusionInfo& fusion,
                                                const Schedule& schedule) {
  const size_t end = graph.ops.size();
  const auto runs = [&](OpId op) {
    return graph[op].results.empty() || fusion.materialized[graph[op].results[0].index()];
  };
  std::function<int32_t(ValueId)> last_read = [&](ValueId v) {
    int32_t last = -1;
    for (OpId user : graph[v].users) {
      if (graph[user].kind == OpKind::kOutput) last = static_cast<int32_t>(end) - 1;
      last = std::max(last,
                      runs(user) ? schedule.time[user.index()] : last_read(graph[user].results[0]));
    }
    return last;
  };
  std::vector<std::vector<bool>> live(graph.values.size(), std::vector<bool>(end, false));
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (!fusion.materialized[v]) continue;
    const OpId producer = graph.values[v].producer;
    const bool parameter = graph[producer].parameter >= 0;
    const int32_t begin = parameter ? 0 : schedule.time[producer.index()];
    const int32_t last =
        parameter ? static_cast<int32_t>(end) - 1 : std::max(begin, last_read(ValueId(v)));
    for (int32_t t = begin; t <= last; ++t) live[v][t] = true;
  }
  // An elementwise kernel takes the buffer of one dying operand.
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind != OpKind::kInstruction || !IsElementwise(op.instruction->opcode) || !runs(OpId(i)))
      continue;
    const int32_t t = schedule.time[i];
    std::vector<ValueId> candidates;
    std::function<void(ValueId)> collect = [&](ValueId v) {
      if (fusion.materialized[v.index()]) {
        if (std::find(candidates.begin(), candidates.end(), v) == candidates.end())
          candidates.push_back(v);
      } else if (IsElementwise(graph[graph[v].producer].instruction->opcode)) {
        for (ValueId operand : graph[graph[v].producer].operands) collect(operand);
      }
    };
    for (ValueId operand : op.operands) collect(operand);
    for (ValueId v : candidates) {
      const Op& producer = graph[graph[v].producer];
      if (producer.parameter >= 0 || last_read(v) != t || t + 1 == static_cast<int32_t>(end))
        continue;
      live[v.index()][t] = false;
      break;
    }
  }
  return live;
}

TEST(Liveness, AgreesWithTheDefinitionOnRandomPrograms) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Program program = ParseProgram(RandomText(&random));
    const Graph& graph = program.graph;
    const FusionInfo fusion = AnalyzeFusion(graph);
    const Schedule schedule = ScheduleForMemory(graph, fusion);
    const std::vector<Interval> intervals = Liveness(graph, fusion, schedule);
    const std::vector<std::vector<bool>> live = LiveByDefinition(graph, fusion, schedule);
    std::vector<int64_t> bytes, total(graph.ops.size(), 0);
    for (size_t v = 0; v < graph.values.size(); ++v) {
      bytes.push_back(graph.values[v].shape.bytes());
      for (size_t t = 0; t < graph.ops.size(); ++t) {
        const bool in_interval = intervals[v].begin <= static_cast<int32_t>(t) &&
                                 static_cast<int32_t>(t) < intervals[v].end;
        ASSERT_EQ(in_interval, live[v][t])
            << "value of " << graph[graph.values[v].producer].name << " at " << t;
        if (live[v][t]) total[t] += bytes[v];
      }
    }
    EXPECT_EQ(ComputePeak(intervals, bytes).bytes, *std::max_element(total.begin(), total.end()));
  }
}

void ExpectValid(const Graph& graph, const FusionInfo& fusion, const Schedule& schedule) {
  ASSERT_EQ(schedule.order.size(), graph.ops.size());
  for (size_t t = 0; t < schedule.order.size(); ++t)
    ASSERT_EQ(schedule.time[schedule.order[t].index()], static_cast<int32_t>(t));
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (ValueId operand : graph.ops[i].operands) {
      EXPECT_LT(schedule.time[graph[operand].producer.index()], schedule.time[i])
          << graph[graph[operand].producer].name << " before " << graph.ops[i].name;
    }
  }
  for (size_t l = 0; l < graph.loops.size(); ++l) {
    // In one piece: as many times as ops.
    int32_t first = static_cast<int32_t>(graph.ops.size()), last = 0;
    int64_t count = 0;
    for (size_t i = graph.loops[l].begin.index(); i < graph.loops[l].end.index(); ++i) {
      first = std::min(first, schedule.time[i]);
      last = std::max(last, schedule.time[i]);
      ++count;
    }
    EXPECT_EQ(last - first + 1, count);
    for (const Carry& carry : graph.carries) {
      if (carry.loop != static_cast<int32_t>(l)) continue;
      EXPECT_LT(schedule.time[graph[carry.init].producer.index()], first);
      EXPECT_GT(schedule.time[graph[carry.exit].producer.index()], last);
    }
  }
}

TEST(ScheduleForMemory, IsAnOrder) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Program program = ParseProgram(RandomText(&random));
    const FusionInfo fusion = AnalyzeFusion(program.graph);
    ExpectValid(program.graph, fusion, ScheduleForMemory(program.graph, fusion));
  }
  const Program loop = ParseProgram(LoopText("add(x, y)", "negate(after)"));
  const FusionInfo fusion = AnalyzeFusion(loop.graph);
  ExpectValid(loop.graph, fusion, ScheduleForMemory(loop.graph, fusion));
}

TEST(ScheduleForMemory, ConsumesTemporariesAsSoonAsItCan) {
  // Program order makes all four products before it reduces any.
  std::string entry = "a = f32[256,256] parameter(0)\nzero = f32[] constant(0)\n";
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(
        &entry, "big", i,
        " = f32[256,256] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  }
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&entry, "small", i, " = f32[256] reduce(big", i,
                    ", zero), dimensions={1}, to_apply=add\n");
  }
  entry +=
      "ROOT out = (f32[256], f32[256], f32[256], f32[256]) tuple(small0, small1, small2, small3)\n";
  const Program program = ParseProgram(ModuleText(entry));
  const FusionInfo fusion = AnalyzeFusion(program.graph);
  const Schedule schedule = ScheduleForMemory(program.graph, fusion);
  std::vector<int64_t> bytes;
  for (const Value& value : program.graph.values) bytes.push_back(value.shape.bytes());
  const int64_t big = 256 * 256 * 4;
  EXPECT_EQ(ComputePeak(Liveness(program.graph, fusion, schedule), bytes).bytes,
            2 * big + 4 * 1024);
}

// Data parallelism over four devices, as measured: the batch of 32 becomes 8, everything else
// stays. XLA's peak of the compiled step against ours of the unpartitioned program.
TEST(ScheduleForMemory, PeakOfADataParallelStepIsNearXlas) {
  constexpr int64_t kPeakBytes = 12'155'478'904;  // h100x4_steps.jsonl, gpt_2048x4, dp4
  // The same program, with dp4's shardings in it and without.
  for (const ReferenceText& step :
       ReferenceTexts("measured/gpt_2048x4.dp4.hlo.txt.gz", "measured/gpt_2048x4.hlo.txt.gz")) {
    SCOPED_TRACE(step.path);
    const Program program = ParseProgram(step.text);
    const FusionInfo fusion = AnalyzeFusion(program.graph);
    const Schedule schedule = ScheduleForMemory(program.graph, fusion);
    ExpectValid(program.graph, fusion, schedule);
    std::vector<int64_t> bytes;
    for (const Value& value : program.graph.values) {
      const bool batch = !value.shape.dims.empty() && value.shape.dims[0] == 32;
      bytes.push_back(value.shape.bytes() / (batch ? 4 : 1));
    }
    const PeakMemory peak = ComputePeak(Liveness(program.graph, fusion, schedule), bytes);
    const double ratio = static_cast<double>(peak.bytes) / static_cast<double>(kPeakBytes);
    std::cout << "peak " << peak.bytes / 1e9 << " GB at "
              << program.graph[schedule.order[peak.time]].name << ", XLA " << kPeakBytes / 1e9
              << " GB, ratio " << ratio << "\n";
    EXPECT_NEAR(ratio, 1, 0.25);
  }
}

}  // namespace
}  // namespace meshwright
