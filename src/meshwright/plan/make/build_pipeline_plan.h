#ifndef MESHWRIGHT_PLAN_MAKE_BUILD_PIPELINE_PLAN_H_
#define MESHWRIGHT_PLAN_MAKE_BUILD_PIPELINE_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// The Plan that says what `pipeline`, which must fit, decided for `program` on `clusters`.
// `budgets`: by cluster, bytes that a device may use, or solve::kUnlimited. Fills every field but
// `inputs`, `options` and `planning_seconds`. Errors: see BuildPlan.
absl::StatusOr<Plan> BuildPipelinePlan(const PipelinePlan& pipeline, const Graph& program,
                                       const std::vector<Cluster>& clusters,
                                       const std::vector<int64_t>& budgets);

// Fills what `out` lists of a step: collectives, parameters, outputs, instructions and the names
// and files that these have, and the memory over time. Of `pipeline` the micro-batches, layers and
// batch are looked at.
absl::Status SetStageLists(const PipelinePlan& pipeline, const PipelineStage& stage,
                           const Graph& program, PlanStage* out);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_BUILD_PIPELINE_PLAN_H_
