#ifndef MESHWRIGHT_EXPLAIN_PLANNED_GROUPS_H_
#define MESHWRIGHT_EXPLAIN_PLANNED_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/model/model.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_mixed.h"

// What a plan of a model was made from, read again for another answer.

namespace meshwright {

// What requests for plans of models have in common.
struct PlannedWorkload {
  transformer::Model model;
  std::string description;  // text that it was read from
  transformer::Workload workload;
  transformer::Precision precision = transformer::Precision::kBf16;
  std::string cluster;  // as --cluster
  std::vector<InputFile> inputs;
};
// Of `plan`, which is of a model. Errors: files that are no longer there or have changed, options
// that no planner wrote.
absl::StatusOr<PlannedWorkload> PlannedWorkloadOf(const Plan& plan);

// The request that `plan`, over groups of nodes, came from, but for --for and --pareto. Errors as
// above.
absl::StatusOr<MixedRequest> PlannedGroupsRequest(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_PLANNED_GROUPS_H_
