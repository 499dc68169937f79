#ifndef MESHWRIGHT_INTRA_OVERLAP_LIMITS_H_
#define MESHWRIGHT_INTRA_OVERLAP_LIMITS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/intra/candidates.h"
#include "meshwright/intra/problem_builder.h"
#include "meshwright/intra/problem_costs.h"

namespace meshwright {

// Prices of another model, with collectives at the least that they may come to where they are
// combined with others (timeline.h): the share of their bytes in the combination in which a byte
// costs least.
class CombinedCostModel : public CostModel {
 public:
  // `prices` must outlive it.
  explicit CombinedCostModel(const CostModel& prices);

  std::string name() const override { return prices_.name(); }
  bool in_seconds() const override { return prices_.in_seconds(); }
  double ComputeSeconds(const Work& work) const override { return prices_.ComputeSeconds(work); }
  double CollectiveSeconds(CollectiveKind kind, const AxisList& axes, int64_t bytes) const override;

 private:
  // Seconds a byte of the best combination from each size of a grid up, by kind and axes.
  using Rates = std::vector<double>;
  const Rates& RatesOf(CollectiveKind kind, const AxisList& axes) const;

  const CostModel& prices_;
  const std::vector<int64_t> sizes_;
  mutable absl::flat_hash_map<std::pair<int, AxisList>, Rates> rates_;
};

// The pricing of moves under which the assignment problem of `planning` bounds the step that
// StepSimulation finds, less Overlap::LaunchSeconds, from below. overlap_limits.cc says why.
// `overlap.cost` must be in [0, 1].
MovePricing PricingOfBound(const ProblemInputs& inputs, const CandidateSets& sets,
                           const PlanningProblem& planning, const Overlap& overlap);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_OVERLAP_LIMITS_H_
