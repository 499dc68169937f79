#ifndef MESHWRIGHT_HETERO_FAMILIES_H_
#define MESHWRIGHT_HETERO_FAMILIES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/family_bound.h"
#include "meshwright/hetero/problem.h"

// The degrees that plans over groups of nodes can have, and bounds that need no tables.

namespace meshwright::transformer::hetero {

// A micro-batch of more sequences gains nothing that fewer do not have.
inline constexpr int64_t kMostMicroBatch = 64;

// A family with its bounds; it is searched at once.
struct FamilyRecord {
  Family family;
  // Every stage class that the family uses has at least one stage; else it is another family's.
  bool all_stage_classes = false;
  // No plan of the family takes a step of less, or costs less.
  double seconds = 0, dollars = 0;
};

class FamilySpace {
 public:
  // All must outlive it.
  FamilySpace(const Problem& problem, Coster& coster);

  // Sequences that micro-batches may have, in ascending order.
  const std::vector<int64_t>& Together() const { return together_; }
  // Degrees that stages of a group may have for that.
  std::vector<StageDegrees> Options(size_t group, int64_t together) const;
  // ZeRO's stages and recomputations that may be.
  struct Choice {
    int zero;
    Recompute recompute;
  };
  const std::vector<Choice>& Choices() const { return choices_; }

  // Families with the same degrees on all groups that can have them.
  std::vector<FamilyRecord> Common();

  // The least that stages of these degrees take on a group.
  StageClass StageClassOf(size_t group, const StageDegrees& degrees, const Choice& choice);
  // The family of plans with stages on all these stage classes; none where its ZeRO changes
  // nothing, as no stage has replicas.
  std::optional<FamilyRecord> Record(const std::vector<StageClass>& stage_classes,
                                     const Choice& choice) const;

  // Costs of stages of all these stage classes, whichever a plan uses; and how many cells it costs.
  Costs CostsOfAny(const std::vector<StageClass>& stage_classes, const Choice& choice);
  int64_t Cells(const std::vector<StageClass>& stage_classes) const {
    return static_cast<int64_t>(stage_classes.size()) * layers_ * (layers_ + 1);
  }

  const Problem& problem() const { return problem_; }
  int64_t layers() const { return layers_; }
  int64_t least_stages() const { return problem_.fixes.pp.value_or(1); }
  int64_t most_stages() const {
    return std::min(MostStages(layers_), problem_.fixes.pp.value_or(MostStages(layers_)));
  }
  // Of these, those that have a layer at most.
  int64_t most_with_layer() const { return std::min(layers_, most_stages()); }

 private:
  void Bound(const std::vector<StageClass>& stage_classes, FamilyRecord* record) const;
  bool Takes(const StageDegrees& degrees, const Choice& choice) const;

  const Problem& problem_;
  Coster& coster_;
  int64_t layers_ = 0;
  std::vector<int64_t> tensor_degrees_, together_;
  std::vector<int64_t> divisors_;  // of the batch
  std::vector<Choice> choices_;
  std::map<std::tuple<size_t, StageDegrees, int, Recompute>, Coster::LayerBounds> layer_bounds_;
};

// What layers cost more a micro-batch than `cheapest` each, at least, where each of the stage
// classes has a stage: two of these need no layer.
double MoreDollars(const std::vector<StageClass>& stage_classes, double cheapest);

// Dollars an hour of a stage at least: its share of nodes at the best price; 0 where none is known.
double LeastStagePrice(const NodeGroup& group, const StageDegrees& degrees);
// ... of the nodes of one stage, which are paid for whole.
double LeastStageClassPrice(const NodeGroup& group, const StageDegrees& degrees);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_FAMILIES_H_
