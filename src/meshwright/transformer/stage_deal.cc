#include "meshwright/transformer/stage_deal.h"

#include <algorithm>
#include <utility>

#include "meshwright/transformer/configuration.h"

namespace meshwright::transformer {

StageDeal DealLayers(const Model& model, int64_t groups, bool ends_as_layers) {
  size_t kinds = 0;
  for (const Stack& stack : model.stacks) kinds += stack.kinds.size();
  std::vector<GroupContent> all(groups);
  for (GroupContent& group : all) group.layers.resize(kinds);
  all.front().embedding = true;
  all.back().head = true;
  const int64_t layers = model.layers() + (ends_as_layers ? kEndsAsLayers : 0);
  int64_t layer = ends_as_layers ? 1 : 0;  // behind the embedding
  int32_t first_kind = 0;
  for (const Stack& stack : model.stacks) {
    for (const int32_t kind : stack.layers) {
      ++all[layer * groups / layers].layers[first_kind + kind];
      ++layer;
    }
    first_kind += static_cast<int32_t>(stack.kinds.size());
  }

  StageDeal deal;
  for (int64_t i = 0; i < groups; ++i) {
    auto same = std::find_if(deal.contents.begin(), deal.contents.end(),
                             [&](const GroupContent& one) { return one.Equals(all[i]); });
    if (same == deal.contents.end()) {
      all[i].first = i;
      same = deal.contents.insert(same, std::move(all[i]));
    }
    ++same->groups;
    deal.content_of.push_back(static_cast<int32_t>(same - deal.contents.begin()));
  }
  return deal;
}

}  // namespace meshwright::transformer
