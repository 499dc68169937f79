#ifndef MESHWRIGHT_EXPLAIN_WHY_NOT_INPUTS_H_
#define MESHWRIGHT_EXPLAIN_WHY_NOT_INPUTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/explain/why_not.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_program.h"

// What a plan was made from, read again for another answer.

namespace meshwright {

// nullptr: the plan does not name its program.
const InputFile* ProgramOf(const Plan& plan);

// The program of `plan` as its file holds it, from the request, or if that has none from where the
// plan says. Errors: it cannot be read, or is another one (by its hash).
absl::StatusOr<std::string> ReadPlannedProgram(const Plan& plan, const WhyNotRequest& request);

// What to call the cluster of `plan` (see ParseCluster, ParseMixedCluster), whose file must not
// have changed.
absl::StatusOr<std::string> PlannedCluster(const Plan& plan);

// The request that `plan`, of a program, came from, without the program; of a plan without stages
// on the mesh that it came to. Errors: see PlannedCluster; options that no planner wrote.
absl::StatusOr<ProgramRequest> PlannedRequest(const Plan& plan);

// The input of `plan` of this kind as its file holds it; "" without one. Errors: as above.
absl::StatusOr<std::string> ReadPlannedInput(const Plan& plan, const std::string& kind);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_WHY_NOT_INPUTS_H_
