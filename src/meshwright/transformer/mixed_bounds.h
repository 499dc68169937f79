#ifndef MESHWRIGHT_TRANSFORMER_MIXED_BOUNDS_H_
#define MESHWRIGHT_TRANSFORMER_MIXED_BOUNDS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "meshwright/transformer/mixed_costs.h"
#include "meshwright/transformer/mixed_schedule.h"

namespace meshwright::transformer {

// Stages on each group; 0 beyond the cluster's groups.
using StageCounts = std::array<int32_t, kMostNodeGroups>;

// Lower bounds on plans of one family, by how many stages lie on each group.
class MixedBounds {
 public:
  // `costs` must outlive it.
  explicit MixedBounds(const MixedCosts& costs);

  // Of plans with exactly `stages` stages on each group; infinite if there are none.
  double Seconds(const StageCounts& stages) const {
    return Seconds(stages, costs_.layers(), PipelineBound(costs_.micro_batches()));
  }
  // ... whose first `layers` layers lie on `stages` stages that are not decided, before those of
  // `behind`.
  double Seconds(const StageCounts& stages, int64_t layers, const PipelineBound& behind) const;
  // About what such a plan takes; the smallest is the most promising.
  double Estimate(const StageCounts& stages) const;

  // Seconds of both passes that a stage can have, ascending.
  const std::vector<double>& values() const { return values_; }
  // Position among `values` of the least slowest stage; values().size() if there is none.
  size_t LeastSlowest(const StageCounts& stages, int64_t layers) const;
  // Whether memory may suffice for `layers` layers on that many open stages before `behind` others.
  bool MayFit(const StageCounts& stages, int64_t layers, int64_t behind) const;
  // The largest share of a stage's time that its forward pass takes.
  double forward_share() const { return forward_share_; }
  // Of both passes of a layer, whatever it is; infinite where the group cannot be used.
  double LeastLayer(size_t group) const { return least_layer_[group]; }

 private:
  // Least sum of both passes of `layers` layers on `stages` stages, none of which takes more than
  // the value.
  double LeastSum(const StageCounts& stages, int64_t layers, size_t value) const;

  const MixedCosts& costs_;
  std::vector<double> values_;
  // By group, then value: the most layers of a stage that takes no longer.
  std::vector<std::vector<int32_t>> most_layers_;
  // By group, then stages behind: layers that stages with up to so many behind them hold in all;
  // the last is of the best group for each.
  std::vector<std::vector<int64_t>> held_;
  std::vector<double> least_work_;  // of so many first layers, wherever they lie
  std::vector<double> least_layer_;
  std::vector<size_t> fastest_;  // groups that can be used, by least_layer_
  double forward_share_ = 0, least_update_ = 0;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_TRANSFORMER_MIXED_BOUNDS_H_
