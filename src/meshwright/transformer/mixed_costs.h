#ifndef MESHWRIGHT_TRANSFORMER_MIXED_COSTS_H_
#define MESHWRIGHT_TRANSFORMER_MIXED_COSTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/transformer/fixes.h"
#include "meshwright/transformer/layer_profile.h"
#include "meshwright/transformer/mixed_schedule.h"
#include "meshwright/transformer/model.h"
#include "meshwright/transformer/step_cost.h"

// Training a transformer as a pipeline over nodes of several types, by the calibrated model.
//
// Every stage lies on nodes of one group. Tensor and data degree are common to all stages, as is
// the rest of a MixedFamily. A stage takes tp dp devices: whole nodes, or an equal part of one; so
// where neither divides the other the group cannot be used. Stages of a group fill its nodes one
// after the other, from the end of the pipeline: neighbours share a node where a stage is part of
// one and the later is not the first in it. Which of a group's nodes are used makes no difference.

namespace meshwright::transformer {

// What all stages have in common.
struct MixedFamily {
  int64_t tp = 1, dp = 1, micro_batch = 1;
  int zero = 0;  // 0 or 1: optimizer states over dp
  Recompute recompute = Recompute::kNone;
  friend auto operator<=>(const MixedFamily&, const MixedFamily&) = default;
};

// The first stage has the embedding as well, the last one the head.
struct MixedStage {
  int32_t group = 0;  // of MixedCluster::groups
  int32_t layers = 0;
  friend auto operator<=>(const MixedStage&, const MixedStage&) = default;
};

struct MixedPlan {
  MixedFamily family;
  std::vector<MixedStage> stages;  // in the order of the pipeline
  friend auto operator<=>(const MixedPlan&, const MixedPlan&) = default;
};

struct MixedProblem {
  Model model;
  Workload workload;
  MixedCluster cluster;
  Precision precision = Precision::kBf16;
  Fixes fixes;
  // That a device of each group may use; none: unlimited. Empty: what it has.
  std::vector<std::optional<int64_t>> budget_bytes;
  std::optional<LayerProfile> profile;  // measured times in place of the model's
};

// What a stage of `layers` layers from `first` on takes on a group.
struct MixedCell {
  double forward = 0, backward = 0, update = 0;
  int32_t most_in_flight = 0;  // micro-batches whose activations fit; 0: not even one
  double both() const { return forward + backward; }
};

// Costs of one family.
class MixedCosts {
 public:
  int64_t micro_batches() const { return micro_batches_; }
  int64_t layers() const { return layers_; }
  size_t groups() const { return slots_.size(); }
  // Stages that a group can take; 0 where it cannot be used.
  int64_t slots(size_t group) const { return slots_[group]; }
  // Stages on each node, 1 if a stage takes whole nodes.
  int64_t stages_per_node(size_t group) const { return per_node_[group]; }
  // Nodes that so many stages of a group take.
  int64_t Nodes(size_t group, int64_t stages) const;

  // first + layers at most layers().
  const MixedCell& Cell(size_t group, int64_t first, int64_t layers) const {
    return cells_[(group * layers_ + first) * (layers_ + 1) + layers];
  }
  // Between a stage of `from` and the next one of `to`, behind which `behind` stages of the group
  // `to` follow.
  double SendSeconds(size_t from, size_t to, int64_t behind) const {
    if (from != to) return send_[from][to];
    return (behind + 1) % per_node_[to] == 0 ? send_[to][to] : send_in_node_[to];
  }
  double least_send() const { return least_send_; }
  double least_send_between_nodes() const { return least_send_between_; }
  // Of gradients of weights that the first and the last stage both have (`stages` of group `first`
  // in all); 0 if there are none.
  double TiedSeconds(size_t first, size_t last, int64_t stages) const;
  double fixed_seconds() const { return fixed_seconds_; }

 private:
  friend class MixedCoster;
  int64_t micro_batches_ = 0, layers_ = 0;
  std::vector<int64_t> slots_, per_node_, nodes_per_stage_;
  std::vector<MixedCell> cells_;
  std::vector<std::vector<double>> send_, tied_;
  std::vector<double> send_in_node_, tied_in_node_;
  double least_send_ = 0, least_send_between_ = 0, fixed_seconds_ = 0;
};

// What a plan costs in all.
struct MixedFigures {
  double seconds = 0;          // a step
  std::vector<int64_t> nodes;  // of each group
  std::vector<PipelineStage> stages;
  std::vector<StageMemory> memory;  // by stage
  bool fits = false;
};

class MixedCoster {
 public:
  // `problem` must outlive it, and have passed CheckMixedProblem.
  explicit MixedCoster(const MixedProblem& problem,
                       const CostParameters& parameters = BuiltinCostParameters());
  ~MixedCoster();

  // Those that fixes and the batch allow.
  std::vector<MixedFamily> Families() const;
  // Stages that each group can take.
  std::vector<int64_t> Slots(const MixedFamily& family) const;
  // Least seconds of both passes of a layer on each group, whatever it is; infinite where the group
  // cannot be used.
  std::vector<double> LeastLayerSeconds(const MixedFamily& family);
  MixedCosts Costs(const MixedFamily& family);
  // Of any plan whose stages have all the model's layers and lie on slots that there are.
  MixedFigures Figures(const MixedPlan& plan);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

// Seconds of a step. `stages` must have all layers.
double MixedSeconds(const MixedCosts& costs, const std::vector<MixedStage>& stages);

// Errors: a fix that mixed clusters do not have, a profile of another model or of other devices,
// more layers than are supported.
absl::Status CheckMixedProblem(const MixedProblem& problem);

inline constexpr int64_t kMostMixedLayers = 512;

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_TRANSFORMER_MIXED_COSTS_H_
