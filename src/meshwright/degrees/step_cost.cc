// A step is m micro-batches through p groups of stages. Under 1F1B these and what is sent between
// them are simulated (pipeline_passes.h), and every group reduces its gradients and updates its
// weights when its own passes end. Under other schedules the busiest group computes m times; before
// and after it waits for the others to fill and drain: (p - 1) / v micro-batches' worth of the mean
// group, v virtual stages each (Narayanan et al. 2021, section 2.2); zero-bubble schedules leave
// less of it (Qi et al. 2024, ZB-H1). Gradients are reduced beside the last backward and weights
// gathered beside the first forward computation; with ZeRO 2 gradients are reduced beside every
// micro-batch, and with ZeRO 3 weights are gathered beside each, too.

#include "meshwright/degrees/step_cost.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "meshwright/degrees/group_layout.h"
#include "meshwright/degrees/pipeline_passes.h"
#include "meshwright/degrees/stage_costs.h"
#include "meshwright/degrees/stage_memory.h"

namespace meshwright::transformer {
namespace {

double Real(int64_t number) { return static_cast<double>(number); }

int64_t MicroBatches(const Configuration& c, const Workload& workload) {
  return workload.global_batch / (c.dp * c.micro_batch);
}

// The share of 1F1B's bubble that zero-bubble schedules leave. One micro-batch goes forward and
// back through p groups, which leaves out the gradients of weights, a third of its work; those of
// up to p - 1 earlier micro-batches fill gaps. With p micro-batches or more that is ZB-H1's third.
double ZeroBubbleLeft(const Degrees& d) {
  if (d.pp == 1) return 0;
  return (2 - (std::min(d.micro_batches, d.pp) - 1) / (d.pp - 1)) / 3;
}

// The costs of blocks depend on these; placements and all else differ within a family.
auto FamilyTuple(const Configuration& c) {
  return std::tie(c.tp, c.tp2, c.panels, c.cp, c.context, c.dp, c.pp, c.ep, c.etp, c.micro_batch,
                  c.sequence_parallel, c.ends_as_layers, c.precision);
}
// Costs of one placement.
struct PlacedCosts {
  Placement inside, unit;
  std::vector<PipelineCost> pipelines;  // by Recompute
  double send_seconds = 0;              // of activations to the next group, the slowest
  double tied_seconds = 0;  // of gradients of weights that the first and the last group both have
  std::optional<PassSimulator> passes;  // under 1F1B
  GroupLayout layout;
  // Groups of data parallelism, by Configuration::shard.
  struct Data {
    int64_t shard;
    const GroupTimes::Group *within, *between, *expert_within, *expert_between;
  };
  std::vector<Data> data;
};

struct FamilyCosts {
  Configuration configuration;  // any of the family
  StageCosts::Blocks blocks;
  const LayerPartition* partition = nullptr;
  double boundary_bytes = 0;             // that a GPU sends to the next group for a micro-batch
  std::vector<PlacedCosts> placed;       // those asked for
  std::vector<PlacedCosts> in_one_unit;  // by `inside` alone, as if the fabric were one unit
  // On the fastest of all placements, once asked for.
  std::vector<PipelineCost> least;
  double least_send_seconds = 0;
  std::optional<PassSimulator> least_passes;
};

bool Is1F1B(const Configuration& c) { return c.schedule == PipelineKind::k1F1B; }

}  // namespace

class StepCoster::Tables {
 public:
  Tables(const Model& model, const Workload& workload, const Cluster& cluster,
         const DeviceParameters& device, FrameworkParameters framework, const StateOptions& state)
      : model_(model),
        workload_(workload),
        device_(device),
        framework_(std::move(framework)),
        state_(state),
        cluster_(cluster),
        times_(cluster),
        stages_(model, workload_, cluster, device, framework_) {}

  FamilyCosts& FamilyOf(const Configuration& c);
  PlacedCosts& PlacedOf(const Configuration& c, FamilyCosts& family);
  PlacedCosts Place(const Configuration& c, const FamilyCosts& family, const GroupLayout& layout);
  StepFigures Figures(const Configuration& c);
  StepCost Cost(const Configuration& c);
  StepBound Least(const Configuration& c);
  StepBound LeastOfUnits(const Configuration& c);
  StepBound LeastOfRanges(const Configuration& c);
  double LeastSecondsOfFamily(const Configuration& c);
  const Workload& workload() const { return workload_; }
  AllBlockCosts AllBlocks(const Configuration& c) { return stages_.AllBlocks(c, times_); }
  double UpdateSeconds(const Configuration& c, const GroupCost& g);
  double fixed_seconds() const { return framework_.step_seconds; }
  const StateOptions& state() const { return state_; }
  const FrameworkParameters& framework() const { return framework_; }

 private:
  // Those of `c` among `pipelines`, which are by Recompute.
  const PipelineCost& PipelineOf(const Configuration& c, const FamilyCosts& family,
                                 const std::vector<PipelineCost>& pipelines);
  // A bound of `c` on `pipelines`, whatever ZeRO and how much is offloaded.
  StepBound BoundOn(const Configuration& c, const std::vector<PipelineCost>& pipelines,
                    const FamilyCosts& family, double send_seconds,
                    std::optional<PassSimulator>& passes);
  // On the fastest of all placements.
  const std::vector<PipelineCost>& LeastPipelines(const Configuration& c, FamilyCosts& family);
  // Sets the time of a step beside data parallelism and the optimizer, `time->seconds` included.
  // `passes` are there under 1F1B.
  void SetPipelineTime(const Configuration& c, const Degrees& d, const PipelineCost& pipeline,
                       double send_seconds, std::optional<PassSimulator>& passes,
                       StepTime* time) const;
  // Passes that copy activations to the host and back take as much longer.
  StageSeconds HostSeconds(const Configuration& c, const GroupCost& g) const;
  // Adds what comes after the passes, and the host's link.
  void AddUpdates(const Configuration& c, const Degrees& d, const PipelineCost& pipeline,
                  PlacedCosts& placed, StepTime* time);
  void AddUpdatesOf1F1B(const Configuration& c, const Degrees& d, const PipelineCost& pipeline,
                        PlacedCosts& placed, StepTime* time);
  StepTime Time(const Configuration& c, const Degrees& d, const PipelineCost& pipeline,
                PlacedCosts& placed);
  double DataSeconds(const Configuration& c, const Degrees& d, const GroupCost& g,
                     PlacedCosts& placed);
  double OptimizerSeconds(const Configuration& c, const Degrees& d, const GroupCost& g) const;

  const Model& model_;
  const Workload workload_;
  const DeviceParameters device_;
  const FrameworkParameters framework_;
  const StateOptions state_;
  const Cluster& cluster_;
  GroupTimes times_;
  StageCosts stages_;
  std::optional<FamilyCosts> last_;  // that was asked for
  PipelineCost in_range_;            // the last of some layers or groups
};

FamilyCosts& StepCoster::Tables::FamilyOf(const Configuration& c) {
  if (last_.has_value() && FamilyTuple(c) == FamilyTuple(last_->configuration)) return *last_;
  FamilyCosts& family = last_.emplace();
  family.configuration = c;
  family.blocks = stages_.BlocksOf(c);
  family.partition = &stages_.Partition(c);
  family.boundary_bytes = Real(c.micro_batch * workload_.sequence) * Real(model_.hidden) *
                          ElementBytes(c.precision) / Real(c.cp * (c.sequence_parallel ? c.tp : 1));
  return family;
}

PlacedCosts& StepCoster::Tables::PlacedOf(const Configuration& c, FamilyCosts& family) {
  for (PlacedCosts& placed : family.placed) {
    if (placed.inside == c.inside && placed.unit == c.unit) return placed;
  }
  return family.placed.emplace_back(Place(c, family, GroupLayout(c, times_.node())));
}

PlacedCosts StepCoster::Tables::Place(const Configuration& c, const FamilyCosts& family,
                                      const GroupLayout& layout) {
  PlacedCosts placed{c.inside, c.unit, stages_.Costs(family.blocks, c, layout, times_),
                     0,        0,      std::nullopt,
                     layout,   {}};
  std::vector<double> sends = SendSeconds(c, cluster_, layout, family.boundary_bytes, times_);
  if (c.pp > 1) {
    placed.send_seconds = *std::max_element(sends.begin(), sends.end());
    if (family.blocks.copied_parameters > 0) {
      placed.tied_seconds =
          TiedSeconds(cluster_, layout, state_.gradient_bytes * family.blocks.copied_parameters);
    }
  }
  placed.passes.emplace(*family.partition, std::move(sends), MicroBatches(c, workload_));
  return placed;
}

const PipelineCost& StepCoster::Tables::PipelineOf(const Configuration& c,
                                                   const FamilyCosts& family,
                                                   const std::vector<PipelineCost>& pipelines) {
  const PipelineCost& all = pipelines[static_cast<size_t>(c.recompute)];
  if (c.recompute_layers == 0 && c.recompute_stages == 0) return all;
  SetRecomputeRange(pipelines[static_cast<size_t>(Recompute::kNone)], all, *family.partition, c,
                    &in_range_);
  return in_range_;
}

// Weights are gathered and gradients reduce-scattered over ZeRO's group (ZeRO 0: an all-reduce,
// which is both, or in switches that add a single one); between groups, each of which has them
// whole (HSDP), gradients are all-reduced.
double StepCoster::Tables::DataSeconds(const Configuration& c, const Degrees& d, const GroupCost& g,
                                       PlacedCosts& placed) {
  if (d.replicas == 1 && d.expert_replicas == 1) return 0;
  auto groups = std::find_if(placed.data.begin(), placed.data.end(),
                             [&](const PlacedCosts::Data& one) { return one.shard == c.shard; });
  if (groups == placed.data.end()) {
    const GroupLayout::Data data = placed.layout.DataOf(d.shard);
    const GroupLayout::Data experts = placed.layout.ExpertDataOf(d.expert_shard);
    groups = placed.data.insert(groups, {c.shard, &times_.Of(data.within), &times_.Of(data.between),
                                         &times_.Of(experts.within), &times_.Of(experts.between)});
  }
  double weights = 0, gradients = 0, reduced_whole = 0;
  const auto add = [&](double parameters, int64_t replicas, int64_t shard,
                       const GroupTimes::Group& within, const GroupTimes::Group& between) {
    if (parameters == 0) return;
    weights += within.all_gather.Seconds(WholeBytes(ElementBytes(c.precision) * parameters));
    const int64_t gradient_bytes = WholeBytes(state_.gradient_bytes * parameters);
    gradients += within.all_gather.Seconds(gradient_bytes);
    reduced_whole += within.all_reduce.Seconds(gradient_bytes);
    if (shard == replicas) return;
    gradients +=
        between.all_reduce.Seconds(WholeBytes(state_.gradient_bytes * parameters / Real(shard)));
  };
  add(g.parameters, d.replicas, d.shard, *groups->within, *groups->between);
  add(g.expert_parameters, d.expert_replicas, d.expert_shard, *groups->expert_within,
      *groups->expert_between);
  const double slow = framework_.overlap_slowdown;
  if (c.zero == 3) {
    const double each = SecondsAdded(weights, g.forward, slow) +
                        SecondsAdded(weights + gradients, g.backward, slow);
    // With a pipeline weights stay gathered, and gradients are summed before they are reduced.
    return (c.pp > 1 ? 1 : d.micro_batches) * each;
  }
  // So they are with ZeRO 2; without a pipeline each micro-batch's are added to a shard.
  const double times = c.zero == 2 && c.pp == 1 ? d.micro_batches : 1;
  const double backward = g.backward + g.communication() * 2 / 3;
  const double in_passes = SecondsAdded(weights, g.forward + g.communication() / 3, slow) +
                           times * SecondsAdded(gradients, backward, slow);
  const bool reduced_in_network = c.zero == 0 && c.shard == 0 && reduced_whole < 2 * gradients;
  return reduced_in_network ? std::min(in_passes, SecondsAdded(reduced_whole, backward, slow))
                            : in_passes;
}

double StepCoster::Tables::OptimizerSeconds(const Configuration& c, const Degrees& d,
                                            const GroupCost& g) const {
  const double updated = c.zero >= 1 ? d.Sharded(g) : g.parameters + g.expert_parameters;
  // Offloaded: gradients go to the host, its cores update (Ren et al. 2021, ZeRO-Offload), and
  // weights come back, in turn.
  const double share = OffloadedState(c);
  const double traffic = OptimizerTraffic(state_, c.precision);
  const double on_host = traffic / device_.host_memory +
                         (state_.gradient_bytes + ElementBytes(c.precision)) / device_.host_link;
  const double on_gpu = traffic / stages_.Rates(c.precision).memory_bytes;
  return (share * on_host + (1 - share) * on_gpu) * updated;
}

double StepCoster::Tables::UpdateSeconds(const Configuration& c, const GroupCost& g) {
  const Degrees d(c, workload_);
  PlacedCosts placed{c.inside, c.unit, {}, 0, 0, std::nullopt, GroupLayout(c, times_.node()), {}};
  return DataSeconds(c, d, g, placed) + OptimizerSeconds(c, d, g);
}

void StepCoster::Tables::SetPipelineTime(const Configuration& c, const Degrees& d,
                                         const PipelineCost& pipeline, double send_seconds,
                                         std::optional<PassSimulator>& passes,
                                         StepTime* time) const {
  const GroupCost& g = pipeline.groups[pipeline.busiest];
  time->compute = d.micro_batches * (g.forward + g.backward);
  time->tensor_communication = d.micro_batches * g.tensor;
  time->context_communication = d.micro_batches * g.context;
  time->expert_communication = d.micro_batches * g.expert;
  if (Is1F1B(c)) {
    const PipelinePasses& simulated = passes->Of(c, pipeline);
    time->seconds = simulated.ends.front();
    time->pipeline_communication = time->seconds - simulated.without_sends;
    time->bubble = std::max(0.0, simulated.without_sends - d.micro_batches * g.total());
    return;
  }
  time->bubble = (d.pp - 1) / d.stages * pipeline.mean *
                 (c.schedule == PipelineKind::kZeroBubble ? ZeroBubbleLeft(d) : 1);
  if (c.pp > 1) {
    // Between micro-batches sends overlap with computation; while filling and draining all wait.
    const double between =
        d.stages > 1 ? (d.stages - 1) * d.micro_batches * framework_.overlap_slowdown : 0;
    time->pipeline_communication = 2 * send_seconds * (d.pp - 1 + between);
  }
  time->seconds = time->compute + time->tensor_communication + time->context_communication +
                  time->expert_communication + time->pipeline_communication + time->bubble;
}

StageSeconds StepCoster::Tables::HostSeconds(const Configuration& c, const GroupCost& g) const {
  const double sent = OffloadedActivations(c, g) * g.saved / device_.host_link;
  const double slow = framework_.overlap_slowdown;
  return {SecondsAdded(sent, g.forward + g.communication() / 3, slow),
          SecondsAdded(sent, g.backward + g.communication() * 2 / 3, slow), 0, 0};
}

void StepCoster::Tables::AddUpdates(const Configuration& c, const Degrees& d,
                                    const PipelineCost& pipeline, PlacedCosts& placed,
                                    StepTime* time) {
  const GroupCost& g = pipeline.groups[pipeline.busiest];
  time->data_communication = DataSeconds(c, d, g, placed) + placed.tied_seconds;
  time->optimizer = OptimizerSeconds(c, d, g);
  if (c.offload_activations) {
    time->host_communication = HostSeconds(c, g).both() * (d.micro_batches + (d.pp - 1) / d.stages);
  }
  time->seconds += time->data_communication + time->host_communication + time->optimizer;
}

// The first group's passes end last. What ends later still is data parallelism's and the
// optimizer's.
void StepCoster::Tables::AddUpdatesOf1F1B(const Configuration& c, const Degrees& d,
                                          const PipelineCost& pipeline, PlacedCosts& placed,
                                          StepTime* time) {
  std::vector<double> longer;  // ends, where passes copy to the host
  if (c.offload_activations) {
    std::vector<StageSeconds> more;
    for (const GroupCost& g : pipeline.groups) more.push_back(HostSeconds(c, g));
    longer = placed.passes->EndsWith(c, pipeline, more);
    time->host_communication = longer.front() - time->seconds;
  }
  const std::vector<double>& ends =
      c.offload_activations ? longer : placed.passes->Of(c, pipeline).ends;
  double last = 0, data = 0, update = 0;
  for (size_t i = 0; i < pipeline.groups.size(); ++i) {
    // Of equal groups the first one ends last.
    const GroupRange& range = pipeline.ranges[i];
    if (range.groups == 0) continue;
    const double reduced = DataSeconds(c, d, pipeline.groups[i], placed);
    const double optimizer = OptimizerSeconds(c, d, pipeline.groups[i]);
    double all = reduced + optimizer;
    if (range.first == 0) all += placed.tied_seconds;
    if (ends[range.first] + all <= last) continue;
    last = ends[range.first] + all;
    data = all - optimizer;
    update = all;
  }
  const double share = update > 0 ? data / update : 0;
  time->data_communication = share * (last - ends.front());
  time->optimizer = (1 - share) * (last - ends.front());
  time->seconds = last;
}

StepTime StepCoster::Tables::Time(const Configuration& c, const Degrees& d,
                                  const PipelineCost& pipeline, PlacedCosts& placed) {
  StepTime time;
  SetPipelineTime(c, d, pipeline, placed.send_seconds, placed.passes, &time);
  if (Is1F1B(c)) {
    AddUpdatesOf1F1B(c, d, pipeline, placed, &time);
  } else {
    AddUpdates(c, d, pipeline, placed, &time);
  }
  time.optimizer += framework_.step_seconds;
  time.seconds += framework_.step_seconds;
  const double batches = d.micro_batches * Real(c.dp);
  const double most = time.seconds * Real(c.gpus()) * stages_.Rates(c.precision).peak_flops;
  time.model_flops = batches * pipeline.flops;
  time.mfu = time.model_flops / most;
  time.hfu = batches * (pipeline.flops + pipeline.again_flops) / most;
  return time;
}

StepFigures StepCoster::Tables::Figures(const Configuration& c) {
  const Degrees d(c, workload_);
  FamilyCosts& family = FamilyOf(c);
  PlacedCosts& placed = PlacedOf(c, family);
  const PipelineCost& pipeline = PipelineOf(c, family, placed.pipelines);
  StepFigures figures;
  figures.time = Time(c, d, pipeline, placed);
  // The first of equal groups has the most micro-batches in flight.
  for (size_t i = 0; i < pipeline.groups.size(); ++i) {
    if (pipeline.ranges[i].groups == 0) continue;
    const StageMemory memory =
        MemoryOf(c, d, pipeline.groups[i], pipeline.ranges[i].first, state_, framework_);
    figures.peak_bytes = std::max(figures.peak_bytes, memory.total());
    figures.kept_bytes = std::max(figures.kept_bytes, memory.activations + memory.logits);
    figures.host_bytes = std::max(figures.host_bytes, memory.host);
  }
  return figures;
}

StepCost StepCoster::Tables::Cost(const Configuration& c) {
  StepCost cost{Figures(c), std::vector<StageMemory>(c.pp)};
  const Degrees d(c, workload_);
  FamilyCosts& family = FamilyOf(c);
  const PipelineCost& pipeline = PipelineOf(c, family, PlacedOf(c, family).pipelines);
  for (int64_t i = 0; i < c.pp; ++i) {
    const size_t group = GroupAt(c, *family.partition, i);
    cost.memory[i] = MemoryOf(c, d, pipeline.groups[group], i, state_, framework_);
  }
  return cost;
}

const std::vector<PipelineCost>& StepCoster::Tables::LeastPipelines(const Configuration& c,
                                                                    FamilyCosts& family) {
  if (!family.least.empty()) return family.least;
  family.least = stages_.LeastCosts(family.blocks, c, times_);
  if (c.pp > 1) {
    family.least_send_seconds = times_.Of(GroupShape{c.pp, c.tp * c.cp * c.dp}.Anywhere())
                                    .permute.Seconds(WholeBytes(family.boundary_bytes));
  }
  family.least_passes.emplace(*family.partition,
                              LeastSendSeconds(c, cluster_, family.boundary_bytes),
                              MicroBatches(c, workload_));
  return family.least;
}

StepBound StepCoster::Tables::Least(const Configuration& c) {
  FamilyCosts& family = FamilyOf(c);
  const std::vector<PipelineCost>& pipelines = LeastPipelines(c, family);
  return BoundOn(c, pipelines, family, family.least_send_seconds, family.least_passes);
}

StepBound StepCoster::Tables::LeastOfUnits(const Configuration& c) {
  FamilyCosts& family = FamilyOf(c);
  auto placed = std::find_if(family.in_one_unit.begin(), family.in_one_unit.end(),
                             [&](const PlacedCosts& one) { return one.inside == c.inside; });
  if (placed == family.in_one_unit.end()) {
    placed = family.in_one_unit.insert(placed,
                                       Place(c, family, GroupLayout::InOneUnit(c, times_.node())));
  }
  return BoundOn(c, placed->pipelines, family, placed->send_seconds, placed->passes);
}

StepBound StepCoster::Tables::BoundOn(const Configuration& c,
                                      const std::vector<PipelineCost>& pipelines,
                                      const FamilyCosts& family, double send_seconds,
                                      std::optional<PassSimulator>& passes) {
  const Degrees d(c, workload_);
  const PipelineCost& pipeline = PipelineOf(c, family, pipelines);
  StepTime time;
  SetPipelineTime(c, d, pipeline, send_seconds, passes, &time);
  StepBound least{.seconds = time.seconds + framework_.step_seconds};
  for (size_t i = 0; i < pipeline.groups.size(); ++i) {
    if (pipeline.ranges[i].groups == 0) continue;
    least.bytes = std::max(least.bytes, LeastBytes(c, workload_, pipeline.groups[i],
                                                   pipeline.ranges[i].first, state_, framework_));
  }
  return least;
}

// Whatever is recomputed, no group computes less than without recomputation.
double StepCoster::Tables::LeastSecondsOfFamily(const Configuration& c) {
  const Degrees d(c, workload_);
  FamilyCosts& family = FamilyOf(c);
  const std::vector<PipelineCost>& pipelines = LeastPipelines(c, family);
  Configuration none = c;
  none.recompute = Recompute::kNone;
  none.recompute_layers = none.recompute_stages = 0;
  StepTime time;
  SetPipelineTime(none, d, pipelines[static_cast<size_t>(Recompute::kNone)],
                  family.least_send_seconds, family.least_passes, &time);
  return time.seconds + framework_.step_seconds;
}

// Whatever the recompute range, no group computes less than without recomputation, nor takes less
// memory than the lesser of what it takes without and with all of it.
StepBound StepCoster::Tables::LeastOfRanges(const Configuration& c) {
  StepBound least{.seconds = LeastSecondsOfFamily(c)};
  const std::vector<PipelineCost>& pipelines = LeastPipelines(c, FamilyOf(c));
  const PipelineCost& none = pipelines[static_cast<size_t>(Recompute::kNone)];
  const PipelineCost& all = pipelines[static_cast<size_t>(c.recompute)];
  const auto bytes = [&](const PipelineCost& pipeline, size_t i) {
    return LeastBytes(c, workload_, pipeline.groups[i], pipeline.ranges[i].first, state_,
                      framework_);
  };
  for (size_t i = 0; i < none.groups.size(); ++i) {
    least.bytes = std::max(least.bytes, std::min(bytes(none, i), bytes(all, i)));
  }
  return least;
}

StepCoster::StepCoster(const Model& model, const Workload& workload, const Cluster& cluster,
                       const CostParameters& parameters, const ChosenFramework& framework)
    : tables_(std::make_unique<Tables>(model, workload, cluster,
                                       parameters.Device(cluster.device.measured_as()),
                                       framework.Parameters(parameters), framework.state)) {}

StepCoster::~StepCoster() = default;

StepFigures StepCoster::Figures(const Configuration& configuration) {
  return tables_->Figures(configuration);
}

StepBound StepCoster::Least(const Configuration& configuration) {
  return tables_->Least(configuration);
}

StepBound StepCoster::LeastOfUnits(const Configuration& configuration) {
  return tables_->LeastOfUnits(configuration);
}

StepBound StepCoster::LeastOfRanges(const Configuration& configuration) {
  return tables_->LeastOfRanges(configuration);
}

double StepCoster::LeastSecondsOfFamily(const Configuration& configuration) {
  return tables_->LeastSecondsOfFamily(configuration);
}

StepCost StepCoster::Cost(const Configuration& configuration) {
  return tables_->Cost(configuration);
}

AllBlockCosts StepCoster::AllBlocks(const Configuration& c) { return tables_->AllBlocks(c); }

StageMemory StepCoster::GroupMemory(const Configuration& c, const GroupCost& group,
                                    int64_t position) const {
  return MemoryOf(c, Degrees(c, tables_->workload()), group, position, tables_->state(),
                  tables_->framework());
}

double StepCoster::GroupUpdateSeconds(const Configuration& c, const GroupCost& group) {
  return tables_->UpdateSeconds(c, group);
}

double StepCoster::FixedSeconds() const { return tables_->fixed_seconds(); }

}  // namespace meshwright::transformer
