#ifndef MESHWRIGHT_HETERO_COSTS_H_
#define MESHWRIGHT_HETERO_COSTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "meshwright/degrees/step_cost.h"
#include "meshwright/hetero/problem.h"
#include "meshwright/hetero/schedule.h"

// What pipelines over groups of nodes take, by the calibrated model.

namespace meshwright::transformer {

// What a stage of `layers` layers from `first` on takes on a group.
struct MixedCell {
  double forward = 0, backward = 0, update = 0;
  int32_t most_in_flight = 0;  // micro-batches whose activations fit; 0: not even one
  double both() const { return forward + backward; }
};

// All stages that a group may have with one choice of degrees.
struct MixedStageTable {
  int64_t slots = 0;            // stages that it has nodes for, at most one a layer
  int64_t per_node = 1;         // 1 if a stage takes whole nodes
  int64_t nodes_per_stage = 1;  // 1 if a stage is part of one
  double tied_bytes = 0;        // of gradients that the first and the last stage add up, a device
  double fixed_seconds = 0;     // of a step
  std::vector<MixedCell> cells;
};

// Costs of one family.
class MixedCosts {
 public:
  int64_t micro_batches() const { return micro_batches_; }
  int64_t layers() const { return layers_; }
  size_t lanes() const { return tables_.size(); }
  size_t groups() const { return nodes_.size(); }
  size_t Group(size_t lane) const { return groups_[lane]; }
  int64_t GroupNodes(size_t group) const { return nodes_[group]; }  // that there are
  // Stages that a lane can take if it has all its group's nodes; 0 where the family does not use it
  // or the profile lacks it.
  int64_t slots(size_t lane) const { return tables_[lane] == nullptr ? 0 : tables_[lane]->slots; }
  // ... if it has so many nodes.
  int64_t SlotsOn(size_t lane, int64_t nodes) const;
  // Stages on each node, 1 if a stage takes whole nodes.
  int64_t stages_per_node(size_t lane) const { return tables_[lane]->per_node; }
  // Nodes that so many stages of a lane take.
  int64_t Nodes(size_t lane, int64_t stages) const;

  // first + layers at most layers(); slots(lane) at least 1.
  const MixedCell& Cell(size_t lane, int64_t first, int64_t layers) const {
    return tables_[lane]->cells[first * (layers_ + 1) + layers];
  }
  // Between a stage of lane `from` and the next one of `to`, behind which `behind` stages of the
  // lane `to` follow.
  double SendSeconds(size_t from, size_t to, int64_t behind) const {
    if (from != to) return send_[from][to];
    return (behind + 1) % stages_per_node(to) == 0 ? send_[to][to] : send_in_node_[to];
  }
  double least_send() const { return least_send_; }
  double least_send_between_nodes() const { return least_send_between_; }
  // Of gradients of weights that the first and the last stage both have (`stages` of the pipeline
  // in all), by their lanes; 0 if there are none.
  double TiedSeconds(size_t first, size_t last, int64_t stages) const;
  // ... at least, of any two lanes and so many stages in all.
  double LeastTied(int64_t stages) const;
  double fixed_seconds() const { return fixed_seconds_; }

 private:
  friend class MixedCoster;
  int64_t micro_batches_ = 0, layers_ = 0;
  std::vector<std::shared_ptr<const MixedStageTable>> tables_;  // by lane; null: none
  std::vector<size_t> groups_;                                  // by lane
  std::vector<int64_t> nodes_;                                  // by group
  std::vector<std::vector<double>> send_, tied_;
  std::vector<double> send_in_node_, tied_in_node_;
  double least_send_ = 0, least_send_between_ = 0, fixed_seconds_ = 0;
  double least_tied_ = 0;  // between nodes
};

// What a plan costs in all.
struct MixedFigures {
  double seconds = 0;          // a step
  std::vector<int64_t> nodes;  // of each group
  std::vector<PipelineStage> stages;
  std::vector<GroupCost> costs;     // by stage
  std::vector<double> send_bytes;   // by stage: of a device, for a micro-batch
  double fixed_seconds = 0;         // of `seconds`, that no stage has
  std::vector<StageMemory> memory;  // by stage
  bool fits = false;
};

class MixedBlockMaker;

class MixedCoster {
 public:
  // `problem` must outlive it, and have passed CheckMixedProblem.
  explicit MixedCoster(const MixedProblem& problem,
                       const CostParameters& parameters = BuiltinCostParameters());
  ~MixedCoster();

  // Of stages with these degrees on a group, whatever their layers.
  struct LayerBounds {
    double seconds = 0;        // of both passes of a layer at least; infinite: nothing was measured
    double forward_share = 0;  // of a stage's passes at most
    double update = 0;         // of a stage at least
    double fixed = 0;          // of a step
  };
  LayerBounds BoundLayers(size_t group, const MixedFamily& family, const StageDegrees& degrees);
  // Between stages on two groups, or on different nodes of one.
  double SendSeconds(size_t from, const StageDegrees& degrees, size_t to,
                     const StageDegrees& other_degrees) const;
  MixedCosts Costs(const MixedFamily& family);
  // Of plans that use any of the family's lanes, of which there may be more than kMostMixedLanes:
  // the seconds that no stage has are the least of a lane.
  MixedCosts CostsOfAny(const MixedFamily& family);
  // Cells that Costs has made so far: tables that families share are made once as long as one of
  // their costs is there.
  int64_t cells_made() const { return cells_made_; }
  // Of any plan whose stages have all the model's layers and lie on slots that there are.
  MixedFigures Figures(const MixedPlan& plan);

 private:
  using TableKey = std::tuple<size_t, StageDegrees, int, Recompute>;

  std::shared_ptr<const MixedStageTable> Table(size_t lane, const MixedFamily& family);
  MixedStageTable MakeTable(size_t lane, const MixedFamily& family);
  void SetSends(const MixedFamily& family, MixedCosts* costs) const;

  const MixedProblem& problem_;
  std::unique_ptr<MixedBlockMaker> blocks_;
  std::map<TableKey, std::weak_ptr<const MixedStageTable>> tables_;
  int64_t cells_made_ = 0;
};

// Seconds of a step. `stages` must have all layers.
double MixedSeconds(const MixedCosts& costs, const std::vector<MixedStage>& stages);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_HETERO_COSTS_H_
