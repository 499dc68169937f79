#ifndef MESHWRIGHT_EXPLAIN_PARAMETER_GROUPS_H_
#define MESHWRIGHT_EXPLAIN_PARAMETER_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/explain/parallelism.h"
#include "meshwright/explain/plan_part.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// Parameters whose names differ only in their numbers and that are treated alike.
struct ParameterGroup {
  std::string name;   // folded, see FoldedName
  bool exact = true;  // likewise
  int64_t count = 0;  // names: of an array that several stages have, or have parts of, one
  PlanType type;
  PlanSpec spec;
  MemoryCategory category = MemoryCategory::kParameters;
  std::vector<AxisRole> roles;  // by axis of the mesh
  std::string parallelism;      // RolesText of these
  double replicas = 1;          // devices that have the same bytes
  double bytes = 0;             // on one device; all of a device's, of the first of equal stages
  double whole_bytes = 0;       // before they are cut, all of them
};

// A part with what its parameters are to its parallelism; both must outlive what is made of them.
struct JudgedPart {
  const PlanPart& part;
  const std::vector<ParameterParallelism>& judged;
};

// The parameters of the program in `parts`, under the names of all stages that are these. Weights,
// inputs, state; the largest first of each.
std::vector<ParameterGroup> GroupParameters(const std::vector<JudgedPart>& parts);

// Bytes of a whole array, from those of a device's part of it.
double WholeBytes(const PlanPart& part, const PlanTensor& tensor);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_PARAMETER_GROUPS_H_
