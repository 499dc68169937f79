#include "meshwright/transformer/stage_costs.h"

#include <algorithm>
#include <cmath>

#include "meshwright/cluster/mesh.h"

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
  sum->transient = std::max(sum->transient, block.transient);
  sum->logits += n * block.logits;
}

int64_t WholeBytes(double bytes) {
  return static_cast<int64_t>(std::llround(std::min(bytes, 9e18)));
}

const GroupTimes::Group& GroupTimes::Of(int64_t members, int64_t stride) {
  const auto found = groups_.find(std::tuple(members, stride));
  if (found != groups_.end()) return found->second;
  const Mesh mesh = MakeMesh({cluster_.devices() / (members * stride), members, stride}, cluster_);
  const AxisList axis{1};
  return groups_
      .try_emplace(std::tuple(members, stride),
                   Group{CollectiveLines(mesh, CollectiveKind::kAllGather, axis),
                         CollectiveLines(mesh, CollectiveKind::kAllToAll, axis),
                         CollectiveLines(mesh, CollectiveKind::kCollectivePermute, axis)})
      .first->second;
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

const StageDeal& StageCosts::Deal(const Configuration& c) {
  const std::tuple key(c.pp, c.ends_as_layers);
  const auto found = deals_.find(key);
  if (found != deals_.end()) return found->second;
  return deals_.try_emplace(key, DealLayers(model_, c.pp, c.ends_as_layers)).first->second;
}

std::array<GroupCost, kRecomputeKinds> StageCosts::Exposed(const BlockCost& b,
                                                           const Configuration& c,
                                                           GroupTimes& times) const {
  double tensor = 0;  // seconds of each collective over tp
  if (b.tensor_passes > 0) {
    tensor = framework_.tensor_exposed * b.tensor_passes *
             times.Of(c.tp, 1).all_gather.Seconds(WholeBytes(b.tensor_bytes));
  }
  double context_forward = 0, context_backward = 0;
  if (b.context_bytes > 0) {
    // A ring: cp turns of attention on a chunk, beside all but the last of which the next chunk's
    // keys and values arrive; backward their gradients travel along.
    const auto ring = [&](double bytes, double attention) {
      const double send = times.Of(c.cp, c.tp).permute.Seconds(WholeBytes(bytes));
      const double turns = static_cast<double>(c.cp);
      return (turns - 1) * SecondsAdded(send, attention / turns, framework_.overlap_slowdown);
    };
    context_forward = ring(b.context_bytes, b.attention_forward);
    context_backward = ring(2 * b.context_bytes, b.attention_backward);
  }
  double expert = 0;
  if (b.expert_bytes > 0 && c.ep > 1) {
    // A token goes to every node once, however many of its experts are there (DeepEP).
    const double nodes = std::max(
        1.0, static_cast<double>(c.ep * c.etp) / static_cast<double>(cluster_.devices_per_node));
    const double reached = nodes * (1 - std::pow(1 - 1 / nodes, b.experts_per_token));
    const double bytes = b.expert_bytes * (nodes > 1 ? reached / b.experts_per_token : 1);
    expert =
        framework_.expert_exposed * 2 * times.Of(c.ep, c.etp).all_to_all.Seconds(WholeBytes(bytes));
  }
  std::array<GroupCost, kRecomputeKinds> costs;
  for (int i = 0; i < kRecomputeKinds; ++i) {
    const Recomputation& again = b.again[i];
    const bool whole = again.seconds > 0 && static_cast<Recompute>(i) == Recompute::kFull;
    const double passes = whole ? 3 : 2;
    const double context = (passes - 1) * context_forward + context_backward;
    costs[i] = {.forward = b.forward,
                .backward = b.backward + again.seconds,
                .tensor = passes * tensor,
                .context = context,
                .expert = passes * expert,
                .parameters = b.parameters,
                .expert_parameters = b.expert_parameters,
                .largest_block = b.parameters + b.expert_parameters,
                .saved = again.saved_bytes,
                .transient = b.transient_bytes,
                .logits = b.logits_bytes};
  }
  return costs;
}

std::vector<PipelineCost> StageCosts::Costs(const Configuration& c, GroupTimes& times) {
  const StageDeal& deal = Deal(c);
  const BlockSettings settings{Rates(c.precision), framework_, c, workload_.sequence};
  std::vector<PipelineCost> costs(kRecomputeKinds);
  for (PipelineCost& cost : costs) cost.groups.resize(deal.contents.size());
  const auto add = [&](const BlockCost& block, const auto& blocks_in) {
    const std::array<GroupCost, kRecomputeKinds> exposed = Exposed(block, c, times);
    for (int i = 0; i < kRecomputeKinds; ++i) {
      for (size_t content = 0; content < deal.contents.size(); ++content) {
        const int64_t blocks = blocks_in(deal.contents[content]);
        if (blocks == 0) continue;
        AddBlocks(exposed[i], blocks, &costs[i].groups[content]);
        const double all = static_cast<double>(blocks * deal.contents[content].groups);
        costs[i].flops += all * block.flops;
        costs[i].again_flops += all * block.again[i].flops;
      }
    }
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
  for (PipelineCost& cost : costs) {
    // A tied head's weights lie beside the head as well, and modules look up tokens there.
    const bool copied = model_.head.tied || model_.mtp.modules > 0;
    if (copied && c.pp > 1) cost.groups.back().parameters += embedding.parameters;
    for (size_t i = 0; i < cost.groups.size(); ++i) {
      const double total = cost.groups[i].total();
      if (total > cost.groups[cost.busiest].total()) cost.busiest = i;
      cost.mean += total * static_cast<double>(deal.contents[i].groups) / static_cast<double>(c.pp);
    }
  }
  return costs;
}

AllBlockCosts StageCosts::Blocks(const Configuration& c, GroupTimes& times) const {
  const BlockSettings settings{Rates(c.precision), framework_, c, workload_.sequence};
  AllBlockCosts costs;
  for (const Kind& kind : kinds_) {
    costs.layers.push_back(Exposed(LayerCost(model_, *kind.layer, kind.block, settings), c, times));
  }
  costs.embedding = Exposed(EmbeddingCost(model_, embedding_, settings), c, times);
  costs.head = Exposed(HeadCost(model_, head_, settings), c, times);
  if (model_.mtp.modules > 0) {
    costs.mtp = Exposed(MtpCost(model_, mtp_, head_, settings), c, times);
  }
  return costs;
}

}  // namespace meshwright::transformer
