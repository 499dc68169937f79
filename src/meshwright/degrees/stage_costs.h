#ifndef MESHWRIGHT_DEGREES_STAGE_COSTS_H_
#define MESHWRIGHT_DEGREES_STAGE_COSTS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/degrees/group_layout.h"
#include "meshwright/degrees/layer_partition.h"
#include "meshwright/degrees/step_parts.h"
#include "meshwright/model/model.h"

// Costs of each pipeline group for one micro-batch, and what they are made from: tables of what
// does not depend on the whole of a configuration.

namespace meshwright::transformer {

// The seconds that overlapped communication adds to computation: what is longer decides, and
// computation that shares the GPU is slowed down.
inline double SecondsAdded(double communication, double computation, double slowdown) {
  return std::max(0.0, communication - computation) +
         slowdown * std::min(communication, computation);
}

// Sizes of buffers are whole bytes: rounded as by std::llround, which is a call that takes longer
// than all else of a memory estimate. Not below 0.
inline int64_t WholeBytes(double bytes) {
  const double most = std::min(bytes, 9e18);
  const auto whole = static_cast<int64_t>(most);
  return whole + (most - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

// One micro-batch through all layers of a pipeline group.
struct GroupCost {
  double forward = 0, backward = 0;            // computation, recomputation in `backward`
  double tensor = 0, context = 0, expert = 0;  // communication that is exposed
  double parameters = 0, expert_parameters = 0, largest_block = 0;
  double saved = 0, transient = 0;  // bytes
  double largest_saved = 0;         // of `saved`, of one block
  double logits = 0;
  double again_flops = 0;  // of recomputation, on all GPUs of a micro-batch
  int64_t layers = 0;      // of the group, where a part of them can be offloaded
  double communication() const { return tensor + context + expert; }
  double total() const { return forward + backward + communication(); }
};

// Adds `times` blocks like `block`, in sequence.
void AddBlocks(const GroupCost& block, int64_t times, GroupCost* sum);

// One block by Recompute.
using BlockGroupCosts = std::array<GroupCost, kRecomputeKinds>;

// One block of each kind.
struct AllBlockCosts {
  std::vector<BlockGroupCosts> layers;  // of all stacks, as GroupContent::layers
  BlockGroupCosts embedding, head;
  BlockGroupCosts mtp;  // what a module has beside its layer
};

// Pipeline groups that cost the same.
struct GroupRange {
  int64_t first = 0;   // position of the first
  int64_t groups = 0;  // how many there are
};

struct PipelineCost {
  std::vector<GroupCost> groups;   // those that differ: by content, as LayerPartition::contents
  std::vector<GroupRange> ranges;  // where they are, of each
  size_t busiest = 0;              // of `groups`; of equals the one that comes first
  double mean = 0;                 // of GroupCost::total() over all groups
  double flops = 0;                // of a micro-batch, on all GPUs: the model's
  double again_flops = 0;          // ... and those of recomputation

  // `busiest`, `mean` and `again_flops` from the groups.
  void Sum();
};

// Sets what `c` recomputes of all that `recomputed` does, `none` being the same without: in the
// first pipeline groups, of some layers of each stage. Layers of several kinds are taken evenly. Of
// every content two groups, of which one may be in no position: that recompute, that do not.
void SetRecomputeRange(const PipelineCost& none, const PipelineCost& recomputed,
                       const LayerPartition& partition, const Configuration& c, PipelineCost* out);

// Position of the group at `position` of the pipeline among PipelineCost::groups, by what `c`
// recomputes.
size_t GroupAt(const Configuration& c, const LayerPartition& partition, int64_t position);

// Costs of pipeline groups of one model on one cluster.
class StageCosts {
 public:
  // All must outlive it.
  StageCosts(const Model& model, const Workload& workload, const Cluster& cluster,
             const DeviceParameters& device, const FrameworkParameters& framework);

  const LayerPartition& Partition(const Configuration& c);

  // The content of pipeline groups, without the communication between blocks. Depends on tp, tp2,
  // panels, sequence_parallel, cp, context, dp, pp, ends_as_layers, ep, etp, micro_batch and
  // precision of `c`.
  struct Blocks {
    struct Use {
      BlockCost block;
      std::vector<int64_t> times;  // by content
    };
    std::vector<Use> uses;
    std::vector<GroupRange> ranges;  // by content
    std::vector<int64_t> layers;     // by content, of all kinds
    double copied_parameters = 0;    // that the last group has beside its blocks
  };
  Blocks BlocksOf(const Configuration& c);

  // By Recompute, on GPUs as `layout` places them.
  std::vector<PipelineCost> Costs(const Blocks& blocks, const Configuration& c,
                                  const GroupLayout& layout, GroupTimes& times) const;
  // No more than Costs for any placement: each communication on the fastest of all.
  std::vector<PipelineCost> LeastCosts(const Blocks& blocks, const Configuration& c,
                                       GroupTimes& times) const;
  // One block of each kind, on GPUs as `c` places them. Depends on the same of `c`.
  AllBlockCosts AllBlocks(const Configuration& c, GroupTimes& times) const;

  const DeviceRates& Rates(Precision precision) const {
    return rates_[static_cast<size_t>(precision)];
  }

 private:
  // Where communication goes; of several ways that experts' tokens may take the fastest counts.
  struct Routes {
    const GroupTimes::Group* tensor;
    const GroupTimes::Group* rows;
    const GroupTimes::Group* context;
    struct Expert {
      const GroupTimes::Group* group;
      double nodes;
    };
    std::vector<Expert> experts;
    const GroupTimes::Group* expert_tensor;
  };
  static Routes RoutesOf(const GroupLayout& layout, GroupTimes& times);
  Routes FastestRoutes(const Configuration& c, GroupTimes& times) const;

  // Exposed communication of a block, forward and backward.
  struct Phases {
    double forward = 0, backward = 0;
  };
  Phases TensorSeconds(const BlockCost& b, const Configuration& c, const Routes& routes) const;
  Phases ContextSeconds(const BlockCost& b, const Configuration& c, const Routes& routes) const;

  // One block with its communication, by Recompute.
  BlockGroupCosts Exposed(const BlockCost& block, const Configuration& c,
                          const Routes& routes) const;
  std::vector<PipelineCost> CostsOn(const Blocks& blocks, const Configuration& c,
                                    const Routes& routes) const;

  struct Kind {
    const Layer* layer;
    Block block;
  };

  const Model& model_;
  const Workload& workload_;
  const Cluster& cluster_;
  const FrameworkParameters& framework_;
  std::vector<DeviceRates> rates_;  // by Precision
  std::vector<Kind> kinds_;         // of all stacks
  Block embedding_, head_, mtp_;
  absl::node_hash_map<std::tuple<int64_t, bool>, LayerPartition> partitions_;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_STAGE_COSTS_H_
