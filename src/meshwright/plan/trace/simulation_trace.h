#ifndef MESHWRIGHT_PLAN_TRACE_SIMULATION_TRACE_H_
#define MESHWRIGHT_PLAN_TRACE_SIMULATION_TRACE_H_

#include <cstddef>
#include <string>

#include "meshwright/plan/document/simulate_plan.h"

namespace meshwright {

// Tasks that a trace shows: about 100 MB, as much as trace viewers bear.
inline constexpr size_t kMostTraceTasks = size_t{1} << 17;

struct SimulationTrace {
  std::string json;
  size_t tasks = 0, all_tasks = 0;  // shown, of the step
  double seconds = 0;               // from the start of the step, shown
};

// A trace in the Trace Event Format that Perfetto and chrome://tracing show: a process for each
// group of devices with a row each for computation, communication and bubbles, and counters of the
// micro-batches in flight and of the memory of a device: what it holds all the time ("fixed") and
// what the micro-batches in flight take. Of steps with more than `most_tasks` tasks the first ones;
// the key "otherData" says so.
SimulationTrace TraceOf(const SimulatedPlan& simulated, size_t most_tasks = kMostTraceTasks);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TRACE_SIMULATION_TRACE_H_
