#include "meshwright/plan/trace/step_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "meshwright/plan/trace/simulation_trace.h"
#include "tests/plan/document/sample_plan.h"
#include "tests/plan/trace/trace_format.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using TestJson = nlohmann::json;

TEST(StepTrace, HasEveryOperatorAndCollectiveOneAfterTheOther) {
  const Plan plan = SamplePlan();
  const std::string text = StepTrace(plan);
  EXPECT_THAT(TraceFaults(text), IsEmpty());
  std::vector<std::string> boxes;
  double end = 0;
  std::vector<int64_t> memory;
  const TestJson trace = TestJson::parse(text);
  for (const TestJson& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      boxes.push_back(event["name"]);
      EXPECT_NEAR(event["ts"].get<double>(), end, 1e-6);
      end = event["ts"].get<double>() + event["dur"].get<double>();
    }
    if (event["ph"] == "C") memory.push_back(event["args"]["activations"]);
  }
  EXPECT_THAT(boxes, ElementsAre("all-gather y", "dot.1"));  // sort.1 takes no time
  EXPECT_NEAR(end, (0.5 + 1e-9) * 1e6, 1e-6);
  EXPECT_THAT(memory, ElementsAre(5, 2));
}

TEST(StepTrace, SaysTheSameAsTableAndJson) {
  const Plan plan = SamplePlan();
  EXPECT_EQ(StepTable(plan),
            "one step: 500 ms serial\n"
            "  computation        500 ms  1 operator\n"
            "  communication     1.00 ns  1 collective\n");
  const TestJson json = TestJson::parse(StepJson(plan));
  EXPECT_DOUBLE_EQ(json["seconds"], 0.5 + 1e-9);
  EXPECT_EQ(json["operators"], 1);
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
