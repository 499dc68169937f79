#ifndef MESHWRIGHT_HETERO_STATES_H_
#define MESHWRIGHT_HETERO_STATES_H_

#include <cstdint>
#include <vector>

#include "meshwright/cluster/prices.h"
#include "meshwright/hetero/archive.h"
#include "meshwright/hetero/family_cache.h"

namespace meshwright::transformer::hetero {

// Lists how many stages may lie on each stage class of a family.
class StateLister {
 public:
  // All must outlive it.
  StateLister(const Problem& problem, const SearchOptions& options, Archive& archive)
      : problem_(problem),
        options_(options),
        archive_(archive),
        priced_(CheckPricesKnown(problem.cluster).ok()) {}

  // As many stages as there may be on the fastest stage classes, or on the cheapest, and then on
  // the next ones: few of them, and among them good ones.
  std::vector<State> Promising(const FamilyCache& family);
  // All that can be of use, the most promising first. What there is no effort for is left open.
  std::vector<State> All(const FamilyCache& family);
  int64_t effort() const { return effort_; }  // of All, so far
  int64_t states() const { return states_; }  // that All found, those that it dropped included

 private:
  double LayerDollars(size_t stage_class) const;
  int64_t Slack(const StageCounts& stages, size_t stage_class) const;
  void SetPrice(State* state) const;
  void Decide(size_t index, int64_t open, double dollars, State* state);
  bool AnyUse(size_t index, int64_t open, double dollars, const State& state) const;
  void Add(State* state);
  // Whether each group has as many stages as the fixes say.
  bool HasFixedGroups(const StageCounts& stages) const;
  bool Before(const State& a, const State& b) const;

  const Problem& problem_;
  const SearchOptions& options_;
  Archive& archive_;
  const bool priced_;  // prices of all nodes are known
  int64_t effort_ = 0, states_ = 0;
  // The current family.
  FamilyCache at_;
  std::vector<State> listed_;
  double least_layer_dollars_ = 0;
  std::vector<size_t> order_;  // in which stage classes are decided
  int64_t family_effort_ = 0;
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_STATES_H_
