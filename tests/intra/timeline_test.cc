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

class TimelineTest : public ::testing::Test {
 protected:
  TimelineTest() : program_(ProgramFromText(kProgram)), cost_model_(TestMesh("2", "2xh100-sxm")) {
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
