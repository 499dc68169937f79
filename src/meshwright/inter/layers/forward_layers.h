#ifndef MESHWRIGHT_INTER_LAYERS_FORWARD_LAYERS_H_
#define MESHWRIGHT_INTER_LAYERS_FORWARD_LAYERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/inter/layers/layer_loops.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/layers/unit_graph.h"

namespace meshwright {

struct ForwardLayers {
  int32_t count = 0;
  // By unit: of the forward phase its layer, of a loop over layers the first; -1: of other phases,
  // what depends on no data, parameters and outputs.
  std::vector<int32_t> layer;
};

// Cuts the units of the forward phase, in their order, into layers. `loops` are layers already;
// what stands between them is cut at its own repetition (repetition.h) or by clustering
// (layer_clustering.h), where the fewest bytes cross. Parts without heavy ops and weights worth
// mentioning join their neighbours. What only prepares data (masks from labels) goes where it is
// first used. Errors: see FindLayers.
absl::StatusOr<ForwardLayers> CutForwardPhase(const Graph& graph, const FusionInfo& fusion,
                                              const UnitGraph& units,
                                              const std::vector<Phase>& phase,
                                              const std::vector<LoopOverLayers>& loops,
                                              const LayerOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_FORWARD_LAYERS_H_
