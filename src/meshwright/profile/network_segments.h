#ifndef MESHWRIGHT_PROFILE_NETWORK_SEGMENTS_H_
#define MESHWRIGHT_PROFILE_NETWORK_SEGMENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/blocks/blocks.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/slice/slice.h"

namespace meshwright {

// A network as a sequence of segments: its layers, as FindLayers cuts them at the network's own
// repetition, in all phases. (The cover of blocks/segments.h has fewer distinct segments where a
// network is short, but long ones, with far more combinations of strategies to measure.)
struct NetworkSegments {
  BatchSplit batch;
  Layers layers;
  std::unique_ptr<const Slicer> slicer;           // points to both
  std::vector<std::vector<int32_t>> blocks;       // by layer: of BlockAnalysis, in order
  std::vector<int32_t> sequence;                  // by layer: which distinct segment
  std::vector<std::vector<int32_t>> occurrences;  // by distinct segment: layers, ascending
};

// `strategies`: by block, the texts of its strategies. Segments are equal if they are alike
// operator by operator (Layers::kind), and their blocks have equal strategies. Errors: FindBatch,
// FindLayers, Slicer::Make.
absl::StatusOr<std::unique_ptr<NetworkSegments>> CutNetwork(
    const Graph& graph, const BlockAnalysis& analysis,
    const std::vector<std::vector<std::string>>& strategies);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_NETWORK_SEGMENTS_H_
