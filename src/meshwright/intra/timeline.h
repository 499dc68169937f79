#ifndef MESHWRIGHT_INTRA_TIMELINE_H_
#define MESHWRIGHT_INTRA_TIMELINE_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// How often each part of a plan runs.
struct StepRuns {
  std::vector<double> ops;          // by OpId
  std::vector<double> collectives;  // as in IntraPlan::collectives; 0: left out
};

// By operator: the exit of the loop of which it is a parameter; invalid for all others.
std::vector<OpId> LoopExits(const Graph& graph);
// The operator that waits where `value` is moved for `user`, given LoopExits. Loops count as one
// pass, so that what is moved at the end of a round for the next is awaited by the loop's exit;
// invalid where nothing reads that.
OpId WaitsForMove(const Graph& graph, const std::vector<OpId>& exits, ValueId value, OpId user);

// When the operators and collectives of a step run, from its start. The step takes what its last
// one ends at, `contention_seconds` and `launch_seconds`.
struct StepTimes {
  // Collectives that run as one: combined ones, else one.
  struct Run {
    double start = 0, seconds = 0;
    std::vector<int32_t> collectives;  // positions in IntraPlan::collectives, ascending
  };
  std::vector<double> op_start;   // by OpId
  std::vector<Run> runs;          // as they start
  double contention_seconds = 0;  // what hidden collectives take from kernels, Overlap::cost
  double launch_seconds = 0;      // Overlap::LaunchSeconds
};

// A collective that a step runs.
struct StepCollective {
  CollectiveStep step;
  double seconds = 0;            // of one execution
  double rearrange_seconds = 0;  // see PlannedCollective
  double runs = 1;               // executions a step
  ValueId value;                 // what is moved
  OpId user;                     // as in PlannedCollective
};

// The time of a step in which collectives overlap with kernels and small ones are combined, as
// XLA's latency hiding scheduler and collective combiner arrange it. timeline.cc has the model.
// One object serves one graph, and many plans of it one after the other.
class StepSimulation {
 public:
  // `graph` and `cost_model` must outlive it.
  StepSimulation(const Graph& graph, const CostModel& cost_model, const Overlap& overlap);

  // Seconds of a step. `kernels`: seconds that every operator runs for in a step; `time`: its
  // position in the schedule; `collectives` in the order of their users in it, those of one value
  // and user together.
  double Seconds(const std::vector<double>& kernels, const std::vector<int32_t>& time,
                 std::span<const StepCollective> collectives);

  // Of the last step: the share of each collective's time, rearranging included, during which a
  // kernel ran as well.
  std::vector<double> HiddenShares() const;

  // Of the last step; runs name collectives by their positions in what Seconds was given.
  StepTimes Times() const;

 private:
  struct Combined;
  struct Queue;
  void MakeCollectives(const std::vector<int32_t>& time,
                       std::span<const StepCollective> collectives);
  void MeasureDepths(std::span<const StepCollective> collectives);
  int32_t NewTask(const StepCollective& collective, const std::vector<int32_t>& time, double runs);
  int32_t Combine(const StepCollective& collective, const std::vector<int32_t>& time,
                  std::vector<Combined>* open);
  void Before(int32_t first, int32_t second);
  double Execute();

  struct Task {
    double seconds = 0;
    int32_t order = 0;         // position in its queue if nothing speaks against it
    int32_t waits_for = 0;     // unfinished tasks
    double ready = 0;          // when the last of those that are finished did
    double start = 0;          // when it ran
    int32_t next_before = -1;  // of the last step's collectives: head of a list in links_
  };

  const Graph& graph_;
  const CostModel& cost_model_;
  const Overlap overlap_;
  // Operators that read each operator's results, once for each operand: users_[first_user_[i] ..].
  std::vector<int32_t> first_user_, users_, operands_;
  std::vector<OpId> exits_;                         // LoopExits
  std::vector<Task> tasks_;                         // operators by OpId, then collectives
  std::vector<std::pair<int32_t, int32_t>> links_;  // a task that waits, and the next link
  std::vector<int32_t> depth_, first_awaited_, next_awaited_;
  std::vector<bool> moved_;
  std::vector<int32_t> task_of_;                    // by collective
  std::vector<std::pair<double, double>> running_;  // when kernels ran
  double contention_seconds_ = 0;
};

// Seconds of one step of `plan`, from its schedule, ops and collectives.
double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan);
// The same of what `runs` says instead of all that the step has.
double StepSeconds(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                   const IntraPlan& plan, const StepRuns& runs);
// When everything of that step runs.
StepTimes TimesOfStep(const Graph& graph, const CostModel& cost_model, const Overlap& overlap,
                      const IntraPlan& plan);

// What the combiner joins collectives of one kind up to.
// xla_gpu_all_reduce_combine_threshold_bytes and its like for all-gather and reduce-scatter.
inline constexpr int64_t kCombinedBytes = int64_t{30} << 20;

// Of a combined collective: operands are copied into one buffer and results out of it; of an
// all-gather and a reduce-scatter one of the two is small.
double CombinedCopySeconds(const CostModel& cost_model, CollectiveKind kind, int64_t bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_TIMELINE_H_
