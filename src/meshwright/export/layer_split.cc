#include "meshwright/export/layer_split.h"

#include <algorithm>
#include <numeric>

#include "meshwright/degrees/layer_partition.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::GroupContent;
using transformer::Model;

std::vector<int64_t> Partitioned(const Model& model, int64_t stages) {
  const transformer::LayerPartition partition =
      PartitionLayers(model, stages, /*ends_as_layers=*/false);
  std::vector<int64_t> layers;
  for (const int32_t content : partition.content_of) {
    const GroupContent& group = partition.contents[content];
    layers.push_back(std::accumulate(group.layers.begin(), group.layers.end(), int64_t{0}));
  }
  layers.back() -= model.mtp.modules;
  return layers;
}

}  // namespace

LayerSplit::Kind KindOfSplit(const Model& model, const Configuration& c) {
  const int64_t stages = c.pp * c.virtual_stages, layers = model.layers();
  const bool plain = model.mtp.modules == 0;
  if (stages == 1 || (plain && layers % stages == 0)) return LayerSplit::Kind::kEven;
  if (plain && c.virtual_stages > 1 && (layers + 1) % stages == 0) {
    return LayerSplit::Kind::kHeadCounted;
  }
  if (plain && c.virtual_stages > 1 && (layers + 2) % stages == 0) {
    return LayerSplit::Kind::kEndsCounted;
  }
  return stages > layers ? LayerSplit::Kind::kImpossible : LayerSplit::Kind::kListed;
}

LayerSplit SplitLayers(const Model& model, const Configuration& c) {
  LayerSplit split;
  split.kind = KindOfSplit(model, c);
  const int64_t stages = c.pp * c.virtual_stages, layers = model.layers();
  switch (split.kind) {
    case LayerSplit::Kind::kEven:
      split.layers.assign(stages, layers / stages);
      break;
    case LayerSplit::Kind::kHeadCounted:
      split.layers.assign(stages, (layers + 1) / stages);
      --split.layers.back();
      break;
    case LayerSplit::Kind::kEndsCounted:
      split.layers.assign(stages, (layers + 2) / stages);
      --split.layers.front();
      --split.layers.back();
      break;
    case LayerSplit::Kind::kListed:
      split.layers = Partitioned(model, stages);
      break;
    case LayerSplit::Kind::kImpossible:
      break;
  }
  return split;
}

LayerSplit SplitLayers(const ModelLaunch& launch) {
  if (!launch.over_groups.has_value()) return SplitLayers(launch.model, launch.configuration);
  LayerSplit split;
  for (const StagesOverGroups::Stage& stage : launch.over_groups->stages) {
    split.layers.push_back(stage.layers);
  }
  const bool even = std::all_of(split.layers.begin(), split.layers.end(),
                                [&](int64_t layers) { return layers == split.layers[0]; });
  const bool plain = launch.model.mtp.modules == 0 || split.layers.size() == 1;
  split.kind = even && plain ? LayerSplit::Kind::kEven : LayerSplit::Kind::kListed;
  return split;
}

}  // namespace meshwright
