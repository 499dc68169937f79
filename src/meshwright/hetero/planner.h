#ifndef MESHWRIGHT_HETERO_PLANNER_H_
#define MESHWRIGHT_HETERO_PLANNER_H_

#include <cstdint>
#include <vector>

#include "meshwright/hetero/at_hand.h"
#include "meshwright/hetero/ledger.h"

namespace meshwright::transformer {

// Makes good plans of a state: for orders of the lanes, the stages of each next to each other,
// layers are dealt out by dynamic programming (mixed_partition.h) within what a step of less and
// less time leaves each place, and the pipelines simulated.
class MixedPlanner {
 public:
  // `ledger` must outlive it.
  explicit MixedPlanner(MixedLedger& ledger) : ledger_(ledger) {}

  // The lanes in their order and in the opposite order, and where that is nearly of use in every
  // order.
  void Plan(const MixedAtHand& family, const MixedState& state);
  // Simulates one plan of the state; returns its seconds.
  double Try(const MixedAtHand& family, const MixedState& state,
             const std::vector<MixedStage>& stages);

  int64_t effort() const { return effort_; }        // of partitions and simulations
  int64_t evaluated() const { return evaluated_; }  // plans that were simulated

 private:
  double PlanOrder(const MixedState& state, const std::vector<int32_t>& order);
  double Polish(const MixedState& state, std::vector<MixedStage> stages, double seconds);
  bool Fits(const std::vector<MixedStage>& stages) const;

  MixedLedger& ledger_;
  int64_t effort_ = 0, evaluated_ = 0;
  MixedAtHand at_;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_HETERO_PLANNER_H_
