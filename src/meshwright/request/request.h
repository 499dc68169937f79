#ifndef MESHWRIGHT_REQUEST_REQUEST_H_
#define MESHWRIGHT_REQUEST_REQUEST_H_

#include <variant>

#include "absl/status/statusor.h"
#include "meshwright/plan/make/model_sweep.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/request/fasop_request.h"
#include "meshwright/request/groups_request.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/request/subject.h"

// `plan` and `estimate`, for the command line, the C interface, and whatever plans anew: from what
// was asked to a typed request.

namespace meshwright {

struct SweepRequest {
  ModelRequest model;
  SweepRange range;
  bool weak = false;
};

// What a user asks planners for. Of ProgramRequest its `pipeline` and `database` say which planner,
// of ModelRequest its `cost`.
using PlanningRequest =
    std::variant<ProgramRequest, ModelRequest, SweepRequest, GroupsRequest, FasopRequest>;

// Which kind of planning `asked` of `subject` means. Errors: there is no such subject; an option
// that this kind does not take, or that needs another.
absl::StatusOr<Kinds> KindOf(const Subject& subject, const AskedOptions& asked);

// The request, what it names read but for programs. Errors: see KindOf; whatever is wrong with an
// option or the model.
absl::StatusOr<PlanningRequest> MakeRequest(const Subject& subject, const AskedOptions& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_REQUEST_H_
