#ifndef MESHWRIGHT_DEGREES_PIPELINE_PASSES_H_
#define MESHWRIGHT_DEGREES_PIPELINE_PASSES_H_

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/group_layout.h"
#include "meshwright/degrees/stage_costs.h"
#include "meshwright/inter/schedule/one_f_one_b.h"

// The passes of a step's micro-batches through the groups of a pipeline under 1F1B, and what goes
// between groups. All in seconds; a group's position is counted from the first.

namespace meshwright::transformer {

// A group's passes of one micro-batch. A third of communication is in the forward pass.
inline StageSeconds PassesOf(const GroupCost& g) {
  const double communication = g.communication();
  return {g.forward + communication / 3, g.backward + communication * 2 / 3, 0, 0};
}

// Sends from each group but the last to the next, `bytes` a GPU, on GPUs as `layout` places them.
// Of a fabric that tells units apart all sends between nodes take what the slowest takes.
std::vector<double> SendSeconds(const Configuration& c, const Cluster& cluster,
                                const GroupLayout& layout, double bytes, GroupTimes& times);
// The same, no more than of any placement.
std::vector<double> LeastSendSeconds(const Configuration& c, const Cluster& cluster, double bytes);

// What the first and the last group take to add up gradients, `bytes` a GPU, that both have.
double TiedSeconds(const Cluster& cluster, const GroupLayout& layout, double bytes);

struct PipelinePasses {
  std::vector<double> ends;  // by position, when a group is done with its last pass and send
  double without_sends = 0;  // when the first group is if sends take no time
};

// The passes of pipelines of one family, on one placement.
class PassSimulator {
 public:
  // `partition` must outlive this.
  PassSimulator(const LayerPartition& partition, std::vector<double> sends, int64_t micro_batches)
      : partition_(&partition), sends_(std::move(sends)), micro_batches_(micro_batches) {}

  // `c` is one that `pipeline` is of. The last ones asked for are kept.
  const PipelinePasses& Of(const Configuration& c, const PipelineCost& pipeline);
  // The ends if group i of `pipeline.groups` takes as much longer as `more`[i] for its passes.
  std::vector<double> EndsWith(const Configuration& c, const PipelineCost& pipeline,
                               const std::vector<StageSeconds>& more) const;

 private:
  std::vector<StageSeconds> Stages(const Configuration& c, const PipelineCost& pipeline) const;

  struct Known {
    std::tuple<Recompute, int64_t, int64_t> recompute;
    PipelinePasses passes;
  };

  const LayerPartition* partition_;
  std::vector<double> sends_;
  int64_t micro_batches_;
  std::vector<Known> known_;  // of all layers, by Recompute; and the last of a part of them
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_PIPELINE_PASSES_H_
