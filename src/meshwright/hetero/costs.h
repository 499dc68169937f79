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

// Costs of pipelines over groups of nodes, by the calibrated model.

namespace meshwright::transformer::hetero {

// The cost of a stage on a group.
struct Cell {
  double forward = 0, backward = 0, update = 0;
  int32_t most_in_flight = 0;  // micro-batches whose activations fit; 0: not even one
  double both() const { return forward + backward; }
};

// All stages that a group may have with one choice of degrees.
struct StageTable {
  int64_t slots = 0;            // stages that it has nodes for, at most MostStages
  int64_t per_node = 1;         // 1 if a stage takes whole nodes
  int64_t nodes_per_stage = 1;  // 1 if a stage is part of one
  double tied_bytes = 0;        // of gradients that the first and the last stage add up, a device
  double fixed_seconds = 0;     // of a step
  std::vector<Cell> cells;      // by Costs::Position
};

// Costs of one family.
class Costs {
 public:
  int64_t micro_batches() const { return micro_batches_; }
  int64_t layers() const { return layers_; }
  size_t stage_classes() const { return tables_.size(); }
  size_t groups() const { return nodes_.size(); }
  size_t Group(size_t stage_class) const { return groups_[stage_class]; }
  int64_t GroupNodes(size_t group) const { return nodes_[group]; }  // that there are
  // Stages that a stage class can take if it has all its group's nodes; 0 where the family does not
  // use it.
  int64_t slots(size_t stage_class) const {
    return tables_[stage_class] == nullptr ? 0 : tables_[stage_class]->slots;
  }
  // ... if it has so many nodes.
  int64_t SlotsOn(size_t stage_class, int64_t nodes) const;
  // Stages on each node, 1 if a stage takes whole nodes.
  int64_t stages_per_node(size_t stage_class) const { return tables_[stage_class]->per_node; }
  // Nodes that so many stages of a stage class take.
  int64_t Nodes(size_t stage_class, int64_t stages) const;

  // slots(stage class) at least 1; the content is not empty.
  const Cell& CellAt(size_t stage_class, const StageContent& content) const {
    return tables_[stage_class]->cells[Position(content, layers_)];
  }
  // Of a model of `layers` layers: embedding, layers and head are counted through, and cells listed
  // by the first of a stage and how many it has.
  static int64_t Position(const StageContent& content, int64_t layers) {
    const int64_t before = content.begins ? 0 : 1;
    return (content.first + before) * (layers + 3) + content.layers + 1 - before +
           (content.ends ? 1 : 0);
  }
  // Between a stage of stage class `from` and the next one of `to`, behind which `behind` stages of
  // the stage class `to` follow.
  double SendSeconds(size_t from, size_t to, int64_t behind) const {
    if (from != to) return send_[from][to];
    return (behind + 1) % stages_per_node(to) == 0 ? send_[to][to] : send_in_node_[to];
  }
  double least_send() const { return least_send_; }
  double least_send_between_nodes() const { return least_send_between_; }
  // Seconds of reducing gradients of weights that the first and the last stage both have (`stages`
  // of the pipeline in all), by their stage classes; 0 if there are none.
  double TiedSeconds(size_t first, size_t last, int64_t stages) const;
  // ... at least, of any two stage classes and so many stages in all.
  double LeastTied(int64_t stages) const;
  double fixed_seconds() const { return fixed_seconds_; }

 private:
  friend class Coster;
  int64_t micro_batches_ = 0, layers_ = 0;
  std::vector<std::shared_ptr<const StageTable>> tables_;  // by stage class; null: none
  std::vector<size_t> groups_;                             // by stage class
  std::vector<int64_t> nodes_;                             // by group
  std::vector<std::vector<double>> send_, tied_;
  std::vector<double> send_in_node_, tied_in_node_;
  double least_send_ = 0, least_send_between_ = 0, fixed_seconds_ = 0;
  double least_tied_ = 0;  // between nodes
};

// The costs of a plan in all.
struct Figures {
  double seconds = 0;          // a step
  std::vector<int64_t> nodes;  // of each group
  std::vector<PipelineStage> stages;
  std::vector<GroupCost> costs;     // by stage
  std::vector<double> send_bytes;   // by stage: of a device, for a micro-batch
  double fixed_seconds = 0;         // of `seconds`, that no stage has
  std::vector<StageMemory> memory;  // by stage
  bool fits = false;
};

class BlockMaker;

class Coster {
 public:
  // `problem` must outlive it, and have passed CheckProblem.
  explicit Coster(const Problem& problem,
                  const CostParameters& parameters = BuiltinCostParameters());
  ~Coster();

  // Bounds of stages with these degrees on a group, whatever their layers.
  struct LayerBounds {
    double seconds = 0;        // of both passes of a layer at least
    double forward_share = 0;  // of a stage's passes at most
    double update = 0;         // of a stage at least
    double fixed = 0;          // of a step
  };
  LayerBounds BoundLayers(size_t group, const Family& family, const StageDegrees& degrees);
  // Between stages on two groups, or on different nodes of one.
  double SendSeconds(size_t from, const StageDegrees& degrees, size_t to,
                     const StageDegrees& other_degrees) const;
  Costs CostsOf(const Family& family);
  // Costs of plans that use any of the family's stage classes, of which there may be more than
  // kMostStageClasses: the seconds that no stage has are the least of a stage class.
  Costs CostsOfAny(const Family& family);
  // Cells that Costs has made so far: tables that families share are made once as long as one of
  // their costs is there.
  int64_t cells_made() const { return cells_made_; }
  // The figures of any plan whose stages have all layers and lie on slots that there are.
  Figures FiguresOf(const Plan& plan);

 private:
  using TableKey = std::tuple<size_t, StageDegrees, int, Recompute>;

  std::shared_ptr<const StageTable> Table(size_t stage_class, const Family& family);
  StageTable MakeTable(size_t stage_class, const Family& family);
  void SetSends(const Family& family, Costs* costs) const;

  const Problem& problem_;
  std::unique_ptr<BlockMaker> blocks_;
  std::map<TableKey, std::weak_ptr<const StageTable>> tables_;
  int64_t cells_made_ = 0;
};

// Seconds of a step. `stages` must have all layers.
double Seconds(const Costs& costs, const std::vector<Stage>& stages);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_COSTS_H_
