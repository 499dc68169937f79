#include <algorithm>

#include "meshwright/inter/layers/layer_assignment.h"

// A unit of the update phase belongs to the layer whose sums it takes, and so does what follows.
// One that takes sums of several layers (the norm of all gradients) goes to the first of them; what
// it makes is shared, and says nothing about where its users belong.

namespace meshwright {
namespace {

class UpdateAssigner {
 public:
  UpdateAssigner(const Graph& graph, const UnitGraph& units, const std::vector<Phase>& phase,
                 const std::vector<LoopOverLayers>& loops, UnitLayers* layers)
      : graph_(graph),
        units_(units),
        loops_(loops),
        layers_(*layers),
        uses_(ForwardUses(graph, units, phase, *layers)),
        shared_(layers->shared),
        spread_(units.units.size()) {}

  void Run() {
    shared_.assign(units_.units.size(), false);
    for (size_t u = 0; u < units_.units.size(); ++u) {
      const Unit& unit = units_.units[u];
      if (unit.role == BatchRole::kAfter) {
        AssignAfter(u);
      } else if (graph_[unit.op].kind == OpKind::kOutput) {
        const auto producer = static_cast<size_t>(units_.of_value[unit.inputs[0].index()]);
        layers_.layer[u] = layers_.layer[producer];
        shared_[u] = shared_[producer];
      }
    }
    SinkShared();
    AssignHeavyConstants();
  }

 private:
  void AssignAfter(size_t u) {
    const Unit& unit = units_.units[u];
    if (layers_.stacked[u] >= 0) return;
    int32_t first = -1, home = -1;
    bool several = false, sums = false, only_shared = true, any_shared = false;
    bool goes_on = false;  // with an array that is a sum of several layers already
    for (ValueId v : unit.inputs) {
      const auto producer = static_cast<size_t>(units_.of_value[v.index()]);
      const BatchRole role = units_.units[producer].role;
      if (role == BatchRole::kConstant) {
        if (home < 0 && !uses_[producer].empty()) home = uses_[producer].front();
        continue;
      }
      int32_t layer = layers_.layer[producer];
      if (layers_.stack_of[v.index()] >= 0) {
        several = true;
        layer = FirstOf(layers_.stack_of[v.index()]);
      }
      if (layer < 0) continue;
      const bool shared = shared_[producer];
      any_shared |= shared;
      goes_on |= shared && IsAddition(unit) && !spread_[producer] && graph_[v].shape.rank() > 0;
      if (shared && (sums || home >= 0)) continue;
      if (!shared && !sums) {
        sums = true;
        first = -1;
      }
      several |= !shared && first >= 0 && layer != first;
      only_shared &= shared;
      first = first < 0 ? layer : std::min(first, layer);
    }
    if (!sums && home >= 0) {
      first = home;
      only_shared = false;
    }
    layers_.layer[u] = std::max(first, 0);
    // The next of the sums that make a norm, or the gradient of a stack of all layers' weights, is
    // shared like the last; a gradient times the norm is not.
    const bool scalar = std::all_of(unit.outputs.begin(), unit.outputs.end(),
                                    [&](ValueId v) { return graph_[v].shape.rank() == 0; });
    shared_[u] = several || only_shared || (any_shared && scalar) || goes_on;
    spread_[u] = only_shared && !scalar;
  }

  bool IsAddition(const Unit& unit) const {
    const Op& op = graph_[unit.op];
    return op.kind == OpKind::kInstruction && op.instruction->opcode == Opcode::kAdd;
  }

  int32_t FirstOf(int32_t loop) const { return layers_.layer[loops_[loop].unit]; }

  // Arrays that are filled with shared scalars are made where they are used.
  void SinkShared() {
    for (size_t u = units_.units.size(); u-- > 0;) {
      if (!spread_[u]) continue;
      bool used = false;
      int32_t first = layers_.count;
      for (ValueId v : units_.units[u].outputs) {
        for (int32_t user : units_.users[v.index()]) {
          used = true;
          if (layers_.layer[user] >= 0) first = std::min(first, layers_.layer[user]);
        }
      }
      if (used) layers_.layer[u] = first == layers_.count ? -1 : first;
    }
  }

  // Where they are used first.
  void AssignHeavyConstants() {
    std::vector<int32_t> first(units_.units.size(), layers_.count);
    for (size_t u = units_.units.size(); u-- > 0;) {
      const Unit& unit = units_.units[u];
      if (unit.role != BatchRole::kConstant) {
        if (layers_.layer[u] >= 0) first[u] = layers_.layer[u];
        continue;
      }
      for (ValueId v : unit.outputs) {
        for (int32_t user : units_.users[v.index()]) first[u] = std::min(first[u], first[user]);
      }
      if (unit.heavy) layers_.layer[u] = first[u] == layers_.count ? 0 : first[u];
    }
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const std::vector<LoopOverLayers>& loops_;
  UnitLayers& layers_;
  const std::vector<std::vector<int32_t>> uses_;
  std::vector<bool>& shared_;
  std::vector<bool> spread_;  // by unit: shared, and an array
};

}  // namespace

void AssignUpdate(const Graph& graph, const UnitGraph& units, const std::vector<Phase>& phase,
                  const std::vector<LoopOverLayers>& loops, UnitLayers* layers) {
  UpdateAssigner(graph, units, phase, loops, layers).Run();
}

}  // namespace meshwright
