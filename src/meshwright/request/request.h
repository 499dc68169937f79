#ifndef MESHWRIGHT_REQUEST_REQUEST_H_
#define MESHWRIGHT_REQUEST_REQUEST_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/model_sweep.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/request/fasop_request.h"
#include "meshwright/request/groups_request.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/request/subject.h"

// `plan` and `estimate`, for the command line and the C interface: from what was asked to a typed
// request, and from that to what the planner of its kind answers.

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

struct PlanAnswer {
  std::optional<Plan> plan = std::nullopt;       // none: FASOP's search
  std::function<std::string()> table = nullptr;  // for a terminal
  // What --csv and --plot write; null where there is no such table or chart.
  std::function<std::string()> csv = nullptr, plot = nullptr;
  std::shared_ptr<const PlannedProgram> program = nullptr;     // of a program as one
  std::shared_ptr<const PipelinedProgram> pipeline = nullptr;  // of a pipeline
};

// What those who wait may want; either may be null.
struct PlanningHooks {
  std::function<void(const ProgramProgress&)> progress;  // of programs
  std::function<bool()> stop;                            // of models on nodes of one type
};

// Errors: those of the planner; that nothing fits (resource exhausted; the message says what
// would).
absl::StatusOr<PlanAnswer> AskPlanner(PlanningRequest request, PlanningHooks hooks);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_REQUEST_H_
