#include "meshwright/profile/network_segments.h"

#include <map>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

int32_t OutermostLoop(const Graph& graph, OpId op) {
  int32_t loop = graph[op].loop;
  while (loop >= 0 && graph.loops[loop].parent >= 0) loop = graph.loops[loop].parent;
  return loop;
}

// The layers that a block is in, all of a loop's: [first, last).
std::pair<int32_t, int32_t> LayersOf(const Graph& graph, const Layers& layers,
                                     const ParallelBlock& block) {
  const OpId lead = block.contractions[0];
  const int32_t loop = OutermostLoop(graph, lead);
  for (const LayerLoop& known : layers.loops) {
    if (loop >= 0 && known.loop == loop) return {known.first, known.first + known.count};
  }
  const int32_t layer = layers.layer[lead.index()];
  return layer < 0 ? std::pair(0, 0) : std::pair(layer, layer + 1);
}

void FindDistinct(const std::vector<std::vector<std::string>>& strategies, NetworkSegments* out) {
  std::map<std::pair<int32_t, std::vector<std::vector<std::string>>>, int32_t> known;
  for (int32_t l = 0; l < out->layers.count; ++l) {
    std::vector<std::vector<std::string>> of_blocks;
    for (int32_t b : out->blocks[l]) of_blocks.push_back(strategies[b]);
    const auto [entry, is_new] = known.try_emplace({out->layers.kind[l], std::move(of_blocks)},
                                                   static_cast<int32_t>(known.size()));
    if (is_new) out->occurrences.emplace_back();
    out->occurrences[entry->second].push_back(l);
    out->sequence.push_back(entry->second);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<NetworkSegments>> CutNetwork(
    const Graph& graph, const BlockAnalysis& analysis,
    const std::vector<std::vector<std::string>>& strategies) {
  auto out = std::make_unique<NetworkSegments>();
  const std::vector<int32_t> tied = TiedParameters(graph, /*by_position=*/true);
  absl::StatusOr<BatchSplit> batch = FindBatch(graph, tied, {});
  if (!batch.ok()) {
    // Behind it stands how to name the data, which is for pipelines.
    const absl::string_view why = batch.status().message();
    return absl::Status(batch.status().code(), StrCat("no segments without a batch: ",
                                                      FromAbsl(why.substr(0, why.find("; ")))));
  }
  out->batch = *std::move(batch);
  MW_ASSIGN_OR_RETURN(out->layers,
                      FindLayers(graph, AnalyzeFusion(graph), out->batch, tied, LayerOptions()));
  MW_ASSIGN_OR_RETURN(out->slicer, Slicer::Make(graph, out->batch, out->layers));
  out->blocks.resize(out->layers.count);
  for (size_t b = 0; b < analysis.blocks.size(); ++b) {
    const auto [first, last] = LayersOf(graph, out->layers, analysis.blocks[b]);
    for (int32_t l = first; l < last; ++l) out->blocks[l].push_back(static_cast<int32_t>(b));
  }
  FindDistinct(strategies, out.get());
  return out;
}

}  // namespace meshwright
