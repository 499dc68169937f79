#ifndef MESHWRIGHT_CLI_SWEEP_PLANNING_H_
#define MESHWRIGHT_CLI_SWEEP_PLANNING_H_

#include "absl/status/status.h"
#include "meshwright/cli/model_planning.h"
#include "meshwright/cli/planning_command.h"
#include "meshwright/plan/make/plan_model.h"

namespace meshwright {

// `plan MODEL --sweep`: the best plan on each number of GPUs, as a table, CSV, a chart and the plan
// on the most of them.
absl::Status RunSweepPlanning(const PlanningOptions& options, const ModelPlanningOptions& model,
                              const ModelRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_SWEEP_PLANNING_H_
