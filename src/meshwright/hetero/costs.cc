#include "meshwright/hetero/costs.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "meshwright/degrees/pipeline_passes.h"
#include "meshwright/hetero/blocks.h"
#include "meshwright/hetero/resharding.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr double kInfiniteSeconds = std::numeric_limits<double>::infinity();

// Micro-batches whose activations fit beside what does not depend on them, at most `most`.
int64_t MostInFlight(const Blocks& blocks, const GroupCost& stage,
                     const std::optional<int64_t>& budget, int64_t most) {
  const auto fits = [&](int64_t in_flight) {
    return !budget.has_value() || blocks.Memory(stage, in_flight).total() <= *budget;
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
  return low;
}

// Bytes of a device, for a micro-batch.
double ActivationBytes(const Problem& problem, const StageDegrees& degrees) {
  return static_cast<double>(degrees.micro_batch * problem.workload.sequence) *
         static_cast<double>(problem.model.hidden) * ElementBytes(problem.precision) /
         static_cast<double>(
             StageConfiguration(problem, degrees, Family()).sequence_parallel ? degrees.tp : 1);
}

}  // namespace

int64_t Costs::SlotsOn(size_t stage_class, int64_t nodes) const {
  if (tables_[stage_class] == nullptr) return 0;
  const StageTable& table = *tables_[stage_class];
  return std::min(table.slots, nodes / table.nodes_per_stage * table.per_node);
}

int64_t Costs::Nodes(size_t stage_class, int64_t stages) const {
  if (stages == 0) return 0;
  const StageTable& table = *tables_[stage_class];
  return table.per_node > 1 ? (stages + table.per_node - 1) / table.per_node
                            : stages * table.nodes_per_stage;
}

double Costs::TiedSeconds(size_t first, size_t last, int64_t stages) const {
  if (first != last) return tied_[first][last];
  return stages <= stages_per_node(first) ? tied_in_node_[first] : tied_[first][first];
}

double Costs::LeastTied(int64_t stages) const {
  if (stages < 2) return 0;
  double least = least_tied_;
  for (size_t stage_class = 0; stage_class < stage_classes(); ++stage_class) {
    if (slots(stage_class) == 0 || stages > stages_per_node(stage_class)) continue;
    least = std::min(least, tied_in_node_[stage_class]);
  }
  return least;
}

Coster::Coster(const Problem& problem, const CostParameters& parameters)
    : problem_(problem), blocks_(std::make_unique<BlockMaker>(problem, parameters)) {}

Coster::~Coster() = default;

Coster::LayerBounds Coster::BoundLayers(size_t group, const Family& family,
                                        const StageDegrees& degrees) {
  LayerBounds bounds = {kInfiniteSeconds, 0, kInfiniteSeconds, 0};
  const Blocks blocks = blocks_->Make(group, family, degrees);
  // A stage's share is between those of its blocks.
  const auto add = [&](const GroupCost& block) {
    const PipelineStage passes = PassesOf(block);
    if (passes.both() > 0) {
      bounds.forward_share = std::max(bounds.forward_share, passes.forward / passes.both());
    }
    return passes.both();
  };
  bounds.fixed = blocks.coster->FixedSeconds();
  for (const GroupCost* const layer : blocks.layers) {
    bounds.seconds = std::min(bounds.seconds, add(*layer));
    bounds.update = std::min(bounds.update, blocks.UpdateSeconds(*layer));
  }
  // Stages at the ends need no layer.
  bounds.update = std::min(
      {bounds.update, blocks.UpdateSeconds(blocks.embedding), blocks.UpdateSeconds(blocks.head)});
  add(blocks.embedding);
  add(blocks.head);
  return bounds;
}

std::shared_ptr<const StageTable> Coster::Table(size_t stage_class, const Family& family) {
  const StageDegrees& degrees = family.degrees[stage_class];
  std::weak_ptr<const StageTable>& kept =
      tables_[{family.Group(stage_class), degrees, family.ZeroOf(degrees), family.recompute}];
  std::shared_ptr<const StageTable> table = kept.lock();
  if (table == nullptr) {
    table = std::make_shared<const StageTable>(MakeTable(stage_class, family));
    kept = table;
    cells_made_ += static_cast<int64_t>(table->cells.size());
  }
  return table;
}

StageTable Coster::MakeTable(size_t stage_class, const Family& family) {
  const size_t group = family.Group(stage_class);
  const NodeGroup& nodes = problem_.cluster.groups[group];
  const StageDegrees& degrees = family.degrees[stage_class];
  const int64_t layers = blocks_->layers(), per_node = nodes.cluster.devices_per_node;
  const Blocks blocks = blocks_->Make(group, family, degrees);
  StageTable table;
  table.slots = std::min(Slots(nodes, degrees), MostStages(layers));
  table.per_node = std::max<int64_t>(1, per_node / degrees.devices());
  table.nodes_per_stage = std::max<int64_t>(1, degrees.devices() / per_node);
  table.tied_bytes = problem_.framework.state.gradient_bytes * blocks_->TiedParameters(blocks);
  if (table.slots == 0) return table;
  table.fixed_seconds = blocks.coster->FixedSeconds();
  table.cells.resize((layers + 2) * (layers + 3));
  const std::optional<int64_t> budget = problem_.Budget(group);
  const int64_t micro_batches = problem_.workload.global_batch / degrees.together();
  // Of embedding, layers and head, counted through.
  for (int64_t first = 0; first < layers + 2; ++first) {
    GroupCost sum;
    StageContent content = {std::max<int64_t>(0, first - 1), 0, first == 0, false};
    for (int64_t last = first; last < layers + 2; ++last) {
      content.ends = last == layers + 1;
      if (last > 0 && !content.ends) {
        AddBlocks(*blocks.layers[last - 1], 1, &sum);
        ++content.layers;
      }
      const GroupCost stage = blocks_->Stage(blocks, content, &sum);
      Cell& cell = table.cells[Costs::Position(content, layers)];
      const PipelineStage passes = PassesOf(stage);
      cell.forward = passes.forward;
      cell.backward = passes.backward;
      cell.update = blocks.UpdateSeconds(stage);
      cell.most_in_flight = static_cast<int32_t>(
          MostInFlight(blocks, stage, budget, std::min(micro_batches, MostStages(layers))));
      if (cell.most_in_flight == 0) break;  // more layers need more memory
    }
  }
  return table;
}

double Coster::SendSeconds(size_t from, const StageDegrees& degrees, size_t to,
                           const StageDegrees& other_degrees) const {
  return ReshardingSeconds(problem_.cluster.links[from][to], degrees,
                           ActivationBytes(problem_, degrees), other_degrees,
                           ActivationBytes(problem_, other_degrees));
}

Costs Coster::CostsOf(const Family& family) {
  Costs costs = CostsOfAny(family);
  for (const auto& table : costs.tables_) {
    if (table != nullptr)
      costs.fixed_seconds_ = std::max(costs.fixed_seconds_, table->fixed_seconds);
  }
  return costs;
}

Costs Coster::CostsOfAny(const Family& family) {
  Costs costs;
  costs.micro_batches_ = problem_.workload.global_batch / family.together();
  costs.layers_ = blocks_->layers();
  for (const NodeGroup& group : problem_.cluster.groups) {
    costs.nodes_.push_back(group.cluster.nodes);
  }
  double fixed = kInfiniteSeconds;
  for (size_t stage_class = 0; stage_class < family.degrees.size(); ++stage_class) {
    costs.groups_.push_back(family.Group(stage_class));
    const bool used = family.degrees[stage_class].used();
    costs.tables_.push_back(used ? Table(stage_class, family) : nullptr);
    if (used) fixed = std::min(fixed, costs.tables_[stage_class]->fixed_seconds);
  }
  costs.fixed_seconds_ = fixed;
  SetSends(family, &costs);
  return costs;
}

void Coster::SetSends(const Family& family, Costs* costs) const {
  const size_t count = costs->stage_classes();
  costs->send_.assign(count, std::vector<double>(count));
  costs->tied_ = costs->send_;
  costs->send_in_node_.assign(count, 0);
  costs->tied_in_node_ = costs->send_in_node_;
  costs->least_send_ = costs->least_send_between_ = costs->least_tied_ = kInfiniteSeconds;
  for (size_t a = 0; a < count; ++a) {
    if (costs->slots(a) == 0) continue;
    const StageDegrees& from = family.degrees[a];
    const double tied = costs->tables_[a]->tied_bytes;
    for (size_t b = 0; b < count; ++b) {
      if (costs->slots(b) == 0) continue;
      // A group of one node has no link, and no second node to send to.
      const Link& link = problem_.cluster.links[family.Group(a)][family.Group(b)];
      if (link.bandwidth_bytes_per_second <= 0) continue;
      const StageDegrees& to = family.degrees[b];
      costs->send_[a][b] = SendSeconds(family.Group(a), from, family.Group(b), to);
      if (tied > 0) {
        costs->tied_[a][b] = ReshardingSeconds(link, from, tied, to, costs->tables_[b]->tied_bytes);
      }
      const bool one_node = a == b && costs->slots(a) <= costs->stages_per_node(a);
      if (one_node) continue;
      costs->least_send_between_ = std::min(costs->least_send_between_, costs->send_[a][b]);
      costs->least_tied_ = std::min(costs->least_tied_, costs->tied_[a][b]);
    }
    const Cluster& cluster = problem_.cluster.groups[family.Group(a)].cluster;
    if (costs->stages_per_node(a) == 1) continue;
    const double sent = ActivationBytes(problem_, from);
    costs->send_in_node_[a] = ReshardingSeconds(cluster.intra_node, from, sent, from, sent);
    if (tied > 0) {
      costs->tied_in_node_[a] = ReshardingSeconds(cluster.intra_node, from, tied, from, tied);
    }
    costs->least_send_ = std::min(costs->least_send_, costs->send_in_node_[a]);
  }
  costs->least_send_ = std::min(costs->least_send_, costs->least_send_between_);
  if (costs->least_tied_ == kInfiniteSeconds) costs->least_tied_ = 0;
  // Nothing is sent where there is one stage, nor between nodes where there is one node.
  if (costs->least_send_ == kInfiniteSeconds) costs->least_send_ = 0;
  if (costs->least_send_between_ == kInfiniteSeconds) {
    costs->least_send_between_ = costs->least_send_;
  }
}

Figures Coster::FiguresOf(const Plan& plan) {
  const Costs costs = CostsOf(plan.family);
  Figures figures;
  figures.fits = true;
  std::vector<int64_t> behind(costs.stage_classes());  // stages of each stage class behind this one
  const int64_t count = static_cast<int64_t>(plan.stages.size());
  int64_t first = costs.layers();
  figures.stages.resize(count);
  figures.costs.resize(count);
  figures.send_bytes.resize(count);
  figures.memory.resize(count);
  for (int64_t i = count - 1; i >= 0; --i) {
    const Stage& stage = plan.stages[i];
    first -= stage.layers;
    const StageDegrees& degrees = plan.family.degrees[stage.stage_class];
    const size_t group = plan.family.Group(stage.stage_class);
    const Blocks blocks = blocks_->Make(group, plan.family, degrees);
    const StageContent content = {first, stage.layers, i == 0, i + 1 == count};
    const GroupCost& cost = figures.costs[i] = blocks_->Stage(blocks, content);
    PipelineStage& one = figures.stages[i];
    one = PassesOf(cost);
    one.update = blocks.UpdateSeconds(cost);
    figures.send_bytes[i] = ActivationBytes(problem_, degrees);
    if (i + 1 < count) {
      const int32_t next = plan.stages[i + 1].stage_class;
      one.send = costs.SendSeconds(stage.stage_class, next, behind[next] - 1);
    }
    figures.memory[i] = blocks.Memory(cost, std::min(costs.micro_batches(), count - i));
    const std::optional<int64_t> budget = problem_.Budget(group);
    if (budget.has_value() && figures.memory[i].total() > *budget) figures.fits = false;
    ++behind[stage.stage_class];
  }
  if (count > 1) {
    figures.stages[0].update +=
        costs.TiedSeconds(plan.stages.front().stage_class, plan.stages.back().stage_class, count);
  }
  figures.fixed_seconds = costs.fixed_seconds();
  figures.seconds = PipelineSeconds(figures.stages, costs.micro_batches()) + costs.fixed_seconds();
  figures.nodes.resize(costs.groups());
  for (size_t stage_class = 0; stage_class < costs.stage_classes(); ++stage_class) {
    figures.nodes[costs.Group(stage_class)] += costs.Nodes(stage_class, behind[stage_class]);
  }
  return figures;
}

double Seconds(const Costs& costs, const std::vector<Stage>& stages) {
  std::vector<PipelineStage> run(stages.size());
  std::vector<int64_t> behind(costs.stage_classes());
  int64_t first = costs.layers();
  for (size_t i = stages.size(); i-- > 0;) {
    const Stage& stage = stages[i];
    first -= stage.layers;
    const StageContent content = {first, stage.layers, i == 0, i + 1 == stages.size()};
    const Cell& cell = costs.CellAt(stage.stage_class, content);
    run[i] = {cell.forward, cell.backward, 0, cell.update};
    if (i + 1 < stages.size()) {
      const int32_t next = stages[i + 1].stage_class;
      run[i].send = costs.SendSeconds(stage.stage_class, next, behind[next] - 1);
    }
    ++behind[stage.stage_class];
  }
  if (stages.size() > 1) {
    run[0].update += costs.TiedSeconds(stages.front().stage_class, stages.back().stage_class,
                                       static_cast<int64_t>(stages.size()));
  }
  return PipelineSeconds(run, costs.micro_batches()) + costs.fixed_seconds();
}

}  // namespace meshwright::transformer::hetero
