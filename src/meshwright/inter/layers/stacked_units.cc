#include "meshwright/inter/layers/layer_assignment.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

// What the loops write entry by entry.
void FindStacksOfLoops(const Graph& graph, const UnitGraph& units,
                       const std::vector<LoopOverLayers>& loops, UnitLayers* layers) {
  std::vector<int32_t> over(graph.loops.size(), -1);
  for (size_t u = 0; u < units.units.size(); ++u) {
    if (layers->loop_over[u] >= 0) over[units.units[u].loop] = layers->loop_over[u];
  }
  for (const Carry& carry : graph.carries) {
    const int32_t loop = over[carry.loop];
    if (loop < 0 || !carry.exit.valid()) continue;
    const Op& last = graph[graph[carry.next].producer];
    const std::vector<int64_t>& dims = graph[carry.exit].shape.dims;
    if (last.kind != OpKind::kInstruction ||
        last.instruction->opcode != Opcode::kDynamicUpdateSlice || dims.empty()) {
      continue;
    }
    if (dims[0] == loops[loop].count && graph[last.operands[1]].shape.dims[0] == 1) {
      layers->stack_of[carry.exit.index()] = loop;
    }
  }
}

// The loop for whose layers everything that `unit` makes has entries, if it keeps those of its
// inputs apart; else -1.
int32_t StackOf(const Graph& graph, const Unit& unit, const UnitLayers& layers) {
  for (size_t i = 0; i < unit.inputs.size(); ++i) {
    const int32_t loop = layers.stack_of[unit.inputs[i].index()];
    if (loop < 0) continue;
    const Rule rule = RuleFor(graph, graph[unit.op]);
    const auto& dim = rule.operands[i].dims[0];
    if (dim.empty() || rule.factors[dim[0]].kind != FactorKind::kParallel) return -1;
    for (const TensorFactors& result : rule.results) {
      if (result.dims.empty() || result.dims[0].empty() || result.dims[0][0] != dim[0]) return -1;
    }
    return rule.results.empty() ? -1 : loop;
  }
  return -1;
}

}  // namespace

void FindStacks(const Graph& graph, const UnitGraph& units,
                const std::vector<LoopOverLayers>& loops, UnitLayers* layers) {
  layers->stack_of.assign(graph.values.size(), -1);
  layers->stacked.assign(units.units.size(), -1);
  FindStacksOfLoops(graph, units, loops, layers);
  for (size_t u = 0; u < units.units.size(); ++u) {
    if (units.units[u].loop >= 0) continue;
    const int32_t loop = StackOf(graph, units.units[u], *layers);
    if (loop < 0) continue;
    layers->stacked[u] = loop;
    for (ValueId v : units.units[u].outputs) layers->stack_of[v.index()] = loop;
  }
}

}  // namespace meshwright
