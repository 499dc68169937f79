#ifndef MESHWRIGHT_PLAN_MAKE_BUILD_PLAN_H_
#define MESHWRIGHT_PLAN_MAKE_BUILD_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/op_roles.h"

namespace meshwright {

// The devices of `clusters`, of which there is at least one, as a plan lists them.
PlanCluster ToPlanCluster(const std::vector<Cluster>& clusters);

// The Plan that says what `intra` decided for `graph` on `mesh`. Fills every field but `inputs`,
// `options`, `budget_bytes` and `planning_seconds`, which only the caller knows. `tied`: the
// parameter that each output replaces, see TiedParameters. Linear in the program.
//
// Errors: internal, if a figure of `intra` is not finite (such a plan could not be written).
absl::StatusOr<Plan> BuildPlan(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                               const std::vector<int32_t>& tied, const OpRoles& roles);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_BUILD_PLAN_H_
