#ifndef MESHWRIGHT_HETERO_STATES_H_
#define MESHWRIGHT_HETERO_STATES_H_

#include <cstdint>
#include <vector>

#include "meshwright/cluster/prices.h"
#include "meshwright/hetero/at_hand.h"
#include "meshwright/hetero/ledger.h"

namespace meshwright::transformer {

// Lists how many stages may lie on each lane of a family.
class MixedStateLister {
 public:
  // All must outlive it.
  MixedStateLister(const MixedProblem& problem, const MixedSearchOptions& options,
                   MixedLedger& ledger)
      : problem_(problem),
        options_(options),
        ledger_(ledger),
        priced_(CheckPricesKnown(problem.cluster).ok()) {}

  // As many stages as there may be on the fastest lanes, or on the cheapest, and then on the next
  // ones: few of them, and among them good ones.
  std::vector<MixedState> Promising(const MixedAtHand& family);
  // All that can be of use, the most promising first. What there is no effort for is left open.
  std::vector<MixedState> All(const MixedAtHand& family);
  int64_t effort() const { return effort_; }  // of All, so far
  int64_t states() const { return states_; }  // that All found, those that it dropped included

 private:
  double LayerDollars(size_t lane) const;
  int64_t Room(const StageCounts& stages, size_t lane) const;
  void SetPrice(MixedState* state) const;
  void Decide(size_t index, int64_t open, double dollars, MixedState* state);
  bool AnyUse(size_t index, int64_t open, double dollars, const MixedState& state) const;
  void Add(MixedState* state);
  bool Before(const MixedState& a, const MixedState& b) const;

  const MixedProblem& problem_;
  const MixedSearchOptions& options_;
  MixedLedger& ledger_;
  const bool priced_;  // prices of all nodes are known
  int64_t effort_ = 0, states_ = 0;
  // Of the family at hand.
  MixedAtHand at_;
  std::vector<MixedState> listed_;
  double least_layer_dollars_ = 0;
  std::vector<size_t> order_;  // in which lanes are decided
  int64_t family_effort_ = 0;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_HETERO_STATES_H_
