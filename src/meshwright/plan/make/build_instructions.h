#ifndef MESHWRIGHT_PLAN_MAKE_BUILD_INSTRUCTIONS_H_
#define MESHWRIGHT_PLAN_MAKE_BUILD_INSTRUCTIONS_H_

#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/op_roles.h"

namespace meshwright {

// Fills in `instructions` of a plan, by OpId: what the program says of each operator, and what
// `intra` decided; and the tables `op_names` and `source_files`. `categories` (by ValueId): see
// CategorizeValues.
void AddInstructions(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                     const OpRoles& roles, const std::vector<MemoryCategory>& categories,
                     Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_BUILD_INSTRUCTIONS_H_
