// Every group runs its tasks in the schedule's order, each as soon as what it needs has arrived.
// The order of each group and of the transfers on each link is fixed, so the times follow one from
// the other: a group runs until it has to wait, and goes on when what it waits for is there. Linear
// in the number of tasks.
//
// Groups that wait for their sends hand on what a task gives before they receive what the next one
// needs; where both are with the same neighbour they are one exchange, which ends with the later of
// the two. A message goes once its sender and its receiver have come to it.

#include "meshwright/inter/schedule/simulate.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

class Simulator {
 public:
  Simulator(const ScheduleKind& schedule, const ScheduleShape& shape,
            const std::vector<StageTimes>& stages, Sends sends)
      : schedule_(schedule),
        shape_(shape),
        stages_(stages),
        sends_(sends),
        orders_(schedule.order(shape)),
        next_(shape.groups, 0),
        free_(shape.groups, 0),
        link_free_{std::vector<double>(shape.groups, 0), std::vector<double>(shape.groups, 0)} {
    const size_t cells = stages.size() * static_cast<size_t>(shape.micro_batches);
    for (std::vector<double>* times : {&forward_, &backward_, &activation_, &gradient_})
      times->assign(cells, kNotYet);
    if (sends == Sends::kOverlapped) return;
    exchanges_done_.assign(shape.groups, 0);
    for (std::vector<double>* times : {&sender_[0], &sender_[1], &receiver_[0], &receiver_[1]})
      times->assign(cells, kNotYet);
  }

  absl::StatusOr<Simulation> Run() {
    result_.busy_seconds.assign(shape_.groups, 0);
    for (int32_t g = 0; g < shape_.groups; ++g) ready_.push_back(g);
    while (!ready_.empty()) {
      const int32_t group = ready_.front();
      ready_.pop_front();
      while (next_[group] < orders_[group].size() && RunNext(group)) {
      }
    }
    for (int32_t g = 0; g < shape_.groups; ++g) {
      if (next_[g] < orders_[g].size()) {
        return absl::InternalError(
            StrCat("the schedule ", schedule_.name, " deadlocks in group ", g));
      }
    }
    SortTasks();
    JudgeMemory();
    double busy = 0;
    for (double seconds : result_.busy_seconds) busy += seconds;
    const double all = result_.seconds * shape_.groups;
    result_.bubble_share = all > 0 ? std::max(0.0, 1 - busy / all) : 0;
    return std::move(result_);
  }

 private:
  size_t Cell(int32_t stage, int32_t micro_batch) const {
    return static_cast<size_t>(stage) * shape_.micro_batches + micro_batch;
  }
  int32_t last_stage() const { return static_cast<int32_t>(stages_.size()) - 1; }

  // When what `task` needs is there; kNotYet if that is not known.
  double Arrival(const ScheduledTask& task) const {
    const size_t cell = Cell(task.stage, task.micro_batch);
    switch (task.kind) {
      case TaskKind::kForward:
        return task.stage == 0 ? 0 : activation_[cell];
      case TaskKind::kBackward:
        return std::max(forward_[cell], task.stage == last_stage() ? 0 : gradient_[cell]);
      case TaskKind::kWeightGradient:
        return backward_[cell];
      case TaskKind::kUpdate:
        return 0;  // the group's order has it last
    }
    return 0;
  }

  double Seconds(const ScheduledTask& task) const {
    const StageTimes& stage = stages_[task.stage];
    switch (task.kind) {
      case TaskKind::kForward:
        return stage.forward;
      case TaskKind::kBackward:
        return stage.backward - (schedule_.splits_backward ? stage.weight_gradient : 0);
      case TaskKind::kWeightGradient:
        return stage.weight_gradient;
      case TaskKind::kUpdate:
        return stage.update;
    }
    return 0;
  }

  // False if the group's next task has to wait for another group.
  bool RunNext(int32_t group) {
    const ScheduledTask& task = orders_[group][next_[group]];
    if (sends_ != Sends::kOverlapped && !Exchange(group, task)) return false;
    const double arrival = Arrival(task);
    if (arrival == kNotYet) return false;
    ++next_[group];
    const double start = std::max(free_[group], arrival);
    const double end = start + Seconds(task);
    free_[group] = end;
    result_.busy_seconds[group] += end - start;
    result_.seconds = std::max(result_.seconds, end);
    result_.tasks.push_back({task, group, start, end});
    const size_t cell = Cell(task.stage, task.micro_batch);
    if (task.kind == TaskKind::kForward) {
      forward_[cell] = end;
      if (task.stage < last_stage()) Send(task, group, task.stage + 1, end);
    } else if (task.kind == TaskKind::kBackward) {
      backward_[cell] = end;
      if (task.stage > 0) Send(task, group, task.stage - 1, end);
    }
    return true;
  }

  // What a stage hands on to a neighbour.
  struct Message {
    int32_t from = 0, to = 0, micro_batch = 0;
    bool backward = false;
  };

  // Between a group's last task and `task`; false if it has to wait for another group.
  bool Exchange(int32_t group, const ScheduledTask& task) {
    std::vector<std::vector<Message>> exchanges;
    int32_t sent_to = -1;
    if (next_[group] > 0) {
      const ScheduledTask& last = orders_[group][next_[group] - 1];
      const bool backward = last.kind == TaskKind::kBackward;
      const int32_t to = last.stage + (backward ? -1 : 1);
      if ((backward || last.kind == TaskKind::kForward) && to >= 0 && to <= last_stage()) {
        exchanges.push_back({{last.stage, to, last.micro_batch, backward}});
        sent_to = to;
      }
    }
    const bool backward = task.kind == TaskKind::kBackward;
    const int32_t from = task.stage + (backward ? 1 : -1);
    if ((backward || task.kind == TaskKind::kForward) && from >= 0 && from <= last_stage()) {
      if (from != sent_to) exchanges.emplace_back();
      exchanges.back().push_back({from, task.stage, task.micro_batch, backward});
    }
    for (size_t& done = exchanges_done_[group]; done < exchanges.size(); ++done) {
      double end = free_[group];
      for (const Message& message : exchanges[done]) {
        end = std::max(end, Meet(message, message.from == group));
      }
      if (end == kNotYet) return false;
      free_[group] = end;
    }
    exchanges_done_[group] = 0;
    return true;
  }

  // When `message` has been received, kNotYet if one side has not come to it; the side that comes
  // now is free.
  double Meet(const Message& message, bool sends) {
    const size_t cell = Cell(message.to, message.micro_batch);
    double& arrival = (message.backward ? gradient_ : activation_)[cell];
    if (arrival != kNotYet) return arrival;
    double& sender = sender_[message.backward][cell];
    double& receiver = receiver_[message.backward][cell];
    double& mine = sends ? sender : receiver;
    if (mine == kNotYet) mine = free_[sends ? message.from : message.to];
    if (sender == kNotYet || receiver == kNotYet) return kNotYet;
    const StageTimes& stage = stages_[message.from];
    const double seconds = message.backward ? stage.send_backward : stage.send_forward;
    // One link joins two neighbours, or one in each direction.
    const bool shared = sends_ == Sends::kInTurn;
    double& link = link_free_[message.backward && !shared][std::min(message.from, message.to)];
    const double start = std::max({sender, receiver, link});
    arrival = link = start + seconds;
    if (seconds > 0) {
      result_.transfers.push_back(
          {message.from, message.to, message.micro_batch, message.backward, start, arrival});
    }
    ready_.push_back(sends ? message.to : message.from);
    return arrival;
  }

  void Send(const ScheduledTask& task, int32_t group, int32_t to, double ready) {
    if (sends_ != Sends::kOverlapped) return;  // Exchange sends
    const bool backward = task.kind == TaskKind::kBackward;
    const StageTimes& stage = stages_[task.stage];
    const bool stays = to % shape_.groups == group;
    const double seconds = stays ? 0 : backward ? stage.send_backward : stage.send_forward;
    double& link = link_free_[backward][group];
    const double start = seconds > 0 ? std::max(ready, link) : ready;
    const double end = start + seconds;
    if (seconds > 0) {
      link = end;
      result_.transfers.push_back({task.stage, to, task.micro_batch, backward, start, end});
    }
    (backward ? gradient_ : activation_)[Cell(to, task.micro_batch)] = end;
    ready_.push_back(to % shape_.groups);
  }

  void SortTasks() {
    std::stable_sort(
        result_.tasks.begin(), result_.tasks.end(),
        [](const SimulatedTask& a, const SimulatedTask& b) { return a.group < b.group; });
  }

  // Activations are there from the start of the forward phase to the end of what needs them last.
  void JudgeMemory() {
    const TaskKind last =
        schedule_.splits_backward ? TaskKind::kWeightGradient : TaskKind::kBackward;
    result_.peak_bytes.assign(shape_.groups, 0);
    result_.peak_in_flight.assign(shape_.groups, 0);
    for (int32_t g = 0; g < shape_.groups; ++g) {
      int64_t fixed = 0, bytes = 0, in_flight = 0, peak = 0;
      for (int32_t s = g; s <= last_stage(); s += shape_.groups) fixed += stages_[s].fixed_bytes;
      for (const ScheduledTask& task : orders_[g]) {
        if (task.kind == TaskKind::kForward) {
          bytes += stages_[task.stage].bytes_in_flight;
          ++in_flight;
        }
        peak = std::max(peak, bytes);
        result_.peak_in_flight[g] = std::max(result_.peak_in_flight[g], in_flight);
        if (task.kind == last) {
          bytes -= stages_[task.stage].bytes_in_flight;
          --in_flight;
        }
      }
      result_.peak_bytes[g] = fixed + peak;
    }
  }

  const ScheduleKind& schedule_;
  const ScheduleShape shape_;
  const std::vector<StageTimes>& stages_;
  const Sends sends_;
  const std::vector<std::vector<ScheduledTask>> orders_;
  std::vector<size_t> next_;  // by group: position in its order
  std::vector<double> free_;  // by group: end of its last task
  // By direction and sending group, or by the first of two neighbours that wait for sends.
  std::vector<double> link_free_[2];
  std::deque<int32_t> ready_;  // groups that may be able to go on
  // By stage and micro-batch: ends of the phases, and when their inputs from other stages are
  // there.
  std::vector<double> forward_, backward_, activation_, gradient_;
  // Where groups wait for sends: exchanges before each group's next task that it is done with; and
  // by direction and what arrives, when its sender and its receiver have come to it.
  std::vector<size_t> exchanges_done_;
  std::vector<double> sender_[2], receiver_[2];
  Simulation result_;
};

}  // namespace

absl::StatusOr<Simulation> Simulate(const ScheduleKind& schedule, const ScheduleShape& shape,
                                    const std::vector<StageTimes>& stages, Sends sends) {
  MW_RETURN_IF_ERROR(CheckShape(schedule, shape));
  if (sends != Sends::kOverlapped && shape.chunks > 1) {
    return absl::InvalidArgumentError(
        StrCat("groups of ", shape.chunks, " stages do not wait for what they send"));
  }
  if (stages.size() != static_cast<size_t>(shape.groups) * static_cast<size_t>(shape.chunks)) {
    return absl::InvalidArgumentError(StrCat("times of ", stages.size(), " stages for ",
                                             shape.groups, " groups of ", shape.chunks));
  }
  return Simulator(schedule, shape, stages, sends).Run();
}

}  // namespace meshwright
