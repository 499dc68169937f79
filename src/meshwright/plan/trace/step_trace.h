#ifndef MESHWRIGHT_PLAN_TRACE_STEP_TRACE_H_
#define MESHWRIGHT_PLAN_TRACE_STEP_TRACE_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/plan/document/plan.h"

// One step of a plan without a pipeline. With the plan's step_timeline collectives overlap with
// kernels, as the step that the plan states; without one (another cost model, older plans) every
// operator waits for its own collectives, which takes the plan's objective.

namespace meshwright {

// Whether there is such a step. Errors: the plan has no instructions.
absl::Status CheckHasStep(const Plan& plan);

// A trace for Perfetto: rows for computation and communication, one for what the step takes beyond
// both (contention, launch overhead), and the memory of a device by category as the plan's memory
// timeline has it. All executions of an instruction are one box, and so are collectives that run as
// one.
std::string StepTrace(const Plan& plan);

// A table for people: operators, collectives, and what they take; and the same as JSON: operators,
// collectives, compute_seconds, communication_seconds, exposed_communication_seconds (with what
// hidden collectives take from kernels), launch_seconds, seconds. Of these the first, exposed
// communication and launch overhead add up to the last.
std::string StepTable(const Plan& plan);
std::string StepJson(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TRACE_STEP_TRACE_H_
