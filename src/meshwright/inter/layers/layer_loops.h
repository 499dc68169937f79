#ifndef MESHWRIGHT_INTER_LAYERS_LAYER_LOOPS_H_
#define MESHWRIGHT_INTER_LAYERS_LAYER_LOOPS_H_

#include <cstdint>
#include <vector>

#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/layers/unit_graph.h"

namespace meshwright {

// A loop over layers of the forward phase, and the one that works backwards through them.
struct LoopOverLayers {
  int32_t unit = -1;      // in UnitGraph::units
  int32_t backward = -1;  // likewise; -1: the program has no backward phase
  int32_t count = 0;      // iterations, each a layer
  bool falling = false;   // takes the last entry first
};

// Outermost loops of a known number of iterations that do heavy work and take one entry of stacked
// weights in each; the backward loop reads what the forward loop stacked, in the opposite
// order. In order.
std::vector<LoopOverLayers> FindLoopsOverLayers(const Graph& graph, const BatchSplit& batch,
                                                const UnitGraph& units,
                                                const std::vector<Phase>& phase);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_LAYER_LOOPS_H_
