#ifndef MESHWRIGHT_INTER_LAYERS_FORWARD_SEQUENCE_H_
#define MESHWRIGHT_INTER_LAYERS_FORWARD_SEQUENCE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "meshwright/cost/fusion.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/layers/unit_graph.h"

namespace meshwright {

// The forward phase as a sequence that can be cut at every position: cut p lies before its p-th
// unit. Without what depends on no data, and without what only prepares data (computed from data
// inputs and constants by light ops), which can be anywhere before its use.
struct ForwardSequence {
  std::vector<int32_t> units;          // in order
  std::vector<int32_t> position;       // by unit: in `units`, or -1
  std::vector<bool> prepares;          // by unit: prepares data
  std::vector<double> crossing_bytes;  // by cut, 0 .. units.size()
  std::vector<double> weight_bytes;    // by position: of entry parameters first used there
  std::vector<int32_t> heavy;          // positions of heavy units
};
ForwardSequence MakeForwardSequence(const Graph& graph, const FusionInfo& fusion,
                                    const UnitGraph& units, const std::vector<Phase>& phase);

// The last cut with the fewest bytes behind position `after` up to that before position `before`.
int32_t NarrowestCut(const ForwardSequence& sequence, int32_t after, int32_t before);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_FORWARD_SEQUENCE_H_
