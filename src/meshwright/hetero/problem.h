#ifndef MESHWRIGHT_HETERO_PROBLEM_H_
#define MESHWRIGHT_HETERO_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/hetero/layer_profile.h"
#include "meshwright/model/model.h"

// Training a transformer as a pipeline over nodes of several types.
//
// Every stage lies on nodes of one group. The stages of a group that have the same tensor and data
// degree are a stage class, and nodes belong to one stage class. A stage takes tp dp devices: whole
// nodes, or an equal part of one; so where neither divides the other the group cannot have these
// degrees. Micro-batches are the same sequences on every stage: dp times the sequences that a
// replica runs at once is one number for all stage classes. Stages of a stage class fill its nodes
// in turn, from the end of the pipeline: neighbours share a node where a stage is part of one and
// the later is not the first in it. Which of a group's nodes are used makes no difference.

namespace meshwright::transformer::hetero {

// The degrees of all stages of a stage class.
struct StageDegrees {
  int64_t tp = 0, dp = 0;   // 0: the stage class has no stages
  int64_t micro_batch = 0;  // sequences that a replica runs at once
  bool used() const { return tp > 0; }
  int64_t devices() const { return tp * dp; }
  int64_t together() const { return dp * micro_batch; }  // sequences of a micro-batch
  friend auto operator<=>(const StageDegrees&, const StageDegrees&) = default;
};

// The common degrees of a plan's stages.
struct Family {
  std::vector<StageDegrees> degrees;  // by stage class
  int zero = 0;                       // 0 or 1: optimizer states over each stage's dp
  Recompute recompute = Recompute::kNone;
  std::vector<int32_t> groups = {};  // by stage class; empty: each group is one, in their order

  size_t Group(size_t stage_class) const {
    return groups.empty() ? stage_class : groups[stage_class];
  }
  // Whether some group has stages of different degrees.
  bool ByStage() const;
  // The degrees of the stage classes that are used, where these are the same; else none.
  std::optional<StageDegrees> Common() const;
  // ZeRO's stage with these degrees: there is nothing to shard over without replicas.
  int ZeroOf(const StageDegrees& degrees) const { return degrees.dp > 1 ? zero : 0; }
  // Sequences of a micro-batch; 0 if no stage class is used.
  int64_t together() const;
  friend auto operator<=>(const Family&, const Family&) = default;
};

// The first stage has the embedding as well, the last one the head.
struct Stage {
  int32_t stage_class = 0;  // of Family::degrees
  int32_t layers = 0;       // at least LeastLayers
  friend auto operator<=>(const Stage&, const Stage&) = default;
};

// Stages of a pipeline that need no layer: the first has the embedding, the last the head.
inline constexpr int64_t kStagesWithoutLayer = 2;
inline int64_t MostStages(int64_t layers) { return layers + kStagesWithoutLayer; }

// What a stage has: layers from `first` on, and at the ends of the pipeline embedding and head.
struct StageContent {
  int64_t first = 0, layers = 0;
  bool begins = false, ends = false;
};

// The least layers of a stage with `before` stages before it and `behind` stages behind it. A
// single stage has all layers.
inline int64_t LeastLayers(int64_t before, int64_t behind) {
  return (before == 0) != (behind == 0) ? 0 : 1;
}
// ... of all of the first `open` stages together, with `behind` stages behind them.
inline int64_t LeastLayersOf(int64_t open, int64_t behind) {
  const int64_t without = (behind > 0 ? 0 : 1) + (open + behind > 1 ? 1 : 0);
  return open + behind == 1 ? open : std::max<int64_t>(0, open - without);
}

struct Plan {
  Family family;
  std::vector<Stage> stages;  // in the order of the pipeline
  friend auto operator<=>(const Plan&, const Plan&) = default;
};

struct Problem {
  Model model;
  Workload workload;
  MixedCluster cluster;
  Precision precision = Precision::kBf16;
  ChosenFramework framework;
  Fixes fixes;
  // Positions of the groups that `fixes.stage_groups` names; ResolveStages sets them.
  std::vector<size_t> stage_groups;
  // That a device of each group may use; none: unlimited. Empty: what it has.
  std::vector<std::optional<int64_t>> budget_bytes;
  std::optional<LayerProfile> profile;  // measured times in place of the model's
  // All stages have the same degrees and take whole nodes of equally many devices, as launchers
  // with one command for all ranks need it.
  bool alike = false;
  // A test of the stages' common degrees, with any number of stages; only where `alike`.
  std::function<bool(const Configuration&)> takes;

  // Whether the fixes let the stage at `position` lie on a group, and have so many layers.
  bool TakesGroup(size_t position, size_t group) const {
    return stage_groups.empty() || stage_groups[position] == group;
  }
  bool TakesLayers(size_t position, int64_t layers) const {
    return fixes.stage_layers.empty() || fixes.stage_layers[position] == layers;
  }

  std::optional<int64_t> Budget(size_t group) const {
    if (!budget_bytes.empty()) return budget_bytes[group];
    return cluster.groups[group].cluster.device.memory_bytes;
  }
};

// A stage of a group as a configuration of a cluster of one type. Sequences are parallel over tp
// unless a fix says that they are not.
Configuration StageConfiguration(const Problem& problem, const StageDegrees& degrees,
                                 const Family& family);

// The largest number of stage classes of a plan.
inline constexpr size_t kMostStageClasses = 2 * kMostNodeGroups;

// Stages of these degrees that so many nodes of a group can hold; 0 if they cannot be aligned.
int64_t Slots(const NodeGroup& group, const StageDegrees& degrees, int64_t nodes);
// ... all that there are.
int64_t Slots(const NodeGroup& group, const StageDegrees& degrees);
// Nodes that so many stages take.
int64_t Nodes(const NodeGroup& group, const StageDegrees& degrees, int64_t stages);

// Sets what follows from fixes of single stages: their groups, and how many stages there are.
// Errors: layers that are not the model's, a group that there is not, lists of different lengths.
absl::Status ResolveStages(Problem* problem);

// Errors: a fix that mixed clusters do not have, a profile of another model or of other devices,
// more layers than are supported.
absl::Status CheckProblem(const Problem& problem);

inline constexpr int64_t kMostLayers = 512;

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_PROBLEM_H_
