#include "meshwright/plan/trace/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/plan/trace/simulation_trace.h"
#include "tests/plan/document/sample_plan.h"
#include "tests/plan/trace/trace_format.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using TestJson = nlohmann::json;

// Boxes of a trace, with the microseconds at which each begins and ends.
struct TracedBox {
  std::string name;
  int64_t row = 0;
  double start = 0, end = 0;
};

std::vector<TracedBox> BoxesOf(const std::string& text) {
  std::vector<TracedBox> boxes;
  const TestJson trace = TestJson::parse(text);
  for (const TestJson& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double start = event["ts"];
    boxes.push_back({event["name"], event["tid"], start, start + event["dur"].get<double>()});
  }
  return boxes;
}

std::string BoxText(const TracedBox& box) {
  return absl::StrCat(box.row, ": ", box.name, " ", std::llround(box.start), "-",
                      std::llround(box.end));
}

std::vector<std::string> BoxTexts(const std::string& text) {
  std::vector<std::string> texts;
  for (const TracedBox& box : BoxesOf(text)) texts.push_back(BoxText(box));
  return texts;
}

std::vector<double> MemoryMoments(const std::string& text) {
  std::vector<double> moments;
  const TestJson trace = TestJson::parse(text);
  for (const TestJson& event : trace["traceEvents"]) {
    if (event["ph"] == "C") moments.push_back(event["ts"]);
  }
  return moments;
}

TEST(StepTrace, RunsAsTheStepThatThePlanStates) {
  const std::string text = StepTrace(SamplePlan());
  EXPECT_THAT(TraceFaults(text), IsEmpty());
  EXPECT_THAT(BoxTexts(text),
              ElementsAre("2: all-gather y 0-250000", "1: dot.1 250000-750000",  // sort.1: no time
                          "3: contention 750000-875000", "3: launch overhead 875000-937500"));
  EXPECT_THAT(MemoryMoments(text), ElementsAre(0, 250000));
}

TEST(StepTrace, CollectivesThatRunAsOneAreOneBox) {
  Plan plan = SamplePlan();
  std::vector<PlanCollective>& collectives = plan.program.instructions[0].collective;
  collectives.push_back({"all-gather", {"x"}, 3, 5, 1e-9, "v"});
  plan.program.step_timeline->collectives = {{0, 0.25, {0, 0}, {0, 1}}};
  const std::string text = StepTrace(plan);
  EXPECT_THAT(BoxTexts(text), Contains("2: all-gather x + all-gather y x2 0-250000"));
  EXPECT_THAT(text, HasSubstr("\"moves\":\"v, w\""));
  EXPECT_THAT(text, HasSubstr("\"bytes_per_device\":14"));
}

// A plan without the times of an overlapped step.
TEST(StepTrace, ElseEveryOperatorWaitsForItsCollectives) {
  Plan plan = SamplePlan();
  plan.program.step_timeline.reset();
  plan.program.instructions[0].collective[0].seconds = 0.125;
  const std::string text = StepTrace(plan);
  EXPECT_THAT(TraceFaults(text), IsEmpty());
  EXPECT_THAT(BoxTexts(text), ElementsAre("2: all-gather y 0-125000", "1: dot.1 125000-625000"));
  EXPECT_EQ(StepTable(plan),
            "one step: 625 ms serial\n"
            "  computation               500 ms  1 operator\n"
            "  exposed communication     125 ms  1 collective, 125 ms serial\n");
}

TEST(StepTrace, SaysTheSameAsTableAndJson) {
  const Plan plan = SamplePlan();
  EXPECT_EQ(StepTable(plan),
            "one step: 938 ms\n"
            "  computation               500 ms  1 operator\n"
            "  exposed communication     375 ms  1 collective, 1.00 ns serial\n"
            "  launch overhead          62.5 ms\n");
  const TestJson json = TestJson::parse(StepJson(plan));
  EXPECT_DOUBLE_EQ(json["seconds"], 0.9375);
  EXPECT_EQ(json["operators"], 1);
}

// What stands in the trace and the table is what the plan says of its step.
TEST(StepTrace, EndsWithTheStepOfAPlannedProgram) {
  ProgramRequest request;
  request.program = HloData("gpt_tensor.train.hlo.txt.gz");
  request.cluster = "4xh100-sxm";
  request.mesh = "4";
  const absl::StatusOr<PlannedProgram> planned = PlanProgram(request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const Plan& plan = planned->plan;
  const std::string text = StepTrace(plan);
  EXPECT_THAT(TraceFaults(text), IsEmpty());
  double end = 0;
  for (const TracedBox& box : BoxesOf(text)) end = std::max(end, box.end);
  EXPECT_NEAR(end, plan.step_seconds * 1e6, 1e-3);
  const TestJson json = TestJson::parse(StepJson(plan));
  ASSERT_TRUE(plan.time_use.has_value());
  EXPECT_NEAR(json["exposed_communication_seconds"], plan.time_use->exposed_communication, 1e-9);
  EXPECT_NEAR(json["launch_seconds"], plan.time_use->launch_overhead, 1e-9);
  EXPECT_NEAR(json["seconds"], plan.step_seconds, 1e-9);
}

TEST(StepTrace, NeedsInstructions) {
  EXPECT_TRUE(CheckHasStep(SamplePlan()).ok());
  EXPECT_THAT(std::string(CheckHasStep(SampleModelPlan()).message()),
              HasSubstr("neither a pipeline nor instructions"));
}

TEST(StepTrace, TakesAnyNames) {
  Plan plan = SamplePlan();
  plan.program.instructions[0].name = "\"}]\\\n\xff</script>";
  EXPECT_THAT(TraceFaults(StepTrace(plan)), IsEmpty());
}

TEST(SimulationTrace, IsInTheTraceEventFormat) {
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(SamplePipelinePlan(), "zb-h1", 5);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  EXPECT_THAT(TraceFaults(TraceOf(*simulated).json), IsEmpty());
  EXPECT_THAT(TraceFaults(TraceOf(*simulated, 3).json), IsEmpty());
}

TEST(SimulationTrace, HasAnArrowForEverySend) {
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(SamplePipelinePlan(), "gpipe", 4);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  const TestJson trace = TestJson::parse(TraceOf(*simulated).json);
  size_t arrows = 0;
  for (const TestJson& event : trace["traceEvents"]) arrows += event["ph"] == "s" ? 1 : 0;
  EXPECT_EQ(arrows, simulated->simulation.transfers.size());
  EXPECT_GT(arrows, 0);
}

// What the memory counter comes to is what the simulation counted.
TEST(SimulationTrace, MemoryPeaksWhereTheSimulationSays) {
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(SamplePipelinePlan(), "gpipe", 4);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  std::vector<int64_t> peaks(2, 0), last(2, -1);
  const TestJson trace = TestJson::parse(TraceOf(*simulated).json);
  for (const TestJson& event : trace["traceEvents"]) {
    if (event["ph"] != "C" || event["name"] != "memory") continue;
    const int64_t bytes =
        event["args"]["fixed"].get<int64_t>() + event["args"]["in flight"].get<int64_t>();
    const size_t group = event["pid"].get<size_t>() - 1;
    int64_t& peak = peaks[group];
    peak = std::max(peak, bytes);
    last[group] = event["args"]["in flight"];
  }
  EXPECT_EQ(peaks, simulated->simulation.peak_bytes);
  EXPECT_THAT(last, ElementsAre(0, 0));
}

// The validator itself: each of these faults is one.
TEST(TraceFormat, FindsFaults) {
  const auto faults = [](const std::string& events) {
    return TraceFaults("{\"traceEvents\":[" + events + "]}");
  };
  const std::string names =
      R"({"name":"process_name","ph":"M","pid":1,"tid":1,"args":{"name":"p"}},)"
      R"({"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"t"}})";
  const std::string box = R"({"name":"a","cat":"c","ph":"X","ts":0,"dur":10,"pid":1,"tid":1})";
  EXPECT_THAT(faults(names + "," + box), IsEmpty());
  EXPECT_THAT(TraceFaults("[]"), Not(IsEmpty()));
  EXPECT_THAT(faults(box), Not(IsEmpty()));
  for (const char* const fault :
       {R"({"cat":"c","ph":"X","ts":0,"dur":1,"pid":1,"tid":1})",
        R"({"name":"a","cat":"c","ph":"X","ts":-1,"dur":1,"pid":1,"tid":1})",
        R"({"name":"a","cat":"c","ph":"X","ts":0,"pid":1,"tid":1})",
        R"({"name":"a","cat":"c","ph":"X","ts":5,"dur":10,"pid":1,"tid":1})",
        R"({"name":"a","ph":"C","ts":0,"pid":1,"args":{}})",
        R"({"name":"a","ph":"C","ts":0,"pid":1,"args":{"b":-1}})",
        R"({"name":"a","cat":"c","ph":"X","ts":20,"dur":10,"pid":0,"tid":1})",
        R"({"name":"a","cat":"c","ph":"s","id":1,"ts":1,"pid":1,"tid":1})",
        R"({"name":"a","ph":"Q","ts":0,"pid":1})",
        R"({"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"t"}})"}) {
    EXPECT_THAT(faults(names + "," + box + "," + fault), Not(IsEmpty())) << fault;
  }
}

}  // namespace
}  // namespace meshwright
