#include "meshwright/profile/network_segments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/blocks/segments.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

class NetworkCutter {
 public:
  NetworkCutter(const Graph& graph, const BlockAnalysis& analysis,
                const std::vector<int32_t>& kinds)
      : graph_(graph),
        analysis_(analysis),
        kinds_(kinds),
        fusion_(AnalyzeFusion(graph)),
        tied_(TiedParameters(graph, /*by_position=*/true)),
        out_(std::make_unique<NetworkSegments>()) {}

  absl::StatusOr<std::unique_ptr<NetworkSegments>> Run() {
    MW_ASSIGN_OR_RETURN(out_->batch, FindBatch(graph_, tied_, {}));
    // Which loops run over layers does not depend on where the rest is cut.
    MW_ASSIGN_OR_RETURN(out_->layers, FindLayers(graph_, fusion_, out_->batch, tied_, {}));
    FindBegins();
    if (!options_.begins.empty()) {
      MW_ASSIGN_OR_RETURN(out_->layers, FindLayers(graph_, fusion_, out_->batch, tied_, options_));
    }
    MW_ASSIGN_OR_RETURN(out_->slicer, Slicer::Make(graph_, out_->batch, out_->layers));
    ListBlocks();
    FindDistinct();
    return std::move(out_);
  }

 private:
  OpId Lead(size_t block) const { return analysis_.blocks[block].contractions[0]; }

  int32_t OutermostLoop(OpId op) const {
    int32_t loop = graph_[op].loop;
    while (loop >= 0 && graph_.loops[loop].parent >= 0) loop = graph_.loops[loop].parent;
    return loop;
  }

  // The loop over layers that a block is in; nullptr: none.
  const LayerLoop* LoopOf(size_t block) const {
    const int32_t loop = OutermostLoop(Lead(block));
    for (const LayerLoop& known : out_->layers.loops) {
      if (loop >= 0 && known.loop == loop) return &known;
    }
    return nullptr;
  }

  void FindBegins() {
    for (size_t begin = 0, end = 0; begin < kinds_.size(); begin = end) {
      end = begin + 1;
      if (LoopOf(begin) != nullptr) continue;
      while (end < kinds_.size() && LoopOf(end) == nullptr) ++end;
      Cover(begin, end);
    }
  }

  // Blocks [begin, end), which stand in no loop over layers.
  void Cover(size_t begin, size_t end) {
    std::map<int32_t, int32_t> numbers;  // of the kinds here
    std::vector<int32_t> sequence;
    std::vector<double> strategies;
    for (size_t b = begin; b < end; ++b) {
      const auto [number, is_new] =
          numbers.try_emplace(kinds_[b], static_cast<int32_t>(strategies.size()));
      if (is_new) strategies.push_back(static_cast<double>(analysis_.blocks[b].strategies.size()));
      sequence.push_back(number->second);
    }
    const SegmentCover cover = CoverWithSegments(sequence, strategies, SegmentOptions());
    for (int32_t segment : cover.sequence) {
      options_.begins.push_back(Lead(begin));
      begin += cover.distinct[segment].size();
    }
  }

  void ListBlocks() {
    const Layers& layers = out_->layers;
    out_->blocks.resize(layers.count);
    for (size_t b = 0; b < kinds_.size(); ++b) {
      if (const LayerLoop* loop = LoopOf(b)) {
        for (int32_t l = loop->first; l < loop->first + loop->count; ++l)
          out_->blocks[l].push_back(static_cast<int32_t>(b));
      } else if (const int32_t layer = layers.layer[Lead(b).index()]; layer >= 0) {
        out_->blocks[layer].push_back(static_cast<int32_t>(b));
      }
    }
  }

  void FindDistinct() {
    std::map<std::pair<int32_t, std::vector<int32_t>>, int32_t> known;
    for (int32_t l = 0; l < out_->layers.count; ++l) {
      std::vector<int32_t> kinds;
      for (int32_t b : out_->blocks[l]) kinds.push_back(kinds_[b]);
      const auto [entry, is_new] =
          known.try_emplace({out_->layers.kind[l], kinds}, static_cast<int32_t>(known.size()));
      if (is_new) out_->occurrences.emplace_back();
      out_->occurrences[entry->second].push_back(l);
      out_->sequence.push_back(entry->second);
    }
  }

  const Graph& graph_;
  const BlockAnalysis& analysis_;
  const std::vector<int32_t>& kinds_;
  const FusionInfo fusion_;
  const std::vector<int32_t> tied_;
  LayerOptions options_;
  std::unique_ptr<NetworkSegments> out_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NetworkSegments>> CutNetwork(const Graph& graph,
                                                            const BlockAnalysis& analysis,
                                                            const std::vector<int32_t>& kinds) {
  return NetworkCutter(graph, analysis, kinds).Run();
}

}  // namespace meshwright
