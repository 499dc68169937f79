#ifndef MESHWRIGHT_EXPLAIN_PLANNED_GROUPS_H_
#define MESHWRIGHT_EXPLAIN_PLANNED_GROUPS_H_

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"
#include "meshwright/plan/plan_mixed.h"
#include "meshwright/transformer/model.h"

// What a plan of a model was made from, read again for another answer.

namespace meshwright {

// The model that the plan holds.
absl::StatusOr<transformer::Model> PlannedModel(const PlanTransformer& part);

// The request that `plan`, over groups of nodes, came from, but for --for and --pareto. Errors:
// files that are no longer there or have changed, options that no planner wrote.
absl::StatusOr<MixedRequest> PlannedGroupsRequest(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_PLANNED_GROUPS_H_
