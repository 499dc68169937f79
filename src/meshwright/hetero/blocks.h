#ifndef MESHWRIGHT_HETERO_BLOCKS_H_
#define MESHWRIGHT_HETERO_BLOCKS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/hetero/measured_layers.h"
#include "meshwright/hetero/problem.h"
#include "meshwright/hetero/schedule.h"

// The content of a group's stages, by the calibrated model or as measured.

namespace meshwright::transformer::hetero {

// The blocks of a stage of one family on one group.
struct Blocks {
  StepCoster* coster = nullptr;
  Configuration configuration;
  std::vector<const GroupCost*> layers;  // of `kinds` or `measured`
  std::vector<GroupCost> kinds, measured;
  GroupCost embedding, head;
  GroupCost mtp;  // what a module of multi-token prediction has beside its layer
  double embedding_parameters = 0;

  // With `in_flight` micro-batches.
  StageMemory Memory(const GroupCost& stage, int64_t in_flight) const {
    Configuration c = configuration;
    c.pp = in_flight;
    return coster->GroupMemory(c, stage, 0);
  }
  double UpdateSeconds(const GroupCost& stage) const {
    return coster->GroupUpdateSeconds(configuration, stage);
  }
};

class BlockMaker {
 public:
  // Both must outlive it; `problem` must have passed CheckProblem.
  BlockMaker(const Problem& problem, const CostParameters& parameters);

  int64_t layers() const { return static_cast<int64_t>(layer_kinds_.size()); }
  // `degrees` are those of one of the family's stage classes on the group.
  Blocks Make(size_t group, const Family& family, const StageDegrees& degrees);

  // The cost of a stage: digit for digit what StageCosts has for a pipeline group of the same.
  // `measured_layers`: the sum of its layers alone, for blocks that are measured, where the caller
  // has it.
  GroupCost Stage(const Blocks& blocks, const StageContent& content,
                  const GroupCost* measured_layers = nullptr) const;
  // Parameters that the first and the last of several stages both have.
  double TiedParameters(const Blocks& blocks) const {
    return copies_ ? blocks.embedding_parameters : 0;
  }

 private:
  StepCoster* Coster(size_t group, const StageDegrees& degrees);
  const MeasuredLayers& Measured(size_t group, const StageDegrees& degrees);
  // Puts measured times in place of the model's.
  void Measure(const MeasuredLayers& found, const Family& family, const AllBlockCosts& all,
               Blocks* blocks) const;

  const Problem& problem_;
  const CostParameters& parameters_;
  std::vector<int32_t> layer_kinds_;  // by layer: of AllBlockCosts::layers
  size_t kinds_ = 0, last_stack_ = 0;
  std::vector<std::vector<int64_t>> kinds_before_;  // by kind, then layer: layers of it before
  bool copies_ = false;  // the last stage has the embedding's weights too
  // By group and nodes of a stage.
  std::map<std::pair<size_t, int64_t>,
           std::pair<std::unique_ptr<Cluster>, std::unique_ptr<StepCoster>>>
      costers_;
  std::map<std::pair<size_t, StageDegrees>, MeasuredLayers> measured_;  // with a profile
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_BLOCKS_H_
