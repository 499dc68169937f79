#ifndef MESHWRIGHT_EXPLAIN_WHY_NOT_INPUTS_H_
#define MESHWRIGHT_EXPLAIN_WHY_NOT_INPUTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/explain/why_not.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

// The program of `plan` as its file holds it, from the request, or if that has none from where the
// plan says. Errors: it cannot be read, or is another one (by its hash).
absl::StatusOr<std::string> ReadPlannedProgram(const Plan& plan, const WhyNotRequest& request);

// The request that `plan`, of a program, came from. Errors: see RequestOf.
absl::StatusOr<ProgramRequest> PlannedRequest(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_WHY_NOT_INPUTS_H_
