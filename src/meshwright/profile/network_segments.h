#ifndef MESHWRIGHT_PROFILE_NETWORK_SEGMENTS_H_
#define MESHWRIGHT_PROFILE_NETWORK_SEGMENTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/blocks/blocks.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/batch.h"
#include "meshwright/inter/layers.h"
#include "meshwright/inter/slice.h"

namespace meshwright {

// A network cut at the borders of its segments (blocks/segments.h), each a layer in terms of
// inter/layers.h, so that the rest of the program is divided as for pipelines: every operator of
// the backward and update phases goes to the segment that it belongs to.
struct NetworkSegments {
  BatchSplit batch;
  Layers layers;
  std::unique_ptr<const Slicer> slicer;           // points to both
  std::vector<std::vector<int32_t>> blocks;       // by layer: of BlockAnalysis, in order
  std::vector<int32_t> sequence;                  // by layer: which distinct segment
  std::vector<std::vector<int32_t>> occurrences;  // by distinct segment: layers, ascending
};

// Outside loops over layers the sequence of `kinds` (FindBlockKinds) is covered with the fewest
// distinct segments; each iteration of such a loop is a segment, and so is what comes before,
// between and behind them. Segments are equal if their blocks' kinds are, and all their operators
// with them (Layers::kind). Errors: FindBatch, FindLayers, Slicer::Make.
absl::StatusOr<std::unique_ptr<NetworkSegments>> CutNetwork(const Graph& graph,
                                                            const BlockAnalysis& analysis,
                                                            const std::vector<int32_t>& kinds);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_NETWORK_SEGMENTS_H_
