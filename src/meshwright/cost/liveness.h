#ifndef MESHWRIGHT_COST_LIVENESS_H_
#define MESHWRIGHT_COST_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/fusion.h"
#include "meshwright/hlo/graph.h"

namespace meshwright {

// Positions of ops in the order in which a device runs them; `order[i]` runs at time i.
struct Schedule {
  std::vector<OpId> order;
  std::vector<int32_t> time;  // by op: its position
};

// The best (lowest simulated peak of unsharded bytes) of three orders, as XLA's memory scheduler
// does: post order (the program text), depth first, and greedy list scheduling by bytes freed. A
// loop body stays in one piece.
Schedule ScheduleForMemory(const Graph& graph, const FusionInfo& fusion);

// The same ops with everything that no matmul or convolution needs after all that one does,
// as XLA's latency hiding scheduler leaves them where memory allows it: the backward pass first,
// then weights' gradients, which run while collectives of others do, and the optimizer. `schedule`
// must keep loops in one piece; so does the result.
Schedule DeferUnneeded(const Graph& graph, const Schedule& schedule);

// When a value occupies memory: time in [begin, end) of the schedule. Empty (0,0) if it never does
// (fused, free) or shares another value's buffer.
struct Interval {
  int32_t begin = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Per value. Entry parameters live from 0 to the end, or to their last use if donated (their buffer
// then holds the aliased output from its definition on: the output's own interval covers that, and
// the two are cut so that they do not overlap unless they must). Outputs live to the end. In-place
// updates (dynamic-update-slice, scatter, while carries) share the buffer of what they update when
// it has no later use. Values used after a loop began live through it.
std::vector<Interval> Liveness(const Graph& graph, const FusionInfo& fusion,
                               const Schedule& schedule);

// Peak of the sum of bytes[v] over values live at one time.
struct PeakMemory {
  int64_t bytes = 0;
  int32_t time = 0;
  std::vector<ValueId> live;  // at that time, largest first
};
PeakMemory ComputePeak(const std::vector<Interval>& intervals, const std::vector<int64_t>& bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_LIVENESS_H_
