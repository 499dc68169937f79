// A device has two queues: one of kernels, one of collectives. Each takes whatever is ready, the
// first of the schedule before others, and a kernel waits for the collectives that make its
// operands. So a collective is hidden as far as kernels that do not need it are at hand: gradients'
// all-reduces behind what is left of the backward pass and the optimizer, those of tensor
// parallelism behind the products for weights' gradients, and in the forward pass not at all.
// (XLA's LatencyHidingScheduler moves kernels between the start and the end of asynchronous
// collectives to the same effect.)
//
// What is hidden is not free: the collective's kernels take multiprocessors and memory bandwidth
// from the others (Overlap::cost).
//
// Collectives of one kind over the same axes that do not wait for each other are combined up to
// XLA's threshold before that: they start once, when the last of their operands is there.
//
// Loops count as one pass that takes all their rounds' time.

#include "meshwright/intra/timeline.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

// xla_gpu_all_reduce_combine_threshold_bytes and its like for all-gather and reduce-scatter.
constexpr int64_t kCombinedBytes = 30 * 1024 * 1024;

// Something that a queue runs.
struct Task {
  double seconds = 0;
  int32_t order = 0;  // position in its queue if nothing speaks against it
  bool collective = false;
  int32_t waits_for = 0;        // unfinished tasks
  double ready = 0;             // when the last of those that are finished did
  std::vector<int32_t> before;  // tasks that wait for this one
};

// By operator: the exit of the loop of which it is a parameter; invalid for all others.
std::vector<OpId> LoopExits(const Graph& graph) {
  std::vector<OpId> exits(graph.ops.size());
  for (const Carry& carry : graph.carries) {
    if (carry.exit.valid())
      exits[graph[carry.parameter].producer.index()] = graph[carry.exit].producer;
  }
  return exits;
}

class Simulation {
 public:
  Simulation(const Graph& graph, const CostModel& cost_model, const IntraPlan& plan,
             const StepRuns& runs)
      : graph_(graph), cost_model_(cost_model), plan_(plan), runs_(runs), exits_(LoopExits(graph)) {
    for (size_t i = 0; i < plan.collectives.size(); ++i) {
      if (runs.collectives[i] > 0) collectives_.push_back(static_cast<int32_t>(i));
    }
  }

  double Run(const Overlap& overlap) {
    MakeKernels();
    MeasureDepths();
    MakeCollectives();
    const double end = Execute();
    double kernels = 0, collectives = 0;
    for (const Task& task : tasks_) (task.collective ? collectives : kernels) += task.seconds;
    const double hidden = std::max(0.0, kernels + collectives - end);
    return end + overlap.cost * hidden + overlap.step_seconds;
  }

 private:
  void MakeKernels() {
    tasks_.resize(graph_.ops.size());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      tasks_[i].seconds = plan_.ops[i].compute_seconds * runs_.ops[i];
      tasks_[i].order = plan_.schedule.time[i];
      for (ValueId v : graph_.ops[i].operands)
        Before(static_cast<int32_t>(graph_[v].producer.index()), static_cast<int32_t>(i));
    }
  }

  void Before(int32_t first, int32_t second) {
    if (first == second) return;
    tasks_[first].before.push_back(second);
    ++tasks_[second].waits_for;
  }

  // The operator that waits where a value is moved for another than all its users. What is moved at
  // the end of a round for the next is awaited by the loop's exit, as a loop counts as one pass;
  // invalid where nothing reads that.
  OpId WaitsFor(const PlannedCollective& c) const {
    return c.user < graph_[c.value].producer ? exits_[c.user.index()] : c.user;
  }

  // Per value: the most collectives on a way to it. Those of equal depth do not wait for each
  // other.
  void MeasureDepths() {
    depth_.assign(graph_.values.size(), 0);
    std::vector<bool> moved(graph_.values.size(), false);
    // Carries of loops are moved for operators that do not read them.
    std::vector<std::vector<ValueId>> awaited(graph_.ops.size());
    for (int32_t i : collectives_) {
      const PlannedCollective& c = plan_.collectives[i];
      moved[c.value.index()] = true;
      if (const OpId waits = WaitsFor(c); waits.valid() && waits != graph_[c.value].producer)
        awaited[waits.index()].push_back(c.value);
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      int32_t depth = 0;
      for (ValueId v : op.operands)
        depth = std::max(depth, depth_[v.index()] + (moved[v.index()] ? 1 : 0));
      for (ValueId v : awaited[i]) depth = std::max(depth, depth_[v.index()] + 1);
      for (ValueId v : op.results) depth_[v.index()] = depth;
    }
  }

  struct Combined {
    int32_t task;
    int32_t depth;
    int64_t bytes;
    double apart_seconds, rearrange_seconds;
    CollectiveStep step;
  };

  void MakeCollectives() {
    std::vector<Combined> open;  // still below the threshold
    int32_t previous = -1;
    const auto at = [this](size_t i) -> const PlannedCollective& {
      return plan_.collectives[collectives_[i]];
    };
    for (size_t i = 0; i < collectives_.size(); ++i) {
      const PlannedCollective& c = at(i);
      const double times = runs_.collectives[collectives_[i]];
      const bool continues = i > 0 && at(i - 1).value == c.value && at(i - 1).user == c.user;
      const bool combinable =
          times == 1 && !continues && (i + 1 == collectives_.size() || at(i + 1).value != c.value);
      const int32_t task = combinable ? Combine(c, &open) : NewTask(c, times);
      Before(continues ? previous : static_cast<int32_t>(graph_[c.value].producer.index()), task);
      if (c.user == graph_[c.value].producer) {
        for (OpId user : graph_[c.value].users) Before(task, static_cast<int32_t>(user.index()));
      } else if (const OpId waits = WaitsFor(c); waits.valid()) {
        Before(task, static_cast<int32_t>(waits.index()));
      }
      previous = task;
    }
  }

  int32_t NewTask(const PlannedCollective& c, double times) {
    Task task;
    task.seconds = (c.seconds + c.rearrange_seconds) * times;
    task.order = plan_.schedule.time[c.user.index()];
    task.collective = true;
    tasks_.push_back(std::move(task));
    return static_cast<int32_t>(tasks_.size()) - 1;
  }

  // Operands are copied into one buffer and results out of it; of an all-gather and a
  // reduce-scatter one of the two is small.
  double CopySeconds(CollectiveKind kind, int64_t bytes) const {
    const int64_t moved = (kind == CollectiveKind::kAllReduce ? 4 : 2) * bytes;
    return cost_model_.ComputeSeconds({.bytes = static_cast<double>(moved)});
  }

  int32_t Combine(const PlannedCollective& c, std::vector<Combined>* open) {
    const auto found = std::find_if(open->begin(), open->end(), [&](const Combined& o) {
      return o.step.kind == c.step.kind && o.step.axes == c.step.axes &&
             o.depth == depth_[c.value.index()];
    });
    if (found != open->end() && found->bytes + c.step.bytes <= kCombinedBytes) {
      const int64_t total = found->bytes + c.step.bytes;
      found->rearrange_seconds += c.rearrange_seconds;
      found->apart_seconds += c.seconds;
      const double together = cost_model_.CollectiveSeconds(c.step.kind, c.step.axes, total) +
                              CopySeconds(c.step.kind, total);
      tasks_[found->task].seconds =
          std::min(found->apart_seconds, together) + found->rearrange_seconds;
      tasks_[found->task].order =
          std::min(tasks_[found->task].order, plan_.schedule.time[c.user.index()]);
      found->bytes = total;
      return found->task;
    }
    if (found != open->end()) open->erase(found);
    const int32_t task = NewTask(c, 1);
    if (c.step.bytes < kCombinedBytes)
      open->push_back(
          {task, depth_[c.value.index()], c.step.bytes, c.seconds, c.rearrange_seconds, c.step});
    return task;
  }

  // One of the two queues.
  struct Queue {
    using Entry = std::pair<double, int32_t>;  // when it is ready, or its order; task
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> later, ready;
    double free = 0;

    double NextStart() const {
      if (!ready.empty()) return free;
      return later.empty() ? -1 : std::max(free, later.top().first);
    }
  };

  double Execute() {
    Queue queues[2];
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].waits_for == 0)
        queues[tasks_[i].collective].later.push({0, static_cast<int32_t>(i)});
    }
    double end = 0;
    for (;;) {
      const double starts[] = {queues[0].NextStart(), queues[1].NextStart()};
      if (starts[0] < 0 && starts[1] < 0) return end;
      const int which = starts[0] < 0 || (starts[1] >= 0 && starts[1] < starts[0]) ? 1 : 0;
      Queue& queue = queues[which];
      const double now = starts[which];
      while (!queue.later.empty() && queue.later.top().first <= now) {
        const int32_t task = queue.later.top().second;
        queue.later.pop();
        queue.ready.push({static_cast<double>(tasks_[task].order), task});
      }
      const int32_t index = queue.ready.top().second;
      queue.ready.pop();
      const double finish = now + tasks_[index].seconds;
      queue.free = finish;
      end = std::max(end, finish);
      for (int32_t next : tasks_[index].before) {
        Task& task = tasks_[next];
        task.ready = std::max(task.ready, finish);
        if (--task.waits_for == 0) queues[task.collective].later.push({task.ready, next});
      }
    }
  }

  const Graph& graph_;
  const CostModel& cost_model_;
  const IntraPlan& plan_;
  const StepRuns& runs_;
  const std::vector<OpId> exits_;
  std::vector<int32_t> collectives_;  // those that run
  std::vector<Task> tasks_;           // ops by OpId, then collectives
  std::vector<int32_t> depth_;
};

}  // namespace

double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan) {
  StepRuns runs;
  for (const Op& op : graph.ops) runs.ops.push_back(op.multiplicity);
  for (const PlannedCollective& c : plan.collectives) runs.collectives.push_back(c.multiplicity);
  return StepSeconds(graph, cost_model, overlap, plan, runs);
}

double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan, const StepRuns& runs) {
  return Simulation(graph, cost_model, plan, runs).Run(overlap);
}

}  // namespace meshwright
