#ifndef MESHWRIGHT_ANSWER_ASK_PLANNER_H_
#define MESHWRIGHT_ANSWER_ASK_PLANNER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_pipelined.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/plan/make/stage_modules.h"
#include "meshwright/request/request.h"

// From a typed request to what the planner of its kind answers.

namespace meshwright {

struct PlanAnswer {
  std::optional<Plan> plan = std::nullopt;       // none: FASOP's search
  std::function<std::string()> table = nullptr;  // for a terminal
  // What --csv and --plot write; null where there is no such table or chart.
  std::function<std::string()> csv = nullptr, plot = nullptr;
  std::shared_ptr<const PlannedProgram> program = nullptr;     // of a program as one
  std::shared_ptr<const PipelinedProgram> pipeline = nullptr;  // of a pipeline
};

// The programs of a pipeline's stages, which --emit writes. Error: the program is not cut.
absl::StatusOr<std::vector<StageFile>> StagesToEmit(const PipelinedProgram& planned);

// What those who wait may want; either may be null.
struct PlanningHooks {
  std::function<void(const ProgramProgress&)> progress;  // called by planners of programs
  std::function<bool()> stop;                            // see CanBeStopped
};

// Whether the request's planner asks `stop`: those of programs, and of models on one type.
bool CanBeStopped(const PlanningRequest& request);

// Errors: those of the planner; that nothing fits (resource exhausted; the message says what
// would).
absl::StatusOr<PlanAnswer> AskPlanner(PlanningRequest request, PlanningHooks hooks);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_ASK_PLANNER_H_
