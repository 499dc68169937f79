#include "meshwright/explain/compute_parts.h"

#include <algorithm>

namespace meshwright {

std::vector<NamedAmount> ComputeParts(const Plan& plan) {
  if (!plan.model.has_value() || plan.kind() == PlanKind::kGroups) return {};
  const PlanTransformer& part = *plan.model;
  const double useful = part.mfu * plan.step_seconds, done = part.hfu * plan.step_seconds,
               compute = part.seconds.compute;
  if (useful <= 0 || done < useful || compute < done) return {};
  std::vector<NamedAmount> parts = {{"model flops at peak rate", useful}};
  // What rounding leaves of a difference is no part.
  constexpr double kLeast = 1e-6;
  if (done - useful > kLeast * compute) parts.push_back({"recomputation", done - useful});
  const double rest = compute - useful - (parts.size() > 1 ? done - useful : 0);
  if (rest > kLeast * compute) parts.push_back({"kernels below peak rate", rest});
  return parts;
}

}  // namespace meshwright
