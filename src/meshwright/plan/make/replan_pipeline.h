#ifndef MESHWRIGHT_PLAN_MAKE_REPLAN_PIPELINE_H_
#define MESHWRIGHT_PLAN_MAKE_REPLAN_PIPELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

// A pipeline of which some stages were planned anew.
struct ReplannedPipeline {
  Plan plan;                   // objective and memory are those of the simulated schedule
  std::vector<size_t> stages;  // that were planned anew, ascending
  std::string shortage;        // why it does not fit; empty: it does
};

// `plan`, which has stages, with the parameters that `fixes` name (in the names of the program)
// kept as these say. The stages that have them are planned anew, each by itself: the cut into
// stages, their meshes, the values that they hand on, the schedule and all other stages stay.
// `request` is the one that the plan was made from, with the program's contents. step_seconds is
// the objective: what overlaps in the other stages is not recorded.
//
// Errors: the program or its layers are others than the plan's. Invalid argument: a fix that names
// no parameter of the stages, or cannot be had.
absl::StatusOr<ReplannedPipeline> ReplanPipeline(const Plan& plan, const ProgramRequest& request,
                                                 const std::vector<Fix>& fixes);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_REPLAN_PIPELINE_H_
