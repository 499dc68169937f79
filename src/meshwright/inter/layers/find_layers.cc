#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/inter/layers/forward_layers.h"
#include "meshwright/inter/layers/layer_assignment.h"
#include "meshwright/inter/layers/layer_kinds.h"
#include "meshwright/inter/layers/layer_loops.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/layers/phases.h"
#include "meshwright/inter/layers/unit_graph.h"

namespace meshwright {
namespace {

void AddLoops(const UnitGraph& units, const std::vector<LoopOverLayers>& loops,
              const UnitLayers& assigned, Layers* layers) {
  for (const LoopOverLayers& loop : loops) {
    const int32_t first = assigned.layer[loop.unit];
    layers->loops.push_back({units.units[loop.unit].loop, first, loop.count, false, loop.falling});
    if (loop.backward >= 0) {
      layers->loops.push_back(
          {units.units[loop.backward].loop, first, loop.count, true, loop.falling});
    }
  }
}

Layers ByOp(const Graph& graph, const UnitGraph& units, const std::vector<Phase>& phase,
            const std::vector<LoopOverLayers>& loops, const UnitLayers& assigned) {
  Layers layers;
  layers.count = assigned.count;
  layers.flops.assign(assigned.count, 0);
  for (size_t u = 0; u < units.units.size(); ++u) {
    const int32_t layer = assigned.layer[u];
    const int32_t count = assigned.loop_over[u] < 0 ? 1 : loops[assigned.loop_over[u]].count;
    for (int32_t l = layer; layer >= 0 && l < layer + count; ++l) {
      layers.flops[l] += units.units[u].flops / count;
    }
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const int32_t unit = units.of_op[i];
    layers.phase.push_back(phase[unit]);
    layers.layer.push_back(assigned.loop_over[unit] < 0 ? assigned.layer[unit] : -1);
  }
  AddLoops(units, loops, assigned, &layers);
  return layers;
}

}  // namespace

absl::StatusOr<Layers> FindLayers(const Graph& graph, const FusionInfo& fusion,
                                  const BatchSplit& batch, const std::vector<int32_t>& tied,
                                  const LayerOptions& options) {
  const UnitGraph units = BuildUnitGraph(graph, batch);
  const std::vector<Phase> phase = FindPhases(graph, batch, tied, units);
  const std::vector<LoopOverLayers> loops = FindLoopsOverLayers(graph, batch, units, phase);
  MW_ASSIGN_OR_RETURN(ForwardLayers forward,
                      CutForwardPhase(graph, fusion, units, phase, loops, options));
  UnitLayers assigned;
  assigned.count = forward.count;
  assigned.layer = std::move(forward.layer);
  assigned.loop_over.assign(units.units.size(), -1);
  for (size_t i = 0; i < loops.size(); ++i) {
    assigned.loop_over[loops[i].unit] = static_cast<int32_t>(i);
    if (loops[i].backward < 0) continue;
    assigned.loop_over[loops[i].backward] = static_cast<int32_t>(i);
    assigned.layer[loops[i].backward] = assigned.layer[loops[i].unit];
  }
  FindStacks(graph, units, loops, &assigned);
  for (size_t u = 0; u < units.units.size(); ++u) {
    if (assigned.stacked[u] >= 0) assigned.layer[u] = -1;
  }
  AssignBackward(graph, units, phase, loops, tied, &assigned);
  AssignUpdate(graph, units, phase, loops, &assigned);
  Layers layers = ByOp(graph, units, phase, loops, assigned);
  std::vector<bool> shared;
  for (int32_t unit : units.of_op) shared.push_back(assigned.shared[unit]);
  layers.kind = FindLayerKinds(graph, layers, shared);
  return layers;
}

}  // namespace meshwright
