#ifndef MESHWRIGHT_PLAN_DOCUMENT_SIMULATE_PLAN_H_
#define MESHWRIGHT_PLAN_DOCUMENT_SIMULATE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/schedule/simulate.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// The pipeline of a plan, run event by event.
struct SimulatedPlan {
  const ScheduleKind* schedule = nullptr;
  ScheduleShape shape;
  std::vector<StageTimes> stages;
  Simulation simulation;
};

// Errors if a device of a group could hold more bytes than an int64_t counts, were all
// `micro_batches` in flight at once.
absl::Status CheckGroupBytes(const Plan& plan, int64_t micro_batches);

// Simulates `plan`. `schedule`: another than the plan's; empty: the plan's. `micro_batches`:
// another number of them, each as large as in the plan; 0: the plan's. Errors: the plan has no
// pipeline; more stages and micro-batches than can be simulated in little time; see
// CheckGroupBytes, CheckShape.
absl::StatusOr<SimulatedPlan> SimulatePlan(const Plan& plan, const std::string& schedule,
                                           int64_t micro_batches);

// Tables for people: the step, and each group of devices.
std::string SimulationTable(const SimulatedPlan& simulated);
// The same as JSON: seconds, bubble_share, and per group busy_seconds, peak_bytes, peak_in_flight.
std::string SimulationJson(const SimulatedPlan& simulated);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_SIMULATE_PLAN_H_
