#include "meshwright/plan/make/to_plan.h"

#include <algorithm>
#include <cmath>

namespace meshwright {

int64_t ToCount(double value) {
  constexpr double kLimit = 9.2e18;
  return static_cast<int64_t>(std::llround(std::clamp(value, 0.0, kLimit)));
}

std::vector<std::string> AxisNames(const AxisList& axes, const Mesh& mesh) {
  std::vector<std::string> names;
  names.reserve(axes.size());
  for (AxisIndex axis : axes) names.push_back(mesh.axes[axis].name);
  return names;
}

PlanSpec ToSpec(const Sharding& sharding, const Mesh& mesh) {
  PlanSpec spec;
  spec.reserve(sharding.dims.size());
  for (const AxisList& axes : sharding.dims) spec.push_back(AxisNames(axes, mesh));
  return spec;
}

PlanType ToType(const Shape& shape) {
  return {std::string(ElementTypeName(shape.type)), shape.dims};
}

PlanCollective ToCollective(const PlannedCollective& collective, const Mesh& mesh) {
  PlanCollective plan;
  plan.kind = CollectiveName(collective.step.kind);
  plan.axes = AxisNames(collective.step.axes, mesh);
  plan.count = ToCount(collective.multiplicity);
  plan.bytes_per_device =
      ToCount(static_cast<double>(collective.step.bytes) * collective.multiplicity);
  plan.seconds = collective.seconds * collective.multiplicity;
  return plan;
}

}  // namespace meshwright
