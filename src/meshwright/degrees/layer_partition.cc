#include "meshwright/degrees/layer_partition.h"

#include <algorithm>
#include <utility>

#include "meshwright/degrees/configuration.h"

namespace meshwright::transformer {
namespace {

struct EndLayers {
  int64_t before, behind;
};

// The layers that the ends count as. A module of multi-token prediction is a layer and a head, and
// with one the head itself counts, as in Megatron-Bridge's layouts of DeepSeek V3 (a head is a
// layer, 61 layers are partitioned as 64), but no more than a group's share, so that no group is
// empty.
EndLayers LayersOfEnds(const Model& model, int64_t groups, bool ends_as_layers) {
  const int64_t modules = model.mtp.modules;
  const int64_t before = ends_as_layers ? 1 : 0;
  const int64_t behind = 2 * modules + (ends_as_layers || modules > 0 ? 1 : 0);
  return {before, std::min(behind, std::max<int64_t>(1, model.layers() / groups))};
}

}  // namespace

bool LayerPartition::Equals(const LayerPartition& other) const {
  return content_of == other.content_of &&
         std::equal(contents.begin(), contents.end(), other.contents.begin(), other.contents.end(),
                    [](const GroupContent& a, const GroupContent& b) { return a.Equals(b); });
}

LayerPartition PartitionLayers(const Model& model, int64_t groups, bool ends_as_layers) {
  size_t kinds = 0;
  for (const Stack& stack : model.stacks) kinds += stack.kinds.size();
  std::vector<GroupContent> all(groups);
  for (GroupContent& group : all) group.layers.resize(kinds);
  all.front().embedding = true;
  all.back().head = true;
  const auto [before, behind] = LayersOfEnds(model, groups, ends_as_layers);
  const int64_t layers = before + model.layers() + behind;
  int64_t layer = before;
  int32_t first_kind = 0;
  for (const Stack& stack : model.stacks) {
    for (const int32_t kind : stack.layers) {
      ++all[layer * groups / layers].layers[first_kind + kind];
      ++layer;
    }
    first_kind += static_cast<int32_t>(stack.kinds.size());
  }
  const size_t last_stack = kinds - model.stacks.back().kinds.size();
  all.back().layers[last_stack + model.mtp.kind] += model.mtp.modules;

  LayerPartition partition;
  for (int64_t i = 0; i < groups; ++i) {
    auto same = std::find_if(partition.contents.begin(), partition.contents.end(),
                             [&](const GroupContent& one) { return one.Equals(all[i]); });
    if (same == partition.contents.end()) {
      all[i].first = i;
      same = partition.contents.insert(same, std::move(all[i]));
    }
    ++same->groups;
    partition.content_of.push_back(static_cast<int32_t>(same - partition.contents.begin()));
  }
  return partition;
}

}  // namespace meshwright::transformer
