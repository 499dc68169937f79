#ifndef MESHWRIGHT_PLAN_ANNOTATE_APPLY_PLAN_H_
#define MESHWRIGHT_PLAN_ANNOTATE_APPLY_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/annotate/movements.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// What a plan says about a graph.
struct AppliedPlan {
  Mesh mesh;                      // axes only: names and sizes; the cluster is left empty
  std::vector<Sharding> values;   // by ValueId
  std::vector<Sharding> outputs;  // as they leave the program, in the order of graph.outputs
  Movements movements;
};

// `spec` on `mesh`. Error: an axis that the mesh does not have.
absl::StatusOr<Sharding> ToSharding(const PlanSpec& spec, const Mesh& mesh);

// Finds for every value of `graph` what `plan` decided. Errors: the plan is of another program
// (names the first operator that differs).
absl::StatusOr<AppliedPlan> ApplyPlan(const Graph& graph, const Plan& plan);

// The module that `program` was read into with `plan` as annotations in it, see AnnotateModule.
absl::StatusOr<Module> AnnotateFromPlan(const Program& program, const Plan& plan);

// The same in the format that the program was read in, uncompressed.
absl::StatusOr<std::string> AnnotatedFromPlan(const Program& program, const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_APPLY_PLAN_H_
