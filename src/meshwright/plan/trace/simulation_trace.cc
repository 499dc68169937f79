#include "meshwright/plan/trace/simulation_trace.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/trace/trace_writer.h"

namespace meshwright {
namespace {

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

// What a group's micro-batches in flight come to while its tasks run.
struct InFlight {
  int64_t micro_batches = 0, bytes = 0;
};

class PipelineTrace {
 public:
  PipelineTrace(const SimulatedPlan& simulated, size_t most_tasks)
      : simulated_(simulated),
        tasks_(simulated.simulation.tasks),
        end_(simulated.simulation.seconds) {
    if (tasks_.size() > most_tasks) Cut(most_tasks);
  }

  SimulationTrace Write() && {
    for (int32_t g = 0; g < simulated_.shape.groups; ++g) {
      trace_.Name(g, StrCat("group ", g), {kRowNames, std::size(kRowNames)});
    }
    const size_t shown = AddTasks();
    AddTransfers();
    Json rest = Json::object();
    if (shown < tasks_.size()) {
      rest["otherData"] = {{"shown_seconds", end_},
                           {"step_seconds", simulated_.simulation.seconds},
                           {"shown_tasks", shown},
                           {"tasks", tasks_.size()}};
    }
    return {std::move(trace_).Write(std::move(rest)), shown, tasks_.size(), end_};
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
    std::vector<InFlight> in_flight(simulated_.shape.groups);
    for (int32_t g = 0; g < simulated_.shape.groups; ++g) Count(g, in_flight[g], 0);
    size_t shown = 0;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (!left_out_.empty() && left_out_[i]) continue;
      ++shown;
      const SimulatedTask& t = tasks_[i];
      AddBubble(t.group, free[t.group], t.start);
      free[t.group] = t.end;
      const bool update = t.task.kind == TaskKind::kUpdate;
      Json event =
          Box(update ? StrCat("update s", t.task.stage)
                     : StrCat(KindName(t.task.kind), " ", t.task.micro_batch, " s", t.task.stage),
              KindName(t.task.kind), t.group, kCompute, t.start, t.end);
      event["args"] = {{"stage", t.task.stage}, {"seconds", t.end - t.start}};
      if (!update) event["args"]["micro_batch"] = t.task.micro_batch;
      trace_.Add(event);
      InFlight& now = in_flight[t.group];
      const int64_t bytes = simulated_.stages[t.task.stage].bytes_in_flight;
      if (t.task.kind == TaskKind::kForward) {
        now = {now.micro_batches + 1, now.bytes + bytes};
        Count(t.group, now, t.start);
      }
      if (t.task.kind == last) {
        now = {now.micro_batches - 1, now.bytes - bytes};
        Count(t.group, now, t.end);
      }
    }
    for (int32_t g = 0; g < simulated_.shape.groups; ++g) AddBubble(g, free[g], end_);
    return shown;
  }

  void Count(int32_t group, const InFlight& now, double time) {
    trace_.AddCounter("in flight", group, time, {{"micro_batches", now.micro_batches}});
    int64_t fixed = 0;
    for (size_t s = group; s < simulated_.stages.size(); s += simulated_.shape.groups) {
      fixed += simulated_.stages[s].fixed_bytes;
    }
    trace_.AddCounter("memory", group, time, {{"fixed", fixed}, {"in flight", now.bytes}});
  }

  void AddBubble(int32_t group, double start, double end) {
    if (end > start) trace_.Add(Box("bubble", "bubble", group, kBubbles, start, end));
  }

  void AddTransfers() {
    std::map<Received, double> users;  // when the task starts that uses what arrives
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const auto& [task, group, start, end] = tasks_[i];
      const bool backward = task.kind == TaskKind::kBackward;
      if ((!left_out_.empty() && left_out_[i]) || (!backward && task.kind != TaskKind::kForward))
        continue;
      users[{task.stage, task.micro_batch, backward}] = start;
    }
    for (const SimulatedTransfer& t : simulated_.simulation.transfers) {
      if (!left_out_.empty() && t.start >= end_) continue;
      Json event =
          Box(StrCat(t.backward ? "gradient " : "activation ", t.micro_batch, " s", t.from, " to s",
                     t.to),
              "transfer", t.from % simulated_.shape.groups, kCommunication, t.start, t.end);
      event["args"] = {{"from", t.from},
                       {"to", t.to},
                       {"micro_batch", t.micro_batch},
                       {"seconds", t.end - t.start}};
      trace_.Add(event);
      const auto user = users.find(Received{t.to, t.micro_batch, t.backward});
      if (user == users.end()) continue;
      const FlowEnd sent = {t.from % simulated_.shape.groups, kCommunication, t.start};
      trace_.AddFlow("send", sent, {t.to % simulated_.shape.groups, kCompute, user->second});
    }
  }

  // What a task waits for: the stage, the micro-batch, and whether it is a gradient.
  using Received = std::tuple<int32_t, int32_t, bool>;

  const SimulatedPlan& simulated_;
  const std::vector<SimulatedTask>& tasks_;
  double end_;                  // of what is shown
  std::vector<bool> left_out_;  // by task; empty: all are shown
  TraceWriter trace_;
};

}  // namespace

SimulationTrace TraceOf(const SimulatedPlan& simulated, size_t most_tasks) {
  return PipelineTrace(simulated, most_tasks).Write();
}

}  // namespace meshwright
