#include "meshwright/hetero/blocks.h"

#include <algorithm>
#include <optional>

namespace meshwright::transformer::hetero {
namespace {

void ScaleSeconds(double scale, GroupCost* cost) {
  for (double* const seconds :
       {&cost->forward, &cost->backward, &cost->tensor, &cost->context, &cost->expert})
    *seconds *= scale;
}

}  // namespace

BlockMaker::BlockMaker(const Problem& problem, const CostParameters& parameters)
    : problem_(problem), parameters_(parameters) {
  for (const Stack& stack : problem.model.stacks) {
    const int32_t first = static_cast<int32_t>(kinds_);
    for (const int32_t kind : stack.layers) layer_kinds_.push_back(first + kind);
    kinds_ += stack.kinds.size();
  }
  last_stack_ = kinds_ - problem.model.stacks.back().kinds.size();
  kinds_before_.assign(kinds_, {0});
  for (const int32_t kind : layer_kinds_) {
    for (std::vector<int64_t>& before : kinds_before_) before.push_back(before.back());
    ++kinds_before_[kind].back();
  }
  copies_ = problem.model.head.tied || problem.model.mtp.modules > 0;
}

GroupCost BlockMaker::Stage(const Blocks& blocks, const StageContent& content,
                            const GroupCost* measured_layers) const {
  const auto [first, count, begins, ends] = content;
  const MultiTokenPrediction& mtp = problem_.model.mtp;
  GroupCost sum;
  if (!blocks.measured.empty()) {
    if (measured_layers != nullptr) {
      sum = *measured_layers;
    } else {
      for (int64_t i = first; i < first + count; ++i) AddBlocks(*blocks.layers[i], 1, &sum);
    }
  } else {
    for (size_t kind = 0; kind < kinds_; ++kind) {
      int64_t times = kinds_before_[kind][first + count] - kinds_before_[kind][first];
      if (ends && kind == last_stack_ + mtp.kind) times += mtp.modules;
      if (times > 0) AddBlocks(blocks.kinds[kind], times, &sum);
    }
  }
  if (begins) AddBlocks(blocks.embedding, 1, &sum);
  if (!ends) return sum;
  AddBlocks(blocks.head, 1, &sum);
  if (blocks.measured.empty()) AddBlocks(blocks.mtp, mtp.modules, &sum);
  if (!begins) sum.parameters += TiedParameters(blocks);
  return sum;
}

StepCoster* BlockMaker::Coster(size_t group, const StageDegrees& degrees) {
  const Cluster& whole = problem_.cluster.groups[group].cluster;
  const int64_t nodes = std::max<int64_t>(1, degrees.devices() / whole.devices_per_node);
  auto& [cluster, coster] = costers_[{group, nodes}];
  if (coster == nullptr) {
    cluster = std::make_unique<Cluster>(whole);
    cluster->nodes = nodes;
    coster = std::make_unique<StepCoster>(problem_.model, problem_.workload, *cluster, parameters_,
                                          problem_.framework);
  }
  return coster.get();
}

Blocks BlockMaker::Make(size_t group, const Family& family, const StageDegrees& degrees) {
  Blocks blocks;
  blocks.coster = Coster(group, degrees);
  blocks.configuration = StageConfiguration(problem_, degrees, family);
  const AllBlockCosts all = blocks.coster->AllBlocks(blocks.configuration);
  const size_t recompute = static_cast<size_t>(family.recompute);
  for (const BlockGroupCosts& kind : all.layers) blocks.kinds.push_back(kind[recompute]);
  blocks.embedding = all.embedding[recompute];
  blocks.embedding_parameters = blocks.embedding.parameters;
  blocks.head = all.head[recompute];
  const MultiTokenPrediction& mtp = problem_.model.mtp;
  if (mtp.modules > 0) blocks.mtp = all.mtp[recompute];
  const MeasuredLayers* const found =
      problem_.profile.has_value() ? &Measured(group, degrees) : nullptr;
  const bool measured = found != nullptr && found->times.has_value();
  // What is measured has no modules, so that they count as memory of the head.
  if (measured && mtp.modules > 0) {
    AddBlocks(blocks.mtp, mtp.modules, &blocks.head);
    AddBlocks(blocks.kinds[last_stack_ + mtp.kind], mtp.modules, &blocks.head);
  }
  for (const int32_t kind : layer_kinds_) blocks.layers.push_back(&blocks.kinds[kind]);
  if (measured) {
    Measure(*found, family, all, &blocks);
  } else if (found != nullptr && found->scale != 1) {
    for (GroupCost& kind : blocks.kinds) ScaleSeconds(found->scale, &kind);
    for (GroupCost* const block : {&blocks.embedding, &blocks.head, &blocks.mtp})
      ScaleSeconds(found->scale, block);
  }
  return blocks;
}

const MeasuredLayers& BlockMaker::Measured(size_t group, const StageDegrees& degrees) {
  const auto [known, is_new] = measured_.try_emplace({group, degrees});
  if (is_new) known->second = FindMeasured(problem_, parameters_, group, degrees);
  return known->second;
}

void BlockMaker::Measure(const MeasuredLayers& found, const Family& family,
                         const AllBlockCosts& all, Blocks* blocks) const {
  const std::vector<LayerTime>& measured = *found.times;
  // Recomputation: a forward pass, or as much as the model says.
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
    LayerTime seconds = measured[i + (i < encoder ? 1 : 2)];
    if (two && i == encoder) {
      seconds.forward += measured[i + 1].forward;
      seconds.backward += measured[i + 1].backward;
    }
    GroupCost& cost = blocks->measured.emplace_back(*blocks->layers[i]);
    replace(seconds, all.layers[layer_kinds_[i]][none].backward, true, &cost);
  }
  for (size_t i = 0; i < layer_kinds_.size(); ++i) blocks->layers[i] = &blocks->measured[i];
  replace(measured.front(), blocks->embedding.backward, false, &blocks->embedding);
  replace(two ? LayerTime{} : measured.back(), blocks->head.backward, false, &blocks->head);
}

}  // namespace meshwright::transformer::hetero
