#ifndef MESHWRIGHT_PLAN_TRACE_STEP_TRACE_H_
#define MESHWRIGHT_PLAN_TRACE_STEP_TRACE_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/plan/document/plan.h"

// One step of a plan without a pipeline: every operator waits for its collectives and computes, one
// after the other, which takes the plan's objective.

namespace meshwright {

// Whether there is such a step. Errors: the plan has no instructions.
absl::Status CheckHasStep(const Plan& plan);

// A trace for Perfetto: rows for computation and communication in the order of the list of
// instructions, and the memory of a device by category as the plan's memory timeline has it. All
// executions of an instruction are one box.
std::string StepTrace(const Plan& plan);

// A table for people: operators, collectives, and what they take; and the same as JSON: operators,
// collectives, compute_seconds, communication_seconds, seconds.
std::string StepTable(const Plan& plan);
std::string StepJson(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TRACE_STEP_TRACE_H_
