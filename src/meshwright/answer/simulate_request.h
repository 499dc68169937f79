#ifndef MESHWRIGHT_ANSWER_SIMULATE_REQUEST_H_
#define MESHWRIGHT_ANSWER_SIMULATE_REQUEST_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/request/option.h"

namespace meshwright {

// What `simulate` is asked of a plan.
struct SimulateAsked {
  std::string schedule, trace;  // empty: the plan's; not wanted
  int64_t micro_batches = 0;    // 0: as many as the plan has
};
Options SimulateOptionRows(SimulateAsked& asked);

// A step, or a pipeline's schedule, event by event; each text is made when it is called for, from
// the plan, which must outlive it.
struct SimulationAnswer {
  std::function<std::string()> table, json, trace;
  std::string warning;  // about the trace; empty: none
};
// Errors: a plan without a step or a pipeline; see SimulatePlan.
absl::StatusOr<SimulationAnswer> Simulate(const Plan& plan, const SimulateAsked& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_SIMULATE_REQUEST_H_
