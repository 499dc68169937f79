#include "meshwright/cost/cost_model.h"

namespace meshwright {

Resharding CostModel::Reshard(const Shape& shape, const Sharding& from, const Sharding& to) const {
  Resharding resharding = PlanResharding(
      shape, from, to, mesh_, [this](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
        return CollectiveSeconds(kind, axes, bytes);
      });
  if (resharding.copy_bytes > 0) resharding.seconds += RearrangeSeconds(resharding.copy_bytes);
  return resharding;
}

}  // namespace meshwright
