#include "meshwright/plan/simulation_trace.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

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

// Events become text one by one: all of them as JSON values take many times the memory.
class TraceWriter {
 public:
  TraceWriter(const SimulatedPlan& simulated, size_t most_tasks)
      : simulated_(simulated),
        tasks_(simulated.simulation.tasks),
        end_(simulated.simulation.seconds) {
    if (tasks_.size() > most_tasks) Cut(most_tasks);
  }

  SimulationTrace Write() && {
    for (int32_t g = 0; g < simulated_.shape.groups; ++g) {
      Add(Metadata("process_name", g, 0, StrCat("group ", g)));
      for (int row = 0; row < 3; ++row) Add(Metadata("thread_name", g, row, kRowNames[row]));
    }
    const size_t shown = AddTasks();
    AddTransfers();
    Json rest = {{"displayTimeUnit", "ms"}};
    if (shown < tasks_.size()) {
      rest["otherData"] = {{"shown_seconds", end_},
                           {"step_seconds", simulated_.simulation.seconds},
                           {"shown_tasks", shown},
                           {"tasks", tasks_.size()}};
    }
    std::string json = rest.dump();
    json.pop_back();  // the closing brace
    return {StrCat(json, ",\"traceEvents\":[", events_, "\n]}\n"), shown, tasks_.size(), end_};
  }

 private:
  // Keeps the tasks that start first, and sets the end of the trace to the start of the next.
  void Cut(size_t most_tasks) {
    std::vector<size_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto next = order.begin() + static_cast<std::ptrdiff_t>(most_tasks);
    std::nth_element(order.begin(), next, order.end(), [&](size_t a, size_t b) {
      return std::pair(tasks_[a].start, a) < std::pair(tasks_[b].start, b);
    });
    end_ = tasks_[*next].start;
    left_out_.assign(tasks_.size(), false);
    for (auto it = next; it != order.end(); ++it) left_out_[*it] = true;
  }

  // Returns how many.
  size_t AddTasks() {
    const TaskKind last =
        simulated_.schedule->splits_backward ? TaskKind::kWeightGradient : TaskKind::kBackward;
    std::vector<double> free(simulated_.shape.groups, 0);
    std::vector<int64_t> in_flight(simulated_.shape.groups, 0);
    size_t shown = 0;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (!left_out_.empty() && left_out_[i]) continue;
      ++shown;
      const SimulatedTask& t = tasks_[i];
      AddBubble(t.group, free[t.group], t.start);
      free[t.group] = t.end;
      const bool update = t.task.kind == TaskKind::kUpdate;
      Json event =
          Event(update ? StrCat("update s", t.task.stage)
                       : StrCat(KindName(t.task.kind), " ", t.task.micro_batch, " s", t.task.stage),
                KindName(t.task.kind), t.group, kCompute, t.start, t.end);
      event["args"] = {{"stage", t.task.stage}, {"seconds", t.end - t.start}};
      if (!update) event["args"]["micro_batch"] = t.task.micro_batch;
      Add(event);
      if (t.task.kind == TaskKind::kForward) Count(t.group, ++in_flight[t.group], t.start);
      if (t.task.kind == last) Count(t.group, --in_flight[t.group], t.end);
    }
    for (int32_t g = 0; g < simulated_.shape.groups; ++g) AddBubble(g, free[g], end_);
    return shown;
  }

  void Count(int32_t group, int64_t in_flight, double time) {
    Add({{"name", "in flight"},
         {"ph", "C"},
         {"ts", Microseconds(time)},
         {"pid", group},
         {"args", {{"micro_batches", in_flight}}}});
  }

  void AddBubble(int32_t group, double start, double end) {
    if (end > start) Add(Event("bubble", "bubble", group, kBubbles, start, end));
  }

  void AddTransfers() {
    for (const SimulatedTransfer& t : simulated_.simulation.transfers) {
      if (!left_out_.empty() && t.start >= end_) continue;
      Json event =
          Event(StrCat(t.backward ? "gradient " : "activation ", t.micro_batch, " s", t.from,
                       " to s", t.to),
                "transfer", t.from % simulated_.shape.groups, kCommunication, t.start, t.end);
      event["args"] = {{"from", t.from},
                       {"to", t.to},
                       {"micro_batch", t.micro_batch},
                       {"seconds", t.end - t.start}};
      Add(event);
    }
  }

  void Add(const Json& event) { StrAppend(&events_, events_.empty() ? "\n" : ",\n", event.dump()); }

  const SimulatedPlan& simulated_;
  const std::vector<SimulatedTask>& tasks_;
  double end_;                  // of what is shown
  std::vector<bool> left_out_;  // by task; empty: all are shown
  std::string events_;
};

}  // namespace

SimulationTrace TraceOf(const SimulatedPlan& simulated, size_t most_tasks) {
  return TraceWriter(simulated, most_tasks).Write();
}

}  // namespace meshwright
