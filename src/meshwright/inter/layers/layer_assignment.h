#ifndef MESHWRIGHT_INTER_LAYERS_LAYER_ASSIGNMENT_H_
#define MESHWRIGHT_INTER_LAYERS_LAYER_ASSIGNMENT_H_

#include <cstdint>
#include <vector>

#include "meshwright/inter/layers/layer_loops.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/layers/unit_graph.h"

namespace meshwright {

// Layers of units. A loop over layers has the layer of its first iteration in the forward phase's
// order.
struct UnitLayers {
  int32_t count = 1;
  std::vector<int32_t> layer;      // by unit; -1: of every layer that needs it, or stacked
  std::vector<int32_t> loop_over;  // by unit: entry of the loops over layers it is, or -1
  // By ValueId: the loop over layers, as above, for whose layers it has entries, in order, in its
  // first dimension; else -1.
  std::vector<int32_t> stack_of;
  // By unit: the same of all that it makes, each layer's by itself. Such units have no layer.
  std::vector<int32_t> stacked;
  // By unit: made once a step from sums of several layers, for any layer.
  std::vector<bool> shared;
};

// Fills stack_of and stacked: what the loops leave, and what is computed from that later on.
void FindStacks(const Graph& graph, const UnitGraph& units,
                const std::vector<LoopOverLayers>& loops, UnitLayers* layers);

// Gives the units of the backward phase layers, those of the forward phase having theirs: the layer
// whose values or weights a unit uses, so that values go from higher to lower layers and what the
// forward phase made does not go back to lower ones.
void AssignBackward(const Graph& graph, const UnitGraph& units, const std::vector<Phase>& phase,
                    const std::vector<LoopOverLayers>& loops, const std::vector<int32_t>& tied,
                    UnitLayers* layers);

// Then those of the update phase, outputs, and what is heavy but depends on no data.
void AssignUpdate(const Graph& graph, const UnitGraph& units, const std::vector<Phase>& phase,
                  const std::vector<LoopOverLayers>& loops, UnitLayers* layers);

// By unit that depends on weights but no data: the forward layers that use it, ascending.
std::vector<std::vector<int32_t>> ForwardUses(const Graph& graph, const UnitGraph& units,
                                              const std::vector<Phase>& phase,
                                              const UnitLayers& layers);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_LAYER_ASSIGNMENT_H_
