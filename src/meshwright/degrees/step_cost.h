#ifndef MESHWRIGHT_DEGREES_STEP_COST_H_
#define MESHWRIGHT_DEGREES_STEP_COST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/degrees/stage_costs.h"
#include "meshwright/degrees/stage_memory.h"
#include "meshwright/model/model.h"

// Time and memory of a training step by the calibrated model.

namespace meshwright::transformer {

// Seconds of one step, by what the busiest group of GPUs does. The parts add up to `seconds`.
struct StepTime {
  double seconds = 0;
  double compute = 0;               // of layers, embedding and head, recomputation included
  double tensor_communication = 0;  // the parts of communication that computation does not hide
  double context_communication = 0;
  double expert_communication = 0;
  double data_communication = 0;  // gradients and ZeRO's weights
  double pipeline_communication = 0;
  double host_communication = 0;  // activations to and from the host
  double bubble = 0;
  double optimizer = 0;
  double model_flops = 0;  // of the global batch, forward and backward, as MFU counts them
  double mfu = 0;          // model_flops / (seconds x GPUs x peak of the precision)
  double hfu = 0;          // the same with what is recomputed
};

// The figures that a search compares by.
struct StepFigures {
  StepTime time;
  int64_t peak_bytes = 0;  // of the pipeline group that takes most
  int64_t kept_bytes = 0;  // the most activations and logits of a group
  int64_t host_bytes = 0;  // in the host's memory, the most of a group
};

// A lower bound of several configurations.
struct StepBound {
  double seconds = 0;
  int64_t bytes = 0;  // of the pipeline group that takes most
};

struct StepCost : StepFigures {
  std::vector<StageMemory> memory;  // by pipeline group
};

// Whether `configuration` can run `model` at all. Errors say which degree does not divide what, and
// what would be valid.
absl::Status CheckConfiguration(const Model& model, const Workload& workload,
                                const Cluster& cluster, const Configuration& configuration);

// Costs configurations of one model on one cluster. What depends on the model alone is made once;
// what depends on all but (placement, virtual stages, schedule, recomputation, ZeRO and its group)
// is kept until any of these others changes, and so a search should go through its space by them.
// Thread-compatible: one a thread.
class StepCoster {
 public:
  // `model` and `cluster` must outlive it.
  StepCoster(const Model& model, const Workload& workload, const Cluster& cluster,
             const CostParameters& parameters = BuiltinCostParameters(),
             const ChosenFramework& framework = {});
  ~StepCoster();

  // `configuration` must pass CheckConfiguration.
  StepFigures Figures(const Configuration& configuration);
  // A bound of all configurations that differ from this one in placement, ZeRO and its group, and
  // in how much is offloaded only. Transfers to the host are left out of the time.
  StepBound Least(const Configuration& configuration);
  // The same of those that have this one's GPUs on each node, which it must say. Not less.
  StepBound LeastOfUnits(const Configuration& configuration);
  // The same as Least of all that differ in the recompute range too.
  StepBound LeastOfRanges(const Configuration& configuration);
  // The time of that, which no other recomputation and offloading shortens.
  double LeastSecondsOfFamily(const Configuration& configuration);
  // The same as Figures with the memory of every group.
  StepCost Cost(const Configuration& configuration);

  // The blocks of pipelines whose groups differ in more than their layers.
  AllBlockCosts AllBlocks(const Configuration& configuration);
  // Memory of the group at `position` of `configuration`.pp.
  StageMemory GroupMemory(const Configuration& configuration, const GroupCost& group,
                          int64_t position) const;
  // Seconds of a group behind its last backward pass: gradients and ZeRO's weights over the
  // replicas, as far as nothing hides them, and the optimizer.
  double GroupUpdateSeconds(const Configuration& configuration, const GroupCost& group);
  // A step's fixed work.
  double FixedSeconds() const;

 private:
  class Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_STEP_COST_H_
