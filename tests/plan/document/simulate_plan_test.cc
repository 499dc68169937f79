#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/plan/trace/simulation_trace.h"
#include "tests/plan/document/sample_plan.h"

namespace meshwright {
namespace {

using Json = nlohmann::json;
using nlohmann::literals::operator""_json_pointer;
using testing::HasSubstr;

TEST(SimulatePlan, IsWhatThePlanSays) {
  const Plan plan = SamplePipelinePlan();
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(plan, "", 0);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  // Two equal stages, eight micro-batches of 10 and 20 ms, transfers of 10 us on the critical path
  // where the pipeline fills and drains, 1 ms of update.
  EXPECT_NEAR(simulated->simulation.seconds, 9 * 0.03 + 0.001, 9 * 4e-5);
  EXPECT_EQ(simulated->simulation.peak_bytes[0], (int64_t{1} << 30) + (2 << 20));
  EXPECT_THAT(SimulationTable(*simulated), HasSubstr("2 groups, 8 micro-batches, 1f1b: step 27"));
  const Json json = Json::parse(SimulationJson(*simulated));
  EXPECT_EQ(json["by_group"].size(), 2);
  EXPECT_DOUBLE_EQ(json["seconds"], simulated->simulation.seconds);
}

TEST(SimulatePlan, OtherSchedulesAndCounts) {
  const Plan plan = SamplePipelinePlan();
  const absl::StatusOr<SimulatedPlan> zero_bubble = SimulatePlan(plan, "zb-h1", 16);
  ASSERT_TRUE(zero_bubble.ok()) << zero_bubble.status();
  EXPECT_LT(zero_bubble->simulation.seconds, SimulatePlan(plan, "1f1b", 16)->simulation.seconds);
  EXPECT_EQ(SimulatePlan(plan, "none", 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(SimulatePlan(SamplePlan(), "", 0).status().message()),
              HasSubstr("no pipeline"));
  EXPECT_THAT(std::string(SimulatePlan(plan, "", int64_t{1} << 40).status().message()),
              HasSubstr("1099511627776 micro-batches of 2 stages are more than can be simulated; "
                        "--micro-batches takes at most 524288"));
}

TEST(SimulatePlan, MemoryBeyondAllCountsIsRefused) {
  Plan plan = SamplePipelinePlan();
  plan.pipeline->stages[1].bytes.in_flight = int64_t{1} << 60;
  EXPECT_THAT(std::string(SimulatePlan(plan, "gpipe", 8).status().message()),
              HasSubstr("with 8 micro-batches in flight, a device of stage 1 would hold more than "
                        "2^63 - 1 bytes"));
  EXPECT_TRUE(SimulatePlan(plan, "gpipe", 4).ok());
}

// Each group's rows hold the whole step: computation and bubbles fill it without overlap.
TEST(SimulationTrace, RowsAddUpToTheStep) {
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(SamplePipelinePlan(), "", 0);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  const Json trace = Json::parse(TraceOf(*simulated).json);
  std::map<int, double> filled, free;
  int transfers = 0, names = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") ++names;
    if (event["ph"] != "X") continue;
    const int group = event["pid"], row = event["tid"];
    if (row == 2) {
      ++transfers;
      continue;
    }
    filled[group] += event["dur"].get<double>();
    EXPECT_GE(event["ts"].get<double>() + 1e-6, free[group]) << event;
    free[group] = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_EQ(names, 2 * 4 * 2);  // of a process and its rows, each with its place
  EXPECT_EQ(transfers, 2 * 8);
  ASSERT_EQ(filled.size(), 2);
  for (const auto& [group, microseconds] : filled)
    EXPECT_NEAR(microseconds, simulated->simulation.seconds * 1e6, 1e-3) << group;
}

// A long step's trace ends early, at one time for all groups, and says so.
TEST(SimulationTrace, ShowsTheFirstOfManyTasks) {
  const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(SamplePipelinePlan(), "", 0);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  const size_t all = simulated->simulation.tasks.size();
  for (size_t most : {size_t{0}, size_t{1}, all / 2, all - 1, all}) {
    SCOPED_TRACE(most);
    const SimulationTrace trace = TraceOf(*simulated, most);
    EXPECT_EQ(trace.tasks, most);
    EXPECT_EQ(trace.all_tasks, all);
    const Json json = Json::parse(trace.json);
    EXPECT_EQ(json.contains("otherData"), most < all);
    EXPECT_EQ(json.value("/otherData/shown_tasks"_json_pointer, all), most);
    size_t tasks = 0;
    std::map<int, double> filled;
    for (const Json& event : json["traceEvents"]) {
      if (event["ph"] != "X") continue;
      EXPECT_LE(event["ts"].get<double>(), trace.seconds * 1e6);
      if (event["tid"] == 1) ++tasks;
      if (event["tid"] != 2) filled[event["pid"]] += event["dur"].get<double>();
    }
    EXPECT_EQ(tasks, most);
    // The last task may go on beyond.
    for (const auto& [group, microseconds] : filled)
      EXPECT_GE(microseconds + 1e-3, trace.seconds * 1e6) << group;
  }
}

// Whatever a file says in one place: it is refused, or shown and simulated with figures that are
// some.
TEST(SimulatePlan, OfEveryPlanThatReads) {
  const std::vector<Json> values = {nullptr, -1, 0, 2, 1e9, 1e300, "", "gpipe", int64_t{1} << 62};
  const Json sample = Json::parse(PlanToJson(SamplePipelinePlan()));
  const Json leaves = sample.flatten();
  int read_back = 0;
  for (const auto& [pointer, leaf] : leaves.items()) {
    for (const Json& value : values) {
      SCOPED_TRACE(pointer + " = " + value.dump());
      Json json = sample;
      json[Json::json_pointer(pointer)] = value;
      const absl::StatusOr<Plan> plan = ParsePlanJson(json.dump(), "p.json");
      if (!plan.ok()) continue;
      ++read_back;
      EXPECT_FALSE(PlanTable(*plan).empty());
      const absl::StatusOr<SimulatedPlan> simulated = SimulatePlan(*plan, "", 4);
      ASSERT_TRUE(simulated.ok()) << simulated.status();
      EXPECT_TRUE(std::isfinite(simulated->simulation.seconds));
      for (const int64_t bytes : simulated->simulation.peak_bytes) EXPECT_GE(bytes, 0);
      const Json trace = Json::parse(TraceOf(*simulated).json);
      for (const Json& event : trace["traceEvents"])
        ASSERT_TRUE(event["ph"] != "X" || event["dur"].get<double>() >= 0) << event;
    }
  }
  EXPECT_GT(read_back, 100);
}

}  // namespace
}  // namespace meshwright
