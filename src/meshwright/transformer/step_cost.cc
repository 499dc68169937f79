// A step is m micro-batches through p groups of stages. The busiest group computes m times; before
// and after it waits for the others to fill and drain: (p - 1) / v micro-batches' worth of the mean
// group, v virtual stages each (Narayanan et al. 2021, section 2.2); zero-bubble schedules leave a
// third of it (Qi et al. 2024, ZB-H1). Gradients are reduced beside the last backward and weights
// gathered beside the first forward computation; with ZeRO 3 both happen beside every micro-batch.

#include "meshwright/transformer/step_cost.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/node_hash_map.h"
#include "meshwright/transformer/stage_costs.h"

namespace meshwright::transformer {
namespace {

// CUDA context, NCCL's buffers, workspaces of cuBLAS; and the share that the allocator cannot use,
// on the high side: a plan that does not fit is worse than one with room.
constexpr double kFrameworkBytes = 2147483648.0;
constexpr double kGatherBytes = 268435456.0;  // buffers of collectives that are no FSDP

constexpr double kFragmentation = 0.085;
// Bytes read and written by Adam per parameter: gradient, master copy, two moments, weight.
constexpr double kOptimizerTraffic = 30;
// Bytes a parameter, of what is gathered and what is summed.
constexpr double kWeightBytes = 2;
constexpr double kGradientBytes = 4;
constexpr double kZeroBubbleLeft = 1.0 / 3;

double Real(int64_t number) { return static_cast<double>(number); }

// What a pipeline's costs depend on, recomputation aside.
auto FamilyTuple(const Configuration& c) {
  return std::tie(c.tp, c.cp, c.dp, c.pp, c.ep, c.etp, c.micro_batch, c.sequence_parallel,
                  c.ends_as_layers, c.precision);
}
struct SameFamily {
  bool operator()(const Configuration& a, const Configuration& b) const {
    return FamilyTuple(a) == FamilyTuple(b);
  }
};
struct FamilyHash {
  size_t operator()(const Configuration& c) const { return absl::HashOf(FamilyTuple(c)); }
};

struct FamilyCosts {
  std::vector<PipelineCost> pipelines;  // by Recompute
  const StageDeal* deal = nullptr;
  double send_seconds = 0;  // of activations to the next group
};

// Degrees as numbers, of one configuration.
struct Degrees {
  explicit Degrees(const Configuration& c, const Workload& workload)
      : pp(Real(c.pp)),
        micro_batches(Real(workload.global_batch / (c.dp * c.micro_batch))),
        stages(c.schedule == PipelineKind::kInterleaved ? Real(c.virtual_stages) : 1),
        replicas(c.dp * c.cp),
        expert_replicas(c.tp * c.cp * c.dp / (c.ep * c.etp)),
        shard(c.shard > 0 ? c.shard : replicas),
        expert_shard(c.shard > 0 ? std::gcd(c.shard, expert_replicas) : expert_replicas) {}

  double pp, micro_batches;
  double stages;  // that a group runs
  int64_t replicas, expert_replicas;
  // ZeRO's groups. Experts have other replicas, of which only a divisor can share.
  int64_t shard, expert_shard;

  // Of parameters, with each spread over ZeRO's groups.
  double Sharded(const GroupCost& g) const {
    return g.parameters / Real(shard) + g.expert_parameters / Real(expert_shard);
  }
};

// The group at `position`, which costs `g`.
StageMemory MemoryOf(const Configuration& c, const Degrees& d, const GroupCost& g,
                     int64_t position) {
  const bool fsdp = c.zero == 3;
  const double all = g.parameters + g.expert_parameters;
  const double sharded = d.Sharded(g);
  // ZeRO 3 keeps the f32 master copy as the weights, and gathers 2-byte copies; with a pipeline
  // those stay, and gradients are whole until they are reduced at the end.
  const bool whole = fsdp && c.pp > 1 && d.replicas > 1;
  StageMemory memory;
  memory.weights = WholeBytes(fsdp ? 4 * sharded + (whole ? 2 * all : 0) : 2 * all);
  memory.gradients = WholeBytes(4 * ((c.zero >= 2 ? sharded : all) + (whole ? all : 0)));
  memory.optimizer = WholeBytes((fsdp ? 8 : 12) * (c.zero >= 1 ? sharded : all));
  const double behind = d.pp - Real(position);  // this group and those that follow
  double in_flight = std::min(d.micro_batches, behind);
  if (d.stages > 1) {
    const double warm_up = (behind - 1) * 2 + (d.stages - 1) * d.pp + 1;
    in_flight = std::min(d.micro_batches * d.stages, warm_up) / d.stages;
  }
  memory.activations = WholeBytes(g.saved * in_flight + g.transient);
  memory.logits = WholeBytes(g.logits);
  if (d.replicas > 1) {
    // Two layers' weights and the gradient of one while they are gathered and scattered.
    memory.communication = WholeBytes(fsdp ? (2 * 2 + 4) * g.largest_block : kGatherBytes);
  }
  memory.framework = WholeBytes(kFrameworkBytes + kFragmentation * Real(memory.total()));
  return memory;
}

}  // namespace

class StepCoster::Tables {
 public:
  Tables(const Model& model, const Workload& workload, const Cluster& cluster,
         const DeviceParameters& device, FrameworkParameters framework)
      : model_(model),
        workload_(workload),
        framework_(std::move(framework)),
        times_(cluster),
        stages_(model, workload_, cluster, device, framework_) {}

  const FamilyCosts& FamilyOf(const Configuration& c);
  StepFigures Figures(const Configuration& c, const FamilyCosts& family);
  const Workload& workload() const { return workload_; }
  AllBlockCosts Blocks(const Configuration& c) { return stages_.Blocks(c, times_); }
  double UpdateSeconds(const Configuration& c, const GroupCost& g);
  double fixed_seconds() const { return framework_.step_seconds; }

 private:
  StepTime Time(const Configuration& c, const Degrees& d, const FamilyCosts& family);
  double DataSeconds(const Configuration& c, const Degrees& d, const GroupCost& g);
  double OptimizerSeconds(const Configuration& c, const Degrees& d, const GroupCost& g) const;

  const Model& model_;
  const Workload workload_;
  const FrameworkParameters framework_;
  GroupTimes times_;
  StageCosts stages_;
  absl::node_hash_map<Configuration, FamilyCosts, FamilyHash, SameFamily> families_;
  Configuration last_;                        // that was asked for
  const FamilyCosts* last_family_ = nullptr;  // its family
};

const FamilyCosts& StepCoster::Tables::FamilyOf(const Configuration& c) {
  if (last_family_ != nullptr) {
    if (SameFamily()(c, last_)) return *last_family_;
    if (std::tie(c.tp, c.cp, c.dp, c.pp) != std::tie(last_.tp, last_.cp, last_.dp, last_.pp)) {
      families_.clear();
    }
  }
  last_ = c;
  const auto [place, added] = families_.try_emplace(c);
  FamilyCosts& family = place->second;
  last_family_ = &family;
  if (!added) return family;
  const int64_t ranks = c.tp * c.cp * c.dp;
  family.pipelines = stages_.Costs(c, times_);
  family.deal = &stages_.Deal(c);
  if (c.pp > 1) {
    const double boundary = Real(c.micro_batch * workload_.sequence) * Real(model_.hidden) * 2 /
                            Real(c.cp * (c.sequence_parallel ? c.tp : 1));
    family.send_seconds = times_.Of(c.pp, ranks).permute.Seconds(WholeBytes(boundary));
  }
  return family;
}

// Weights are gathered and gradients reduce-scattered over ZeRO's group (ZeRO 0: an all-reduce,
// which is both); between groups, each of which has them whole (HSDP), gradients are all-reduced.
double StepCoster::Tables::DataSeconds(const Configuration& c, const Degrees& d,
                                       const GroupCost& g) {
  if (d.replicas == 1 && d.expert_replicas == 1) return 0;
  double weights = 0, gradients = 0;
  const auto add = [&](double parameters, int64_t replicas, int64_t shard, int64_t stride) {
    if (parameters == 0) return;
    const GroupTimes::Group& inside = times_.Of(shard, stride);
    weights += inside.all_gather.Seconds(WholeBytes(kWeightBytes * parameters));
    gradients += inside.all_gather.Seconds(WholeBytes(kGradientBytes * parameters));
    if (shard == replicas) return;
    const GroupTimes::Group& between = times_.Of(replicas / shard, shard * stride);
    gradients +=
        2 * between.all_gather.Seconds(WholeBytes(kGradientBytes * parameters / Real(shard)));
  };
  add(g.parameters, d.replicas, d.shard, c.tp);
  add(g.expert_parameters, d.expert_replicas, d.expert_shard, c.ep * c.etp);
  const double slow = framework_.overlap_slowdown;
  if (c.zero == 3) {
    const double each = SecondsAdded(weights, g.forward, slow) +
                        SecondsAdded(weights + gradients, g.backward, slow);
    // With a pipeline weights stay gathered, and gradients are summed before they are reduced.
    return (c.pp > 1 ? 1 : d.micro_batches) * each;
  }
  return SecondsAdded(weights, g.forward + g.communication() / 3, slow) +
         SecondsAdded(gradients, g.backward + g.communication() * 2 / 3, slow);
}

double StepCoster::Tables::OptimizerSeconds(const Configuration& c, const Degrees& d,
                                            const GroupCost& g) const {
  const double updated = c.zero >= 1 ? d.Sharded(g) : g.parameters + g.expert_parameters;
  return kOptimizerTraffic * updated / stages_.Rates(c.precision).memory_bytes;
}

double StepCoster::Tables::UpdateSeconds(const Configuration& c, const GroupCost& g) {
  const Degrees d(c, workload_);
  return DataSeconds(c, d, g) + OptimizerSeconds(c, d, g);
}

StepTime StepCoster::Tables::Time(const Configuration& c, const Degrees& d,
                                  const FamilyCosts& family) {
  const PipelineCost& pipeline = family.pipelines[static_cast<size_t>(c.recompute)];
  const GroupCost& g = pipeline.groups[pipeline.busiest];
  const DeviceRates& rates = stages_.Rates(c.precision);
  StepTime time;
  time.compute = d.micro_batches * (g.forward + g.backward);
  time.tensor_communication = d.micro_batches * g.tensor;
  time.context_communication = d.micro_batches * g.context;
  time.expert_communication = d.micro_batches * g.expert;
  time.bubble = (d.pp - 1) / d.stages * pipeline.mean *
                (c.schedule == PipelineKind::kZeroBubble ? kZeroBubbleLeft : 1);
  if (c.pp > 1) {
    // Between micro-batches sends go beside computation; while filling and draining all wait.
    const double between =
        d.stages > 1 ? (d.stages - 1) * d.micro_batches * framework_.overlap_slowdown : 0;
    time.pipeline_communication = 2 * family.send_seconds * (d.pp - 1 + between);
  }
  time.data_communication = DataSeconds(c, d, g);
  time.optimizer = OptimizerSeconds(c, d, g) + framework_.step_seconds;
  time.seconds = time.compute + time.tensor_communication + time.context_communication +
                 time.expert_communication + time.data_communication + time.pipeline_communication +
                 time.bubble + time.optimizer;
  const double batches = d.micro_batches * Real(c.dp);
  const double most = time.seconds * Real(c.gpus()) * rates.peak_flops;
  time.model_flops = batches * pipeline.flops;
  time.mfu = time.model_flops / most;
  time.hfu = batches * (pipeline.flops + pipeline.again_flops) / most;
  return time;
}

StepFigures StepCoster::Tables::Figures(const Configuration& c, const FamilyCosts& family) {
  const Degrees d(c, workload_);
  const PipelineCost& pipeline = family.pipelines[static_cast<size_t>(c.recompute)];
  StepFigures figures;
  figures.time = Time(c, d, family);
  // Of equal groups the first has the most micro-batches in flight.
  for (size_t i = 0; i < pipeline.groups.size(); ++i) {
    const StageMemory memory = MemoryOf(c, d, pipeline.groups[i], family.deal->contents[i].first);
    figures.peak_bytes = std::max(figures.peak_bytes, memory.total());
    figures.kept_bytes = std::max(figures.kept_bytes, memory.activations + memory.logits);
  }
  return figures;
}

StepCoster::StepCoster(const Model& model, const Workload& workload, const Cluster& cluster,
                       const CostParameters& parameters, std::string_view framework)
    : tables_(std::make_unique<Tables>(model, workload, cluster,
                                       parameters.Device(cluster.device.name),
                                       parameters.Framework(framework))) {}

StepCoster::~StepCoster() = default;

StepFigures StepCoster::Figures(const Configuration& configuration) {
  return tables_->Figures(configuration, tables_->FamilyOf(configuration));
}

StepCost StepCoster::Cost(const Configuration& c) {
  const FamilyCosts& family = tables_->FamilyOf(c);
  const Degrees d(c, tables_->workload());
  const PipelineCost& pipeline = family.pipelines[static_cast<size_t>(c.recompute)];
  StepCost cost{tables_->Figures(c, family), {}};
  for (int64_t i = 0; i < c.pp; ++i) {
    cost.memory.push_back(MemoryOf(c, d, pipeline.groups[family.deal->content_of[i]], i));
  }
  return cost;
}

AllBlockCosts StepCoster::Blocks(const Configuration& c) { return tables_->Blocks(c); }

StageMemory StepCoster::GroupMemory(const Configuration& c, const GroupCost& group,
                                    int64_t position) const {
  return MemoryOf(c, Degrees(c, tables_->workload()), group, position);
}

double StepCoster::GroupUpdateSeconds(const Configuration& c, const GroupCost& group) {
  return tables_->UpdateSeconds(c, group);
}

double StepCoster::FixedSeconds() const { return tables_->fixed_seconds(); }

}  // namespace meshwright::transformer
