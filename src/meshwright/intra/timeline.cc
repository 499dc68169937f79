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

std::vector<OpId> LoopExits(const Graph& graph) {
  std::vector<OpId> exits(graph.ops.size());
  for (const Carry& carry : graph.carries) {
    if (carry.exit.valid())
      exits[graph[carry.parameter].producer.index()] = graph[carry.exit].producer;
  }
  return exits;
}

OpId WaitsForMove(const Graph& graph, const std::vector<OpId>& exits, ValueId value, OpId user) {
  return user < graph[value].producer ? exits[user.index()] : user;
}

StepSimulation::StepSimulation(const Graph& graph, const CostModel& cost_model,
                               const Overlap& overlap)
    : graph_(graph), cost_model_(cost_model), overlap_(overlap), exits_(LoopExits(graph)) {
  operands_.assign(graph.ops.size(), 0);
  first_user_.assign(graph.ops.size() + 1, 0);
  const auto each = [&](auto visit) {
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      for (ValueId v : graph.ops[i].operands) {
        const size_t producer = graph[v].producer.index();
        if (producer != i) visit(producer, i);
      }
    }
  };
  each([&](size_t producer, size_t) { ++first_user_[producer + 1]; });
  for (size_t i = 0; i < graph.ops.size(); ++i) first_user_[i + 1] += first_user_[i];
  users_.resize(static_cast<size_t>(first_user_.back()));
  std::vector<int32_t> at(first_user_.begin(), first_user_.end() - 1);
  each([&](size_t producer, size_t user) {
    users_[static_cast<size_t>(at[producer]++)] = static_cast<int32_t>(user);
    ++operands_[user];
  });
}

double StepSimulation::Seconds(const std::vector<double>& kernels, const std::vector<int32_t>& time,
                               std::span<const StepCollective> collectives) {
  tasks_.assign(graph_.ops.size(), Task());
  links_.clear();
  double busy = 0;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].seconds = kernels[i];
    tasks_[i].order = time[i];
    tasks_[i].waits_for = operands_[i];
    busy += kernels[i];
  }
  MeasureDepths(collectives);
  MakeCollectives(time, collectives);
  for (size_t i = graph_.ops.size(); i < tasks_.size(); ++i) busy += tasks_[i].seconds;
  const double end = Execute();
  contention_seconds_ = overlap_.cost * std::max(0.0, busy - end);
  return end + contention_seconds_ + overlap_.LaunchSeconds(graph_, cost_model_.mesh().cluster);
}

void StepSimulation::Before(int32_t first, int32_t second) {
  if (first == second) return;
  links_.emplace_back(second, tasks_[static_cast<size_t>(first)].next_before);
  tasks_[static_cast<size_t>(first)].next_before = static_cast<int32_t>(links_.size()) - 1;
  ++tasks_[static_cast<size_t>(second)].waits_for;
}

// Per value: the most collectives on a path to it. Those of equal depth do not wait for each other.
void StepSimulation::MeasureDepths(std::span<const StepCollective> collectives) {
  depth_.assign(graph_.values.size(), 0);
  moved_.assign(graph_.values.size(), false);
  // Carries of loops are moved for operators that do not read them.
  first_awaited_.assign(graph_.ops.size(), -1);
  next_awaited_.clear();
  for (size_t i = 0; i < collectives.size(); ++i) {
    const StepCollective& c = collectives[i];
    moved_[c.value.index()] = true;
    const OpId waits = WaitsForMove(graph_, exits_, c.value, c.user);
    next_awaited_.push_back(waits.valid() ? first_awaited_[waits.index()] : -1);
    if (waits.valid()) first_awaited_[waits.index()] = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    int32_t depth = 0;
    for (ValueId v : op.operands)
      depth = std::max(depth, depth_[v.index()] + (moved_[v.index()] ? 1 : 0));
    for (int32_t c = first_awaited_[i]; c >= 0; c = next_awaited_[static_cast<size_t>(c)]) {
      const ValueId v = collectives[static_cast<size_t>(c)].value;
      if (graph_[v].producer.index() != i) depth = std::max(depth, depth_[v.index()] + 1);
    }
    for (ValueId v : op.results) depth_[v.index()] = depth;
  }
}

struct StepSimulation::Combined {
  int32_t task;
  int32_t depth;
  int64_t bytes;
  double apart_seconds, rearrange_seconds;
  CollectiveStep step;
};

void StepSimulation::MakeCollectives(const std::vector<int32_t>& time,
                                     std::span<const StepCollective> collectives) {
  std::vector<Combined> open;  // still below the threshold
  task_of_.clear();
  for (size_t i = 0; i < collectives.size(); ++i) {
    const StepCollective& c = collectives[i];
    const bool continues =
        i > 0 && collectives[i - 1].value == c.value && collectives[i - 1].user == c.user;
    const bool combinable = c.runs == 1 && !continues &&
                            (i + 1 == collectives.size() || collectives[i + 1].value != c.value);
    const int32_t task = combinable ? Combine(c, time, &open) : NewTask(c, time, c.runs);
    Before(continues ? task_of_.back() : static_cast<int32_t>(graph_[c.value].producer.index()),
           task);
    if (c.user == graph_[c.value].producer) {
      for (OpId user : graph_[c.value].users) Before(task, static_cast<int32_t>(user.index()));
    } else if (const OpId waits = WaitsForMove(graph_, exits_, c.value, c.user); waits.valid()) {
      Before(task, static_cast<int32_t>(waits.index()));
    }
    task_of_.push_back(task);
  }
}

int32_t StepSimulation::NewTask(const StepCollective& c, const std::vector<int32_t>& time,
                                double runs) {
  Task task;
  task.seconds = (c.seconds + c.rearrange_seconds) * runs;
  task.order = time[c.user.index()];
  tasks_.push_back(task);
  return static_cast<int32_t>(tasks_.size()) - 1;
}

int32_t StepSimulation::Combine(const StepCollective& c, const std::vector<int32_t>& time,
                                std::vector<Combined>* open) {
  const auto found = std::find_if(open->begin(), open->end(), [&](const Combined& o) {
    return o.step.kind == c.step.kind && o.step.axes == c.step.axes &&
           o.depth == depth_[c.value.index()];
  });
  if (found != open->end() && found->bytes + c.step.bytes <= kCombinedBytes) {
    const int64_t total = found->bytes + c.step.bytes;
    found->rearrange_seconds += c.rearrange_seconds;
    found->apart_seconds += c.seconds;
    const double together = cost_model_.CollectiveSeconds(c.step.kind, c.step.axes, total) +
                            CombinedCopySeconds(cost_model_, c.step.kind, total);
    Task& task = tasks_[static_cast<size_t>(found->task)];
    task.seconds = std::min(found->apart_seconds, together) + found->rearrange_seconds;
    task.order = std::min(task.order, time[c.user.index()]);
    found->bytes = total;
    return found->task;
  }
  if (found != open->end()) open->erase(found);
  const int32_t task = NewTask(c, time, 1);
  if (c.step.bytes < kCombinedBytes)
    open->push_back(
        {task, depth_[c.value.index()], c.step.bytes, c.seconds, c.rearrange_seconds, c.step});
  return task;
}

// One of the two queues.
struct StepSimulation::Queue {
  using Entry = std::pair<double, int32_t>;  // when it is ready, or its order; task
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> later, ready;
  double free = 0;

  double NextStart() const {
    if (!ready.empty()) return free;
    return later.empty() ? -1 : std::max(free, later.top().first);
  }
};

double StepSimulation::Execute() {
  Queue queues[2];
  running_.clear();
  const size_t operators = graph_.ops.size();
  const auto is_collective = [&](size_t task) { return task >= operators; };
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].waits_for == 0) queues[is_collective(i)].later.push({0, static_cast<int32_t>(i)});
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
      queue.ready.push({static_cast<double>(tasks_[static_cast<size_t>(task)].order), task});
    }
    const auto index = static_cast<size_t>(queue.ready.top().second);
    queue.ready.pop();
    tasks_[index].start = now;
    const double finish = now + tasks_[index].seconds;
    queue.free = finish;
    end = std::max(end, finish);
    if (!is_collective(index) && finish > now) {
      if (!running_.empty() && running_.back().second == now) {
        running_.back().second = finish;
      } else {
        running_.emplace_back(now, finish);
      }
    }
    const auto wake = [&](int32_t next) {
      Task& task = tasks_[static_cast<size_t>(next)];
      task.ready = std::max(task.ready, finish);
      if (--task.waits_for == 0)
        queues[is_collective(static_cast<size_t>(next))].later.push({task.ready, next});
    };
    if (!is_collective(index)) {
      for (int32_t u = first_user_[index]; u < first_user_[index + 1]; ++u)
        wake(users_[static_cast<size_t>(u)]);
    }
    for (int32_t link = tasks_[index].next_before; link >= 0;
         link = links_[static_cast<size_t>(link)].second)
      wake(links_[static_cast<size_t>(link)].first);
  }
}

std::vector<double> StepSimulation::HiddenShares() const {
  std::vector<double> shares;
  for (const int32_t index : task_of_) {
    const Task& task = tasks_[static_cast<size_t>(index)];
    double hidden = 0;
    auto kernel = std::lower_bound(
        running_.begin(), running_.end(), task.start,
        [](const std::pair<double, double>& run, double at) { return run.second <= at; });
    for (; kernel != running_.end() && kernel->first < task.start + task.seconds; ++kernel) {
      hidden +=
          std::min(kernel->second, task.start + task.seconds) - std::max(kernel->first, task.start);
    }
    shares.push_back(task.seconds > 0 ? std::min(1.0, hidden / task.seconds) : 0);
  }
  return shares;
}

StepTimes StepSimulation::Times() const {
  StepTimes times;
  times.contention_seconds = contention_seconds_;
  times.launch_seconds = overlap_.LaunchSeconds(graph_, cost_model_.mesh().cluster);
  for (size_t i = 0; i < graph_.ops.size(); ++i) times.op_start.push_back(tasks_[i].start);
  std::vector<StepTimes::Run> runs(tasks_.size() - graph_.ops.size());
  for (size_t r = 0; r < runs.size(); ++r) {
    const Task& task = tasks_[graph_.ops.size() + r];
    runs[r].start = task.start;
    runs[r].seconds = task.seconds;
  }
  for (size_t i = 0; i < task_of_.size(); ++i) {
    runs[static_cast<size_t>(task_of_[i]) - graph_.ops.size()].collectives.push_back(
        static_cast<int32_t>(i));
  }
  std::stable_sort(runs.begin(), runs.end(), [](const StepTimes::Run& a, const StepTimes::Run& b) {
    return a.start < b.start;
  });
  times.runs = std::move(runs);
  return times;
}

double CombinedCopySeconds(const CostModel& cost_model, CollectiveKind kind, int64_t bytes) {
  const int64_t moved = (kind == CollectiveKind::kAllReduce ? 4 : 2) * bytes;
  return cost_model.ComputeSeconds({.bytes = static_cast<double>(moved)});
}

namespace {

StepRuns AllRuns(const Graph& graph, const IntraPlan& plan) {
  StepRuns runs;
  for (const Op& op : graph.ops) runs.ops.push_back(op.multiplicity);
  for (const PlannedCollective& c : plan.collectives) runs.collectives.push_back(c.multiplicity);
  return runs;
}

// A step of `plan`, ready to be simulated.
struct StepWork {
  StepWork(const Graph& graph, const IntraPlan& plan, const StepRuns& runs)
      : kernels(graph.ops.size()) {
    for (size_t i = 0; i < kernels.size(); ++i)
      kernels[i] = plan.ops[i].compute_seconds * runs.ops[i];
    for (size_t i = 0; i < plan.collectives.size(); ++i) {
      const PlannedCollective& c = plan.collectives[i];
      if (runs.collectives[i] <= 0) continue;
      collectives.push_back(
          {c.step, c.seconds, c.rearrange_seconds, runs.collectives[i], c.value, c.user});
      position.push_back(static_cast<int32_t>(i));
    }
  }
  std::vector<double> kernels;
  std::vector<StepCollective> collectives;
  std::vector<int32_t> position;  // of each of `collectives`: where it is in the plan's
};

}  // namespace

double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan) {
  return StepSeconds(graph, cost_model, overlap, plan, AllRuns(graph, plan));
}

double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan, const StepRuns& runs) {
  const StepWork work(graph, plan, runs);
  return StepSimulation(graph, cost_model, overlap)
      .Seconds(work.kernels, plan.schedule.time, work.collectives);
}

StepTimes TimesOfStep(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                      const IntraPlan& plan) {
  const StepWork work(graph, plan, AllRuns(graph, plan));
  StepSimulation simulation(graph, cost_model, overlap);
  simulation.Seconds(work.kernels, plan.schedule.time, work.collectives);
  StepTimes times = simulation.Times();
  for (StepTimes::Run& run : times.runs) {
    for (int32_t& collective : run.collectives)
      collective = work.position[static_cast<size_t>(collective)];
  }
  return times;
}

}  // namespace meshwright
