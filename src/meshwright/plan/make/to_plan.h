#ifndef MESHWRIGHT_PLAN_MAKE_TO_PLAN_H_
#define MESHWRIGHT_PLAN_MAKE_TO_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/sharding/sharding.h"

// From the planner's values to those of a plan, which have names instead of indices.

namespace meshwright {

// Counts and byte sums of absurd programs (nested loops of 2^31 rounds) stop below 2^63.
int64_t ToCount(double value);

std::vector<std::string> AxisNames(const AxisList& axes, const Mesh& mesh);
PlanSpec ToSpec(const Sharding& sharding, const Mesh& mesh);
PlanType ToType(const Shape& shape);
// All executions of a step.
PlanCollective ToCollective(const PlannedCollective& collective, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_TO_PLAN_H_
