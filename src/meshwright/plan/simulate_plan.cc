#include "meshwright/plan/simulate_plan.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/plan_table.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// Tasks beyond this take memory that nobody's trace viewer has.
constexpr int64_t kMostTasks = int64_t{1} << 24;

std::vector<StageTimes> TimesOf(const Plan& plan) {
  std::vector<StageTimes> stages;
  for (const PlanStage& stage : plan.stages) {
    StageTimes times;
    times.forward = stage.seconds.forward;
    times.backward = stage.seconds.backward;
    times.weight_gradient = stage.seconds.weight_gradient;
    times.update = stage.seconds.update;
    times.fixed_bytes = stage.bytes.fixed;
    times.bytes_in_flight = stage.bytes.in_flight;
    stages.push_back(times);
  }
  for (const PlanTransfer& transfer : plan.cross_stage) {
    StageTimes& from = stages[transfer.from];
    (transfer.phase == "backward" ? from.send_backward : from.send_forward) = transfer.seconds;
  }
  return stages;
}

std::string_view KindName(TaskKind kind) {
  switch (kind) {
    case TaskKind::kForward:
      return "forward";
    case TaskKind::kBackward:
      return "backward";
    case TaskKind::kWeightGradient:
      return "weight gradient";
    case TaskKind::kUpdate:
      return "update";
  }
  return "";
}

enum Row { kCompute, kCommunication, kBubbles };
constexpr const char* kRowNames[] = {"compute", "communication", "bubbles"};

double Microseconds(double seconds) { return seconds * 1e6; }

Json Event(std::string name, std::string_view category, int32_t group, Row row, double start,
           double end) {
  return {{"name", std::move(name)},
          {"cat", category},
          {"ph", "X"},
          {"ts", Microseconds(start)},
          {"dur", Microseconds(end - start)},
          {"pid", group},
          {"tid", static_cast<int>(row)}};
}

Json Metadata(const char* name, int32_t group, int row, const std::string& value) {
  return {{"name", name}, {"ph", "M"}, {"pid", group}, {"tid", row}, {"args", {{"name", value}}}};
}

class TraceWriter {
 public:
  explicit TraceWriter(const SimulatedPlan& simulated) : simulated_(simulated) {}

  std::string Write() {
    for (int32_t g = 0; g < simulated_.shape.groups; ++g) {
      events_.push_back(Metadata("process_name", g, 0, StrCat("group ", g)));
      for (int row = 0; row < 3; ++row)
        events_.push_back(Metadata("thread_name", g, row, kRowNames[row]));
    }
    AddTasks();
    AddTransfers();
    return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}}.dump() + "\n";
  }

 private:
  void AddTasks() {
    const TaskKind last =
        simulated_.schedule->splits_backward ? TaskKind::kWeightGradient : TaskKind::kBackward;
    std::vector<double> free(simulated_.shape.groups, 0);
    std::vector<int64_t> in_flight(simulated_.shape.groups, 0);
    for (const SimulatedTask& t : simulated_.simulation.tasks) {
      AddBubble(t.group, free[t.group], t.start);
      free[t.group] = t.end;
      const bool update = t.task.kind == TaskKind::kUpdate;
      Json event =
          Event(update ? StrCat("update s", t.task.stage)
                       : StrCat(KindName(t.task.kind), " ", t.task.micro_batch, " s", t.task.stage),
                KindName(t.task.kind), t.group, kCompute, t.start, t.end);
      event["args"] = {{"stage", t.task.stage}, {"seconds", t.end - t.start}};
      if (!update) event["args"]["micro_batch"] = t.task.micro_batch;
      events_.push_back(std::move(event));
      if (t.task.kind == TaskKind::kForward) Count(t.group, ++in_flight[t.group], t.start);
      if (t.task.kind == last) Count(t.group, --in_flight[t.group], t.end);
    }
    for (int32_t g = 0; g < simulated_.shape.groups; ++g)
      AddBubble(g, free[g], simulated_.simulation.seconds);
  }

  void Count(int32_t group, int64_t in_flight, double time) {
    events_.push_back({{"name", "in flight"},
                       {"ph", "C"},
                       {"ts", Microseconds(time)},
                       {"pid", group},
                       {"args", {{"micro_batches", in_flight}}}});
  }

  void AddBubble(int32_t group, double start, double end) {
    if (end > start) events_.push_back(Event("bubble", "bubble", group, kBubbles, start, end));
  }

  void AddTransfers() {
    for (const SimulatedTransfer& t : simulated_.simulation.transfers) {
      Json event =
          Event(StrCat(t.backward ? "gradient " : "activation ", t.micro_batch, " s", t.from,
                       " to s", t.to),
                "transfer", t.from % simulated_.shape.groups, kCommunication, t.start, t.end);
      event["args"] = {{"from", t.from},
                       {"to", t.to},
                       {"micro_batch", t.micro_batch},
                       {"seconds", t.end - t.start}};
      events_.push_back(std::move(event));
    }
  }

  const SimulatedPlan& simulated_;
  Json events_ = Json::array();
};

}  // namespace

absl::StatusOr<SimulatedPlan> SimulatePlan(const Plan& plan, const std::string& schedule,
                                           int64_t micro_batches) {
  if (plan.stages.empty()) {
    return absl::InvalidArgumentError(
        "the plan has no pipeline; `meshwright plan --pipeline auto` makes one");
  }
  SimulatedPlan simulated;
  MW_ASSIGN_OR_RETURN(simulated.schedule,
                      FindSchedule(schedule.empty() ? *plan.schedule : schedule));
  const auto stages = static_cast<int64_t>(plan.stages.size());
  const int64_t count = micro_batches > 0 ? micro_batches : plan.micro_batches;
  if (count > kMostTasks / stages || count > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        StrCat(count, " micro-batches of ", stages, " stages are more than can be simulated"));
  }
  simulated.shape = {static_cast<int32_t>(stages / plan.chunks), static_cast<int32_t>(plan.chunks),
                     static_cast<int32_t>(count)};
  simulated.stages = TimesOf(plan);
  MW_ASSIGN_OR_RETURN(simulated.simulation,
                      Simulate(*simulated.schedule, simulated.shape, simulated.stages));
  return simulated;
}

std::string SimulationTable(const SimulatedPlan& simulated) {
  const Simulation& simulation = simulated.simulation;
  std::string text = absl::StrFormat(
      "%d groups, %d micro-batches, %s: step %s one by one, bubble %.1f %%\n", simulated.shape.groups,
      simulated.shape.micro_batches, std::string(simulated.schedule->name),
      SecondsText(simulation.seconds), 100 * simulation.bubble_share);
  absl::StrAppendFormat(&text, "  %-6s %12s %8s %12s %10s\n", "group", "busy", "", "memory",
                        "in flight");
  for (int32_t g = 0; g < simulated.shape.groups; ++g) {
    const double share =
        simulation.seconds > 0 ? simulation.busy_seconds[g] / simulation.seconds : 0;
    absl::StrAppendFormat(&text, "  %-6d %12s %6.1f %% %12s %10d\n", g,
                          SecondsText(simulation.busy_seconds[g]), 100 * share,
                          BytesText(simulation.peak_bytes[g]), simulation.peak_in_flight[g]);
  }
  return text;
}

std::string SimulationJson(const SimulatedPlan& simulated) {
  const Simulation& simulation = simulated.simulation;
  Json groups = Json::array();
  for (int32_t g = 0; g < simulated.shape.groups; ++g) {
    groups.push_back({{"busy_seconds", simulation.busy_seconds[g]},
                      {"peak_bytes", simulation.peak_bytes[g]},
                      {"peak_in_flight", simulation.peak_in_flight[g]}});
  }
  const Json json = {{"schedule", std::string(simulated.schedule->name)},
                     {"groups", simulated.shape.groups},
                     {"chunks", simulated.shape.chunks},
                     {"micro_batches", simulated.shape.micro_batches},
                     {"seconds", simulation.seconds},
                     {"bubble_share", simulation.bubble_share},
                     {"by_group", std::move(groups)}};
  return json.dump(1) + "\n";
}

std::string TraceJson(const SimulatedPlan& simulated) { return TraceWriter(simulated).Write(); }

}  // namespace meshwright
