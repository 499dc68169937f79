#include "meshwright/intra/timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meshwright/cost/roofline.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

// a -> first -> second (both products), and first -> aside (which no product needs).
constexpr char kProgram[] = R"(HloModule t
ENTRY main {
  a = f32[64,64] parameter(0)
  first = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  second = f32[64,64] dot(first, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  aside = f32[64,64] dot(a, first), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[64,64], f32[64,64]) tuple(second, aside)
})";

// `first` in every round of a loop, `second` of its result, and `aside`, which needs no loop.
constexpr char kLoop[] = R"(HloModule t
body {
  p = (f32[64,64], s32[]) parameter(0)
  x = f32[64,64] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  first = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[64,64], s32[]) tuple(first, j)
}
cond {
  p = (f32[64,64], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=1
  n = s32[] constant(8)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  a = f32[64,64] parameter(0)
  zero = s32[] constant(0)
  init = (f32[64,64], s32[]) tuple(a, zero)
  w = (f32[64,64], s32[]) while(init), condition=cond, body=body
  y = f32[64,64] get-tuple-element(w), index=0
  second = f32[64,64] dot(y, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  aside = f32[64,64] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[64,64], f32[64,64]) tuple(second, aside)
})";

class TimelineTest : public ::testing::Test {
 protected:
  explicit TimelineTest(const char* text = kProgram)
      : program_(ProgramFromText(text)), cost_model_(TestMesh("2", "2xh100-sxm")) {
    const Graph& graph = program_.graph;
    plan_.ops.resize(graph.ops.size());
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      plan_.schedule.order.push_back(OpId(i));
      plan_.schedule.time.push_back(static_cast<int32_t>(i));
    }
    for (const char* name : {"first", "second", "aside"})
      plan_.ops[Find(name).index()].compute_seconds = 1;
  }

  OpId Find(const std::string& name) const {
    for (size_t i = 0; i < program_.graph.ops.size(); ++i) {
      if (program_.graph.ops[i].name == name) return OpId(i);
    }
    ADD_FAILURE() << name;
    return OpId();
  }

  // A collective of what `maker` makes, which `user` needs.
  void Move(const char* maker, OpId user, double seconds, int64_t bytes = int64_t{1} << 30) {
    plan_.collectives.push_back({.step = {CollectiveKind::kAllReduce, {0}, bytes},
                                 .seconds = seconds,
                                 .value = program_.graph[Find(maker)].results[0],
                                 .user = user});
  }

  double Seconds(Overlap overlap = {}) const {
    return StepSeconds(program_.graph, cost_model_, overlap, plan_);
  }

  TestProgram program_;
  RooflineCostModel cost_model_;
  IntraPlan plan_;
};

TEST_F(TimelineTest, KernelsRunOneAfterTheOther) {
  EXPECT_DOUBLE_EQ(Seconds(), 3);
  EXPECT_DOUBLE_EQ(Seconds({.cost = 0.5, .step_seconds = 0.25}), 3.25);
}

TEST_F(TimelineTest, OthersRunWhileOneWaits) {
  Move("first", Find("second"), 1);
  EXPECT_DOUBLE_EQ(Seconds(), 3);  // `aside` runs meanwhile
  EXPECT_DOUBLE_EQ(Seconds({.cost = 0.5}), 3.5);
}

TEST_F(TimelineTest, WhatNothingHidesIsExposed) {
  Move("first", Find("second"), 5);
  EXPECT_DOUBLE_EQ(Seconds(), 7);                 // first, collective, second
  EXPECT_DOUBLE_EQ(Seconds({.cost = 0.5}), 7.5);  // a second of it is hidden behind `aside`
}

TEST_F(TimelineTest, TheStepWaitsForTheLastCollective) {
  Move("aside", program_.graph.outputs[1], 10);
  EXPECT_DOUBLE_EQ(Seconds(), 13);
}

TEST_F(TimelineTest, CollectivesRunOneAtATime) {
  Move("second", program_.graph.outputs[0], 4);
  Move("aside", program_.graph.outputs[1], 4);
  EXPECT_DOUBLE_EQ(Seconds(), 10);
}

TEST_F(TimelineTest, SmallOnesThatDoNotWaitForEachOtherAreCombined) {
  const double alone = cost_model_.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 1024);
  const double together = cost_model_.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 2048);
  Move("second", program_.graph.outputs[0], alone, 1024);
  Move("aside", program_.graph.outputs[1], alone, 1024);
  // Copied into one buffer and out of it.
  EXPECT_DOUBLE_EQ(Seconds(), 3 + together + cost_model_.ComputeSeconds({.bytes = 4 * 2048}));
}

// A step is what its last operator or collective ends at, and what is added to it.
TEST_F(TimelineTest, SaysWhenEverythingRuns) {
  const double alone = cost_model_.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 1024);
  Move("first", Find("second"), 5);
  plan_.collectives.push_back(plan_.collectives[0]);
  plan_.collectives[1].multiplicity = 0;  // never runs
  Move("second", program_.graph.outputs[0], alone, 1024);
  Move("aside", program_.graph.outputs[1], alone, 1024);
  const Overlap overlap{.cost = 0.5, .step_seconds = 0.25};
  const StepTimes times = TimesOfStep(program_.graph, cost_model_, overlap, plan_);
  EXPECT_DOUBLE_EQ(times.op_start[Find("first").index()], 0);
  EXPECT_DOUBLE_EQ(times.op_start[Find("aside").index()], 1);
  EXPECT_DOUBLE_EQ(times.op_start[Find("second").index()], 6);
  ASSERT_EQ(times.runs.size(), 2);
  EXPECT_DOUBLE_EQ(times.runs[0].start, 1);
  EXPECT_DOUBLE_EQ(times.runs[0].seconds, 5);
  EXPECT_EQ(times.runs[0].collectives, std::vector<int32_t>{0});
  EXPECT_DOUBLE_EQ(times.runs[1].start, 7);
  EXPECT_EQ(times.runs[1].collectives, (std::vector<int32_t>{2, 3}));
  EXPECT_DOUBLE_EQ(
      times.runs[1].start + times.runs[1].seconds + times.contention_seconds + times.launch_seconds,
      Seconds(overlap));
  EXPECT_NEAR(times.contention_seconds, 0.5, 1e-12);  // `aside` hides a second
  EXPECT_DOUBLE_EQ(times.launch_seconds, 0.25);
}

class TimelineOfALoop : public TimelineTest {
 protected:
  TimelineOfALoop() : TimelineTest(kLoop) {
    plan_.ops[Find("first").index()].compute_seconds = 1.0 / 8;  // of each of 8 rounds
    for (const Carry& carry : program_.graph.carries) {
      if (carry.next == program_.graph[Find("first")].results[0]) carry_ = carry;
    }
  }
  OpId Producer(ValueId value) const { return program_.graph[value].producer; }

  Carry carry_;
};

TEST_F(TimelineOfALoop, ItsExitWaitsForWhatARoundMovesForTheNext) {
  ASSERT_TRUE(carry_.exit.valid());
  EXPECT_DOUBLE_EQ(Seconds(), 3);
  Move("first", Producer(carry_.parameter), 5);
  EXPECT_DOUBLE_EQ(Seconds(), 7);  // first, collective, second; aside meanwhile
}

// Combined, the collective that the loop waits for would wait for the loop's end.
TEST_F(TimelineOfALoop, WhatWaitsForItIsNotCombinedWithWhatItWaitsFor) {
  const double alone = cost_model_.CollectiveSeconds(CollectiveKind::kAllReduce, {0}, 1024);
  Move("a", Producer(carry_.parameter), alone, 1024);
  Move("first", Producer(carry_.parameter), alone, 1024);
  Move("second", program_.graph.outputs[0], alone, 1024);
  EXPECT_NEAR(Seconds(), 3 + 2 * alone, 0.01 * alone);  // the first behind `aside`
}

// Of a phase: its own kernels and collectives alone, as often as they run.
TEST_F(TimelineTest, PartsOfAStep) {
  Move("first", Find("second"), 5);
  Move("aside", program_.graph.outputs[1], 10);
  StepRuns runs{std::vector<double>(program_.graph.ops.size(), 0), {2, 0}};
  runs.ops[Find("first").index()] = 1;
  runs.ops[Find("second").index()] = 3;
  EXPECT_DOUBLE_EQ(StepSeconds(program_.graph, cost_model_, {}, plan_, runs), 1 + 2 * 5 + 3);
}

}  // namespace
}  // namespace meshwright
