#include "meshwright/transformer/mixed_costs.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/transformer/space.h"

namespace meshwright::transformer {
namespace {

constexpr double kActivationBytes = 2;    // a value that a stage sends on
constexpr double kTiedGradientBytes = 4;  // a parameter that two stages have
constexpr double kInfiniteSeconds = std::numeric_limits<double>::infinity();
// A micro-batch of more sequences gains nothing that fewer do not have.
constexpr int64_t kMostMicroBatch = 64;
// In a step: more are not simulated.
constexpr int64_t kMostMicroBatches = int64_t{1} << 14;

double LinkSeconds(const Link& link, double bytes) {
  return link.latency_seconds + bytes / link.achievable();
}

Configuration StageConfiguration(const MixedFamily& family, Precision precision) {
  Configuration c;
  c.tp = family.tp;
  c.sequence_parallel = family.tp > 1;
  c.dp = family.dp;
  c.micro_batch = family.micro_batch;
  c.zero = family.zero;
  c.recompute = family.recompute;
  c.precision = precision;
  return c;
}

std::vector<int64_t> DivisorsOf(int64_t number) {
  std::vector<int64_t> low, high;
  for (int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    low.push_back(i);
    if (i != number / i) high.push_back(number / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool Allows(const std::optional<int64_t>& fix, int64_t value) {
  return !fix.has_value() || *fix == value;
}

}  // namespace

int64_t MixedCosts::Nodes(size_t group, int64_t stages) const {
  return per_node_[group] > 1 ? (stages + per_node_[group] - 1) / per_node_[group]
                              : stages * nodes_per_stage_[group];
}

double MixedCosts::TiedSeconds(size_t first, size_t last, int64_t stages) const {
  if (first != last) return tied_[first][last];
  return stages <= per_node_[first] ? tied_in_node_[first] : tied_[first][first];
}

class MixedCoster::Parts {
 public:
  Parts(const MixedProblem& problem, const CostParameters& parameters)
      : problem_(problem), parameters_(parameters) {
    for (const Stack& stack : problem.model.stacks) {
      const int32_t first = static_cast<int32_t>(kinds_);
      for (const int32_t kind : stack.layers) layer_kinds_.push_back(first + kind);
      kinds_ += stack.kinds.size();
    }
    last_stack_ = kinds_ - problem.model.stacks.back().kinds.size();
  }

  const MixedProblem& problem() const { return problem_; }
  int64_t layers() const { return static_cast<int64_t>(layer_kinds_.size()); }

  // Of a group; 0 if stages of `devices` cannot be aligned with its nodes.
  int64_t Slots(size_t group, const MixedFamily& family) const {
    const Cluster& cluster = problem_.cluster.groups[group].cluster;
    const int64_t per_node = cluster.devices_per_node, devices = family.tp * family.dp;
    if (per_node % family.tp != 0) return 0;
    if (per_node % devices == 0) return cluster.nodes * (per_node / devices);
    return devices % per_node == 0 ? cluster.nodes / (devices / per_node) : 0;
  }

  // The blocks of a stage of one family on one group.
  struct Blocks {
    StepCoster* coster = nullptr;
    Configuration configuration;
    std::vector<const GroupCost*> layers;  // of `kinds` or `measured`
    std::vector<GroupCost> kinds, measured;
    GroupCost embedding, head;
    double embedding_parameters = 0;
    bool usable = false;
  };
  Blocks BlocksOf(size_t group, const MixedFamily& family);

  // Of layers [first, first + count).
  GroupCost Stage(const Blocks& blocks, int64_t first, int64_t count) const {
    GroupCost sum;
    for (int64_t i = first; i < first + count; ++i) AddBlocks(*blocks.layers[i], 1, &sum);
    AddEnds(blocks, first, count, &sum);
    return sum;
  }
  void AddEnds(const Blocks& blocks, int64_t first, int64_t count, GroupCost* sum) const {
    const bool begins = first == 0, ends = first + count == layers();
    if (begins) AddBlocks(blocks.embedding, 1, sum);
    if (!ends) return;
    AddBlocks(blocks.head, 1, sum);
    if (HasCopies() && !begins) sum->parameters += blocks.embedding_parameters;
  }
  // The last stage has the embedding's weights too.
  bool HasCopies() const { return problem_.model.head.tied || problem_.model.mtp.modules > 0; }

  static PipelineStage Passes(const GroupCost& g) {
    // Of communication a third is forward, as the calibrated model takes it.
    const double communication = g.communication();
    return {g.forward + communication / 3, g.backward + communication * 2 / 3, 0, 0};
  }

  // With `in_flight` micro-batches.
  StageMemory Memory(const Blocks& blocks, const GroupCost& g, int64_t in_flight) const {
    Configuration c = blocks.configuration;
    c.pp = in_flight;
    return blocks.coster->GroupMemory(c, g, 0);
  }

  std::optional<int64_t> Budget(size_t group) const {
    if (!problem_.budget_bytes.empty()) return problem_.budget_bytes[group];
    return problem_.cluster.groups[group].cluster.device.memory_bytes;
  }

  double SendBytes(const MixedFamily& family) const {
    return static_cast<double>(family.micro_batch * problem_.workload.sequence) *
           static_cast<double>(problem_.model.hidden) * kActivationBytes /
           static_cast<double>(family.tp);
  }

 private:
  StepCoster* Coster(size_t group, const MixedFamily& family);

  const MixedProblem& problem_;
  const CostParameters& parameters_;
  std::vector<int32_t> layer_kinds_;  // by layer: of AllBlockCosts::layers
  size_t kinds_ = 0, last_stack_ = 0;
  // By group and nodes of a stage.
  std::map<std::pair<size_t, int64_t>,
           std::pair<std::unique_ptr<Cluster>, std::unique_ptr<StepCoster>>>
      costers_;
};

StepCoster* MixedCoster::Parts::Coster(size_t group, const MixedFamily& family) {
  const Cluster& whole = problem_.cluster.groups[group].cluster;
  const int64_t nodes = std::max<int64_t>(1, family.tp * family.dp / whole.devices_per_node);
  auto& [cluster, coster] = costers_[{group, nodes}];
  if (coster == nullptr) {
    cluster = std::make_unique<Cluster>(whole);
    cluster->nodes = nodes;
    coster = std::make_unique<StepCoster>(problem_.model, problem_.workload, *cluster, parameters_);
  }
  return coster.get();
}

MixedCoster::Parts::Blocks MixedCoster::Parts::BlocksOf(size_t group, const MixedFamily& family) {
  Blocks blocks;
  if (Slots(group, family) == 0) return blocks;
  blocks.coster = Coster(group, family);
  blocks.configuration = StageConfiguration(family, problem_.precision);
  const AllBlockCosts all = blocks.coster->AllBlocks(blocks.configuration);
  const size_t recompute = static_cast<size_t>(family.recompute);
  for (const BlockGroupCosts& kind : all.layers) blocks.kinds.push_back(kind[recompute]);
  blocks.embedding = all.embedding[recompute];
  blocks.embedding_parameters = blocks.embedding.parameters;
  blocks.head = all.head[recompute];
  if (const MultiTokenPrediction& mtp = problem_.model.mtp; mtp.modules > 0) {
    AddBlocks(all.mtp[recompute], mtp.modules, &blocks.head);
    AddBlocks(blocks.kinds[last_stack_ + mtp.kind], mtp.modules, &blocks.head);
  }
  for (const int32_t kind : layer_kinds_) blocks.layers.push_back(&blocks.kinds[kind]);
  blocks.usable = true;
  if (!problem_.profile.has_value()) return blocks;

  const NodeGroup& nodes = problem_.cluster.groups[group];
  std::optional<std::vector<LayerTime>> measured =
      problem_.profile->Find(nodes.name, family.tp, family.micro_batch);
  if (!measured.has_value()) {
    measured = problem_.profile->Find(nodes.cluster.device.name, family.tp, family.micro_batch);
  }
  blocks.usable = measured.has_value();
  if (!blocks.usable) return blocks;
  // What is computed again: a forward pass, or as much as the model says.
  const auto replace = [&](const LayerTime& seconds, double none_backward, bool layer,
                           GroupCost* cost) {
    const bool full = layer && family.recompute == Recompute::kFull;
    const double again = full ? seconds.forward : cost->backward - none_backward;
    cost->forward = seconds.forward;
    cost->backward = seconds.backward + again;
    cost->tensor = cost->context = cost->expert = 0;
  };
  const size_t none = static_cast<size_t>(Recompute::kNone);
  // An encoder's and a decoder's model has an entry for the decoder's embedding in between, and
  // none for the head, which is in the last layer's.
  const bool two = problem_.model.stacks.size() == 2;
  const size_t encoder = two ? problem_.model.stacks.front().layers.size() : layer_kinds_.size();
  for (size_t i = 0; i < layer_kinds_.size(); ++i) {
    LayerTime seconds = (*measured)[i + (i < encoder ? 1 : 2)];
    if (two && i == encoder) {
      seconds.forward += (*measured)[i + 1].forward;
      seconds.backward += (*measured)[i + 1].backward;
    }
    GroupCost& cost = blocks.measured.emplace_back(*blocks.layers[i]);
    replace(seconds, all.layers[layer_kinds_[i]][none].backward, true, &cost);
  }
  for (size_t i = 0; i < layer_kinds_.size(); ++i) blocks.layers[i] = &blocks.measured[i];
  replace(measured->front(), blocks.embedding.backward, false, &blocks.embedding);
  replace(two ? LayerTime{} : measured->back(), blocks.head.backward, false, &blocks.head);
  return blocks;
}

MixedCoster::MixedCoster(const MixedProblem& problem, const CostParameters& parameters)
    : parts_(std::make_unique<Parts>(problem, parameters)) {}

MixedCoster::~MixedCoster() = default;

std::vector<MixedFamily> MixedCoster::Families() const {
  const MixedProblem& problem = parts_->problem();
  const Fixes& fixes = problem.fixes;
  int64_t most_devices = 0;
  std::set<int64_t> tensor_degrees;
  for (const NodeGroup& group : problem.cluster.groups) {
    most_devices = std::max(most_devices, group.cluster.devices());
    for (const int64_t tp : DivisorsOf(group.cluster.devices_per_node)) tensor_degrees.insert(tp);
  }
  std::vector<MixedFamily> families;
  for (const int64_t tp : tensor_degrees) {
    if (!Allows(fixes.tp, tp)) continue;
    Fixes fixed;
    fixed.tp = tp;
    const std::vector<Space::Degrees> alone =
        Space(problem.model, problem.workload, tp, fixed, problem.precision).AllDegrees();
    if (alone.empty()) continue;
    for (const int64_t dp : DivisorsOf(problem.workload.global_batch)) {
      if (!Allows(fixes.dp, dp) || tp * dp > most_devices) continue;
      for (const int64_t micro_batch : DivisorsOf(problem.workload.global_batch / dp)) {
        if (!Allows(fixes.micro_batch, micro_batch) || micro_batch > kMostMicroBatch) continue;
        if (problem.workload.global_batch / (dp * micro_batch) > kMostMicroBatches) continue;
        for (const int zero : {0, 1}) {
          if (!Allows(fixes.zero, zero) || (zero > 0 && dp == 1)) continue;
          for (int i = 0; i < kRecomputeKinds; ++i) {
            const Recompute recompute = static_cast<Recompute>(i);
            if (fixes.recompute.has_value() && *fixes.recompute != recompute) continue;
            const MixedFamily family = {tp, dp, micro_batch, zero, recompute};
            const std::vector<int64_t> slots = Slots(family);
            if (std::all_of(slots.begin(), slots.end(), [](int64_t n) { return n == 0; })) continue;
            families.push_back(family);
          }
        }
      }
    }
  }
  return families;
}

std::vector<int64_t> MixedCoster::Slots(const MixedFamily& family) const {
  std::vector<int64_t> slots;
  for (size_t i = 0; i < parts_->problem().cluster.groups.size(); ++i) {
    slots.push_back(std::min(parts_->Slots(i, family), parts_->layers()));
  }
  return slots;
}

std::vector<double> MixedCoster::LeastLayerSeconds(const MixedFamily& family) {
  std::vector<double> all;
  for (size_t group = 0; group < parts_->problem().cluster.groups.size(); ++group) {
    double& least = all.emplace_back(kInfiniteSeconds);
    const Parts::Blocks blocks = parts_->BlocksOf(group, family);
    if (!blocks.usable) continue;
    for (const GroupCost* const layer : blocks.layers) {
      least = std::min(least, Parts::Passes(*layer).both());
    }
  }
  return all;
}

MixedCosts MixedCoster::Costs(const MixedFamily& family) {
  const MixedProblem& problem = parts_->problem();
  const std::vector<NodeGroup>& groups = problem.cluster.groups;
  const int64_t devices = family.tp * family.dp, layers = parts_->layers();
  MixedCosts costs;
  costs.micro_batches_ = problem.workload.global_batch / (family.dp * family.micro_batch);
  costs.layers_ = layers;
  costs.cells_.resize(groups.size() * layers * (layers + 1));
  costs.least_send_ = costs.least_send_between_ = kInfiniteSeconds;
  const double bytes = parts_->SendBytes(family);
  for (size_t group = 0; group < groups.size(); ++group) {
    const Cluster& cluster = groups[group].cluster;
    const Parts::Blocks blocks = parts_->BlocksOf(group, family);
    costs.slots_.push_back(blocks.usable ? std::min(parts_->Slots(group, family), layers) : 0);
    costs.per_node_.push_back(std::max<int64_t>(1, cluster.devices_per_node / devices));
    costs.nodes_per_stage_.push_back(std::max<int64_t>(1, devices / cluster.devices_per_node));
    const auto between = [&](double size) {
      std::vector<double> seconds;
      for (size_t other = 0; other < groups.size(); ++other) {
        const Link& link = problem.cluster.links[group][other];
        const bool linked = link.bandwidth_bytes_per_second > 0;
        seconds.push_back(linked ? LinkSeconds(link, size) : 0);
      }
      return seconds;
    };
    const auto inside = [&](double size) {
      return cluster.devices_per_node > 1 ? LinkSeconds(cluster.intra_node, size) : 0;
    };
    costs.send_.push_back(between(bytes));
    costs.send_in_node_.push_back(inside(bytes));
    for (const double seconds : costs.send_.back()) {
      costs.least_send_between_ = std::min(costs.least_send_between_, seconds);
    }
    costs.least_send_ = std::min(costs.least_send_, costs.send_in_node_.back());
    const double tied =
        problem.model.head.tied ? kTiedGradientBytes * blocks.embedding_parameters : 0;
    costs.tied_.push_back(tied > 0 ? between(tied) : std::vector<double>(groups.size()));
    costs.tied_in_node_.push_back(tied > 0 ? inside(tied) : 0);
    if (!blocks.usable) continue;
    costs.fixed_seconds_ = blocks.coster->FixedSeconds();
    const std::optional<int64_t> budget = parts_->Budget(group);
    const int64_t most = std::min(costs.micro_batches_, layers);
    for (int64_t first = 0; first < layers; ++first) {
      GroupCost sum;
      for (int64_t count = 1; first + count <= layers; ++count) {
        AddBlocks(*blocks.layers[first + count - 1], 1, &sum);
        GroupCost stage = sum;
        parts_->AddEnds(blocks, first, count, &stage);
        MixedCell& cell = costs.cells_[(group * layers + first) * (layers + 1) + count];
        const PipelineStage passes = Parts::Passes(stage);
        cell.forward = passes.forward;
        cell.backward = passes.backward;
        cell.update = blocks.coster->GroupUpdateSeconds(blocks.configuration, stage);
        const auto fits = [&](int64_t in_flight) {
          return !budget.has_value() || parts_->Memory(blocks, stage, in_flight).total() <= *budget;
        };
        int64_t low = 0, high = most;
        while (low < high) {
          const int64_t middle = low == 0 && high == most ? most : (low + high + 1) / 2;
          if (fits(middle)) {
            low = middle;
          } else {
            high = middle - 1;
          }
        }
        cell.most_in_flight = static_cast<int32_t>(low);
        if (low == 0) break;  // more layers need more memory
      }
    }
  }
  costs.least_send_ = std::min(costs.least_send_, costs.least_send_between_);
  return costs;
}

MixedFigures MixedCoster::Figures(const MixedPlan& plan) {
  const MixedCosts costs = Costs(plan.family);
  MixedFigures figures;
  figures.fits = true;
  figures.nodes.resize(costs.groups());
  std::vector<int64_t> behind(costs.groups());  // stages of each group behind this one
  const int64_t count = static_cast<int64_t>(plan.stages.size());
  int64_t first = costs.layers();
  figures.stages.resize(count);
  figures.memory.resize(count);
  for (int64_t i = count - 1; i >= 0; --i) {
    const MixedStage& stage = plan.stages[i];
    first -= stage.layers;
    const Parts::Blocks blocks = parts_->BlocksOf(stage.group, plan.family);
    const GroupCost cost = parts_->Stage(blocks, first, stage.layers);
    PipelineStage& one = figures.stages[i];
    one = Parts::Passes(cost);
    one.update = blocks.coster->GroupUpdateSeconds(blocks.configuration, cost);
    if (i + 1 < count) {
      const int32_t next = plan.stages[i + 1].group;
      one.send = costs.SendSeconds(stage.group, next, behind[next] - 1);
    }
    figures.memory[i] = parts_->Memory(blocks, cost, std::min(costs.micro_batches(), count - i));
    const std::optional<int64_t> budget = parts_->Budget(stage.group);
    if (budget.has_value() && figures.memory[i].total() > *budget) figures.fits = false;
    ++behind[stage.group];
  }
  if (count > 1) {
    figures.stages[0].update +=
        costs.TiedSeconds(plan.stages.front().group, plan.stages.back().group, count);
  }
  figures.seconds = PipelineSeconds(figures.stages, costs.micro_batches()) + costs.fixed_seconds();
  for (size_t group = 0; group < costs.groups(); ++group) {
    figures.nodes[group] = costs.Nodes(group, behind[group]);
  }
  return figures;
}

double MixedSeconds(const MixedCosts& costs, const std::vector<MixedStage>& stages) {
  std::vector<PipelineStage> run(stages.size());
  std::vector<int64_t> behind(costs.groups());
  int64_t first = costs.layers();
  for (size_t i = stages.size(); i-- > 0;) {
    const MixedStage& stage = stages[i];
    first -= stage.layers;
    const MixedCell& cell = costs.Cell(stage.group, first, stage.layers);
    run[i] = {cell.forward, cell.backward, 0, cell.update};
    if (i + 1 < stages.size()) {
      const int32_t next = stages[i + 1].group;
      run[i].send = costs.SendSeconds(stage.group, next, behind[next] - 1);
    }
    ++behind[stage.group];
  }
  if (stages.size() > 1) {
    run[0].update += costs.TiedSeconds(stages.front().group, stages.back().group,
                                       static_cast<int64_t>(stages.size()));
  }
  return PipelineSeconds(run, costs.micro_batches()) + costs.fixed_seconds();
}

absl::Status CheckMixedProblem(const MixedProblem& problem) {
  const Fixes& fixes = problem.fixes;
  const struct {
    const char* key;
    bool given;
  } others[] = {{"cp", fixes.cp.value_or(1) != 1},
                {"vp", fixes.virtual_stages.value_or(1) != 1},
                {"ep", fixes.ep.value_or(1) != 1},
                {"etp", fixes.etp.value_or(1) != 1},
                {"shard", fixes.shard.value_or(0) != 0},
                {"zero", fixes.zero.value_or(0) > 1},
                {"sp", fixes.sequence_parallel.has_value()},
                {"schedule", fixes.schedule.value_or(PipelineKind::k1F1B) != PipelineKind::k1F1B}};
  for (const auto& other : others) {
    if (!other.given) continue;
    return absl::InvalidArgumentError(StrCat(
        "--fix: ", other.key,
        " is not searched over groups of nodes; tp, dp, pp, mbs, zero (0 or 1) and recompute "
        "are, schedules are 1f1b"));
  }
  const int64_t layers = problem.model.layers();
  if (layers > kMostMixedLayers) {
    return absl::InvalidArgumentError(StrCat("models of at most ", kMostMixedLayers,
                                             " layers are planned over groups of nodes; ",
                                             problem.model.name, " has ", layers));
  }
  if (!problem.profile.has_value()) return absl::OkStatus();
  if (static_cast<int64_t>(problem.profile->entries()) != layers + 2) {
    return absl::InvalidArgumentError(StrCat(
        "--profile: found ", problem.profile->entries(), " entries, but ", problem.model.name,
        " has ", layers, " layers, and so ", layers + 2, " with embedding and head"));
  }
  for (const NodeGroup& group : problem.cluster.groups) {
    bool found = false;
    for (const int64_t tp : DivisorsOf(group.cluster.devices_per_node)) {
      found = found || problem.profile->Find(group.name, tp, 1).has_value() ||
              problem.profile->Find(group.cluster.device.name, tp, 1).has_value();
    }
    if (!found) {
      return absl::InvalidArgumentError(StrCat("--profile: nothing is measured on ",
                                               group.cluster.device.name, ", group ", group.name,
                                               "; found ", problem.profile->Measured()));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright::transformer
