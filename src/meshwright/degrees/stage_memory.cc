#include "meshwright/degrees/stage_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace meshwright::transformer {
namespace {

// CUDA context, NCCL's buffers, workspaces of cuBLAS; and the share that the allocator cannot use,
// on the high side: a plan that does not fit is worse than one with slack.
constexpr double kFrameworkBytes = 2147483648.0;
constexpr double kGatherBytes = 268435456.0;  // buffers of collectives that are no FSDP
constexpr double kFragmentation = 0.085;
// Layers whose activations are on a GPU while those of all others are in the host's memory: one at
// work, one on its way.
constexpr double kLayersOnGpu = 2;

double RealNumber(int64_t number) { return static_cast<double>(number); }

}  // namespace

Degrees::Degrees(const Configuration& c, const Workload& workload)
    : pp(RealNumber(c.pp)),
      micro_batches(RealNumber(workload.global_batch / (c.dp * c.micro_batch))),
      stages(c.schedule == PipelineKind::kInterleaved ? RealNumber(c.virtual_stages) : 1),
      replicas(c.dp * c.cp),
      expert_replicas(c.tp * c.cp * c.dp / (c.ep * c.etp)),
      shard(c.shard > 0 ? c.shard : replicas),
      expert_shard(c.shard > 0 ? std::gcd(c.shard, expert_replicas) : expert_replicas) {}

double Degrees::Sharded(const GroupCost& g) const {
  return g.parameters / RealNumber(shard) + g.expert_parameters / RealNumber(expert_shard);
}

double OffloadedState(const Configuration& c) {
  if (!c.offload_optimizer) return 0;
  return c.offload_percent == 0 ? 1 : RealNumber(c.offload_percent) / 100;
}

double OffloadedActivations(const Configuration& c, const GroupCost& g) {
  if (!c.offload_activations) return 0;
  const int64_t some = c.offload_layers * c.virtual_stages;
  return some == 0 || some >= g.layers ? 1 : RealNumber(some) / RealNumber(g.layers);
}

double OptimizerTraffic(const StateOptions& state, Precision precision) {
  const double copy = MasterCopyBytes(precision), weight = ElementBytes(precision);
  // Without a copy the weight itself is read and written.
  return state.gradient_bytes + 4 * state.moment_bytes +
         (copy > 0 ? 2 * copy + weight : 2 * weight);
}

StageMemory MemoryOf(const Configuration& c, const Degrees& d, const GroupCost& g, int64_t position,
                     const StateOptions& state, const FrameworkParameters& framework) {
  const bool fsdp = c.zero == 3;
  const double all = g.parameters + g.expert_parameters;
  const double sharded = d.Sharded(g);
  // ZeRO 3 keeps the f32 master copy as the weights, and gathers copies to compute with; with a
  // pipeline those stay, and gradients are whole until they are reduced at the end (of ZeRO 2,
  // too).
  const bool whole = c.zero >= 2 && c.pp > 1 && d.replicas > 1;
  StageMemory memory;
  const double weight = ElementBytes(c.precision), copy = MasterCopyBytes(c.precision);
  const bool master_alone = fsdp && !framework.shards_working_weights;
  const double shard = (master_alone ? kMasterBytes : weight) * sharded;
  memory.weights = WholeBytes(fsdp ? shard + (whole ? weight * all : 0) : weight * all);
  const double state_share = OffloadedState(c);
  const double gradients = state.gradient_bytes * (c.zero >= 2 ? sharded : all);
  const double gradients_share = c.zero >= 2 && framework.shards_working_weights ? state_share : 0;
  memory.gradients =
      WholeBytes((1 - gradients_share) * gradients + state.gradient_bytes * (whole ? all : 0));
  const double moments = 2 * state.moment_bytes;
  const double optimizer =
      (master_alone ? moments : copy + moments) * (c.zero >= 1 ? sharded : all);
  memory.host = WholeBytes(state_share * optimizer + gradients_share * gradients);
  memory.optimizer = WholeBytes((1 - state_share) * optimizer);
  const double behind = d.pp - RealNumber(position);  // this group and those that follow
  double in_flight = std::min(d.micro_batches, behind);
  if (d.stages > 1) {
    const double warm_up = (behind - 1) * 2 + (d.stages - 1) * d.pp + 1;
    in_flight = std::min(d.micro_batches * d.stages, warm_up) / d.stages;
  }
  double kept = g.saved * in_flight;
  if (c.offload_activations) {
    const double away = OffloadedActivations(c, g) * kept;
    memory.host += WholeBytes(away);
    kept += std::min(away, kLayersOnGpu * g.largest_saved) - away;
  }
  memory.activations = WholeBytes(kept + g.transient);
  memory.logits = WholeBytes(state.logit_bytes * g.logits);
  if (d.replicas > 1) {
    // Two layers' weights and the gradient of one while they are gathered and scattered.
    memory.communication = WholeBytes(fsdp ? (2 * weight + 4) * g.largest_block : kGatherBytes);
  }
  memory.framework = WholeBytes(kFrameworkBytes + kFragmentation * RealNumber(memory.total()));
  return memory;
}

// Over all replicas ZeRO 1 takes no more than 0, and a larger group no more than a smaller.
int64_t LeastBytes(const Configuration& c, const Workload& workload, const GroupCost& g,
                   int64_t position, const StateOptions& state,
                   const FrameworkParameters& framework) {
  Configuration sharded = c;
  sharded.shard = 0;
  sharded.offload_percent = sharded.offload_layers = 0;
  const Degrees degrees(sharded, workload);
  int64_t least = std::numeric_limits<int64_t>::max();
  // With a pipeline ZeRO 2 takes more than 1, else less.
  for (const int zero : {c.pp > 1 ? 1 : 2, 3}) {
    sharded.zero = zero;
    least = std::min(least, MemoryOf(sharded, degrees, g, position, state, framework).total());
  }
  return least;
}

}  // namespace meshwright::transformer
