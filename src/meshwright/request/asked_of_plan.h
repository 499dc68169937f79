#ifndef MESHWRIGHT_REQUEST_ASKED_OF_PLAN_H_
#define MESHWRIGHT_REQUEST_ASKED_OF_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/request/request.h"
#include "meshwright/request/subject.h"

// What a plan was made from and asked for, so that it can be planned anew, changed: by `explain
// --why-not` as a request, in messages as a command.

namespace meshwright {

// Its program by path; its model by path or name, with the text that it was read from, which stays
// the plan's.
Subject SubjectOf(const Plan& plan);

// As users write it: of a program without stages on the mesh that it came to; of a model but for
// what it is launched with, the objective gpus, and failures.
AskedOptions AskedOf(const Plan& plan);

// The request for the plan's own program or model with `asked`, which is AskedOf(plan) as changed.
// A model gets the devices that the plan has, which may be a part of the cluster. Errors: files
// that are no longer there or have changed; several clusters' files; see ToProgramRequest,
// ToModelRequest and ToGroupsRequest.
absl::StatusOr<PlanningRequest> RequestOf(const Plan& plan, const AskedOptions& asked);

// The file at `path`, which must be the one that the plan was made from, by its hash. `what`:
// "program".
absl::StatusOr<std::string> ReadSame(const std::string& path, const InputFile& input,
                                     std::string_view what);
absl::Status CheckSame(std::string_view contents, const std::string& path, const InputFile& input,
                       std::string_view what);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_ASKED_OF_PLAN_H_
