#include "meshwright/degrees/stage_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meshwright::transformer {

void AddBlocks(const GroupCost& block, int64_t times, GroupCost* sum) {
  const double n = static_cast<double>(times);
  sum->forward += n * block.forward;
  sum->backward += n * block.backward;
  sum->tensor += n * block.tensor;
  sum->context += n * block.context;
  sum->expert += n * block.expert;
  sum->parameters += n * block.parameters;
  sum->expert_parameters += n * block.expert_parameters;
  sum->largest_block = std::max(sum->largest_block, block.largest_block);
  sum->saved += n * block.saved;
  sum->largest_saved = std::max(sum->largest_saved, block.saved);
  sum->transient = std::max(sum->transient, block.transient);
  sum->logits += n * block.logits;
  sum->again_flops += n * block.again_flops;
}

void PipelineCost::Sum() {
  busiest = 0;
  mean = 0;
  again_flops = 0;
  constexpr double kEqual = 1e-13;  // sums of the same in another order
  double most = -1, all = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (ranges[i].groups == 0) continue;
    const double total = groups[i].total(), times = static_cast<double>(ranges[i].groups);
    const bool earlier = ranges[i].first < ranges[busiest].first;
    if (total > most * (1 + kEqual) || (earlier && total > most * (1 - kEqual))) {
      most = total;
      busiest = i;
    }
    mean += times * total;
    again_flops += times * groups[i].again_flops;
    all += times;
  }
  mean /= all;
}

namespace {

// The cost of a group that recomputes a part of its layers.
GroupCost PartlyRecomputed(const GroupCost& none, const GroupCost& recomputed, double part) {
  if (part == 1) return recomputed;
  GroupCost cost = none;
  const auto add = [&](double GroupCost::*member) {
    cost.*member += part * (recomputed.*member - none.*member);
  };
  for (double GroupCost::*const member :
       {&GroupCost::forward, &GroupCost::backward, &GroupCost::tensor, &GroupCost::context,
        &GroupCost::expert, &GroupCost::saved, &GroupCost::again_flops}) {
    add(member);
  }
  cost.transient = std::max(none.transient, recomputed.transient);
  cost.largest_saved = std::max(none.largest_saved, recomputed.largest_saved);
  return cost;
}

}  // namespace

size_t GroupAt(const Configuration& c, const LayerPartition& partition, int64_t position) {
  const auto content = static_cast<size_t>(partition.content_of[position]);
  if (c.recompute_layers == 0 && c.recompute_stages == 0) return content;
  const int64_t stages = c.recompute_stages > 0 ? c.recompute_stages : c.pp;
  return 2 * content + (position < stages ? 0 : 1);
}

void SetRecomputeRange(const PipelineCost& none, const PipelineCost& recomputed,
                       const LayerPartition& partition, const Configuration& c, PipelineCost* out) {
  const size_t contents = partition.contents.size();
  out->groups.resize(2 * contents);
  out->ranges.assign(2 * contents, {});
  for (int64_t position = 0; position < c.pp; ++position) {
    GroupRange& range = out->ranges[GroupAt(c, partition, position)];
    if (range.groups++ == 0) range.first = position;
  }
  for (size_t i = 0; i < contents; ++i) {
    const int64_t layers = partition.contents[i].all_layers();
    const int64_t some = c.recompute_layers * c.virtual_stages;
    const double part =
        some == 0 || some >= layers ? 1 : static_cast<double>(some) / static_cast<double>(layers);
    out->groups[2 * i] = PartlyRecomputed(none.groups[i], recomputed.groups[i], part);
    out->groups[2 * i + 1] = none.groups[i];
  }
  out->flops = recomputed.flops;
  out->Sum();
}

StageCosts::StageCosts(const Model& model, const Workload& workload, const Cluster& cluster,
                       const DeviceParameters& device, const FrameworkParameters& framework)
    : model_(model),
      workload_(workload),
      cluster_(cluster),
      framework_(framework),
      embedding_(EmbeddingBlock(model, workload.sequence)),
      head_(HeadBlock(model, workload.sequence)),
      mtp_(MtpBlock(model, workload.sequence)) {
  for (int i = 0; i < kPrecisionKinds; ++i) {
    rates_.emplace_back(cluster.device, device, static_cast<Precision>(i));
  }
  for (const Stack& stack : model.stacks) {
    for (const Layer& layer : stack.kinds) {
      kinds_.push_back({&layer, LayerBlock(model, stack, layer, workload.sequence)});
    }
  }
}

const LayerPartition& StageCosts::Partition(const Configuration& c) {
  const std::tuple key(c.pp, c.ends_as_layers);
  const auto found = partitions_.find(key);
  if (found != partitions_.end()) return found->second;
  return partitions_.try_emplace(key, PartitionLayers(model_, c.pp, c.ends_as_layers))
      .first->second;
}

StageCosts::Routes StageCosts::RoutesOf(const GroupLayout& layout, GroupTimes& times) {
  return {&times.Of(layout.tensor),
          &times.Of(layout.rows),
          &times.Of(layout.context),
          {{&times.Of(layout.experts), layout.expert_nodes}},
          &times.Of(layout.expert_tensor)};
}

StageCosts::Routes StageCosts::FastestRoutes(const Configuration& c, GroupTimes& times) const {
  Configuration in_order = c;
  in_order.inside = in_order.unit = {};
  const GroupLayout layout(in_order, cluster_.devices_per_node);
  Routes routes = {&times.Of(layout.tensor.Anywhere()),
                   &times.Of(layout.rows.Anywhere()),
                   &times.Of(layout.context.Anywhere()),
                   {{&times.Of(layout.experts), layout.expert_nodes}},
                   &times.Of(layout.expert_tensor.Anywhere())};
  if (c.ep == 1) return routes;
  for (const int64_t inside : InsideCounts(c.ep, cluster_)) {
    // Where ep is inside a node, etp may still not be.
    const int64_t nodes = c.ep / inside;
    const GroupTimes::Group* const group = &times.Of({c.ep, c.etp, inside, 0});
    routes.experts.push_back({group, static_cast<double>(nodes)});
    if (nodes == 1 && c.etp > 1) routes.experts.push_back({group, 2});
  }
  return routes;
}

StageCosts::Phases StageCosts::TensorSeconds(const BlockCost& b, const Configuration& c,
                                             const Routes& routes) const {
  Phases seconds;
  if (b.tensor_passes > 0) {
    // Without sequence parallelism two passes are one all-reduce.
    const int64_t bytes = WholeBytes(b.tensor_bytes);
    const double twice = c.sequence_parallel ? 2 * routes.tensor->GatherSeconds(bytes)
                                             : routes.tensor->all_reduce.Seconds(bytes);
    // Buffers that kernels write into each other's memory overlap inside a node, or what is one
    // (NVL72); between nodes all is exposed.
    const double exposed = routes.tensor->crosses_nodes ? std::max(1.0, framework_.tensor_exposed)
                                                        : framework_.tensor_exposed;
    const int pairs = b.tensor_passes / 2;
    seconds.forward = exposed * pairs * twice;
    seconds.backward = seconds.forward;
  }
  if (c.tp2 == 1) return seconds;
  // The first panel is waited for, the others arrive beside the matmul of the one before. Panels
  // come from each GPU of a row or column in turn, so that all of them are an all-gather's bytes;
  // backward, the gradients of both operands each need the panels of one and are summed like the
  // other.
  const double panels = static_cast<double>(c.panels), slow = framework_.overlap_slowdown;
  const auto exposed = [&](double panel, double matmul) {
    return panel + (panels - 1) * SecondsAdded(panel, matmul / panels, slow);
  };
  for (const GridMatmul& matmul : b.grid) {
    const double panel =
        routes.tensor->all_gather.Seconds(WholeBytes(matmul.input_bytes / panels)) +
        routes.rows->all_gather.Seconds(WholeBytes(matmul.weight_bytes / panels));
    seconds.forward += exposed(panel, matmul.forward);
    seconds.backward += exposed(2 * panel, matmul.backward);
  }
  const double norms = 2 * routes.tensor->all_reduce.Seconds(WholeBytes(b.norm_bytes));
  const double keys = routes.rows->all_gather.Seconds(WholeBytes(b.row_context_bytes));
  seconds.forward += norms + keys;
  seconds.backward += norms + 2 * keys;
  return seconds;
}

StageCosts::Phases StageCosts::ContextSeconds(const BlockCost& b, const Configuration& c,
                                              const Routes& routes) const {
  if (b.context_bytes == 0) return {};
  const double members = static_cast<double>(c.cp);
  switch (c.context) {
    case ContextKind::kRing: {
      // cp turns of attention on a chunk, beside all but the last of which the next chunk's keys
      // and values arrive; backward their gradients travel along.
      const auto ring = [&](double bytes, double attention) {
        const double send = routes.context->permute.Seconds(WholeBytes(bytes));
        return (members - 1) * SecondsAdded(send, attention / members, framework_.overlap_slowdown);
      };
      return {ring(b.context_bytes, b.attention_forward),
              ring(2 * b.context_bytes, b.attention_backward)};
    }
    case ContextKind::kAllGather: {
      // Backward all-gathers again and scatters the gradients. Nothing overlaps.
      const double once = routes.context->all_gather.Seconds(WholeBytes(members * b.context_bytes));
      return {once, 2 * once};
    }
    case ContextKind::kUlysses:
      break;
  }
  // Queries, keys and values on their way in, what attention gives on its way out.
  const double both =
      routes.context->all_to_all.Seconds(WholeBytes(b.context_bytes + b.context_out_bytes));
  return {both, both};
}

BlockGroupCosts StageCosts::Exposed(const BlockCost& b, const Configuration& c,
                                    const Routes& routes) const {
  const Phases tensor = TensorSeconds(b, c, routes), context = ContextSeconds(b, c, routes);
  double expert = 0;
  if (b.expert_bytes > 0 && c.ep > 1) {
    expert = std::numeric_limits<double>::infinity();
    for (const auto& [group, nodes] : routes.experts) {
      // A token goes to every node once, however many of its experts are there (DeepEP).
      const double reached = nodes * (1 - std::pow(1 - 1 / nodes, b.experts_per_token));
      const double bytes = b.expert_bytes * (nodes > 1 ? reached / b.experts_per_token : 1);
      expert = std::min(
          expert, framework_.expert_exposed * 2 * group->all_to_all.Seconds(WholeBytes(bytes)));
    }
  }
  // Forward the tokens are gathered and the results scattered, backward the other way round.
  if (b.expert_tensor_bytes > 0) {
    expert += framework_.expert_exposed * 2 *
              routes.expert_tensor->all_gather.Seconds(WholeBytes(b.expert_tensor_bytes));
  }
  BlockGroupCosts costs;
  for (int i = 0; i < kRecomputeKinds; ++i) {
    const Recomputation& again = b.again[i];
    const bool whole = again.seconds > 0 && static_cast<Recompute>(i) == Recompute::kFull;
    const double passes = whole ? 3 : 2;
    costs[i] = {.forward = b.forward,
                .backward = b.backward + again.seconds,
                .tensor = (passes - 1) * tensor.forward + tensor.backward,
                .context = (passes - 1) * context.forward + context.backward,
                .expert = passes * expert,
                .parameters = b.parameters,
                .expert_parameters = b.expert_parameters,
                .largest_block = b.parameters + b.expert_parameters,
                .saved = again.saved_bytes,
                .transient = again.transient_bytes,
                .largest_saved = 0,
                .logits = b.logits,
                .again_flops = again.flops,
                .layers = 0};
  }
  return costs;
}

StageCosts::Blocks StageCosts::BlocksOf(const Configuration& c) {
  const LayerPartition& partition = Partition(c);
  const BlockSettings settings{Rates(c.precision), framework_, c, workload_.sequence};
  Blocks blocks;
  for (const GroupContent& content : partition.contents) {
    blocks.ranges.push_back({content.first, content.groups});
    blocks.layers.push_back(content.all_layers());
  }
  const auto add = [&](const BlockCost& block, const auto& blocks_in) {
    Blocks::Use& use = blocks.uses.emplace_back();
    use.block = block;
    for (const GroupContent& content : partition.contents) use.times.push_back(blocks_in(content));
  };
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    add(LayerCost(model_, *kinds_[kind].layer, kinds_[kind].block, settings),
        [&](const GroupContent& content) { return content.layers[kind]; });
  }
  const BlockCost embedding = EmbeddingCost(model_, embedding_, settings);
  add(embedding, [](const GroupContent& content) { return int64_t{content.embedding}; });
  add(HeadCost(model_, head_, settings),
      [](const GroupContent& content) { return int64_t{content.head}; });
  if (model_.mtp.modules > 0) {
    add(MtpCost(model_, mtp_, head_, settings),
        [&](const GroupContent& content) { return content.head ? model_.mtp.modules : 0; });
  }
  // A tied head's weights lie beside the head as well, and modules look up tokens there.
  const bool copied = model_.head.tied || model_.mtp.modules > 0;
  if (copied && c.pp > 1) blocks.copied_parameters = embedding.parameters;
  return blocks;
}

std::vector<PipelineCost> StageCosts::Costs(const Blocks& blocks, const Configuration& c,
                                            const GroupLayout& layout, GroupTimes& times) const {
  return CostsOn(blocks, c, RoutesOf(layout, times));
}

std::vector<PipelineCost> StageCosts::LeastCosts(const Blocks& blocks, const Configuration& c,
                                                 GroupTimes& times) const {
  return CostsOn(blocks, c, FastestRoutes(c, times));
}

std::vector<PipelineCost> StageCosts::CostsOn(const Blocks& blocks, const Configuration& c,
                                              const Routes& routes) const {
  std::vector<PipelineCost> costs(kRecomputeKinds);
  for (PipelineCost& cost : costs) {
    cost.groups.resize(blocks.ranges.size());
    cost.ranges = blocks.ranges;
    for (size_t i = 0; i < cost.groups.size(); ++i) cost.groups[i].layers = blocks.layers[i];
  }
  for (const auto& [block, times] : blocks.uses) {
    const BlockGroupCosts exposed = Exposed(block, c, routes);
    for (int i = 0; i < kRecomputeKinds; ++i) {
      for (size_t content = 0; content < times.size(); ++content) {
        if (times[content] == 0) continue;
        AddBlocks(exposed[i], times[content], &costs[i].groups[content]);
        const auto all = static_cast<double>(times[content] * blocks.ranges[content].groups);
        costs[i].flops += all * block.flops;
      }
    }
  }
  for (PipelineCost& cost : costs) {
    cost.groups.back().parameters += blocks.copied_parameters;
    cost.Sum();
  }
  return costs;
}

AllBlockCosts StageCosts::AllBlocks(const Configuration& c, GroupTimes& times) const {
  const BlockSettings settings{Rates(c.precision), framework_, c, workload_.sequence};
  const Routes routes = RoutesOf(GroupLayout(c, cluster_.devices_per_node), times);
  const auto exposed = [&](const BlockCost& block) { return Exposed(block, c, routes); };
  AllBlockCosts costs;
  for (const Kind& kind : kinds_)
    costs.layers.push_back(exposed(LayerCost(model_, *kind.layer, kind.block, settings)));
  costs.embedding = exposed(EmbeddingCost(model_, embedding_, settings));
  costs.head = exposed(HeadCost(model_, head_, settings));
  if (model_.mtp.modules > 0) costs.mtp = exposed(MtpCost(model_, mtp_, head_, settings));
  return costs;
}

}  // namespace meshwright::transformer
