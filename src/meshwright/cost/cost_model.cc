#include "meshwright/cost/cost_model.h"

namespace meshwright {

Resharding CostModel::Reshard(const Shape& shape, const Sharding& from, const Sharding& to) const {
  return PlanResharding(shape, from, to, mesh_,
                        [this](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
                          return CollectiveSeconds(kind, axes, bytes);
                        });
}

std::vector<double> CostModel::ReshardSeconds(const Shape& shape, const Sharding& from,
                                              std::span<const Sharding> to) const {
  return PlanReshardings(shape, from, to, mesh_,
                         [this](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
                           return CollectiveSeconds(kind, axes, bytes);
                         });
}

}  // namespace meshwright
