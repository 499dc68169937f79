#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "meshwright/inter/layers/forward_sequence.h"
#include "meshwright/inter/layers/layer_assignment.h"

// A unit may be in layers [least, most]: not above a layer that made what it takes from the
// backward phase, not below one whose forward phase made something that it or a later unit takes.
// As `least` of a producer is at least that of its users, the range is never empty. In it the unit
// goes to the highest layer whose forward phase uses or makes what it takes: there the operator
// stands of which it computes the gradient.

namespace meshwright {
namespace {

void SortUnique(std::vector<int32_t>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

class BackwardAssigner {
 public:
  BackwardAssigner(const Graph& graph, const UnitGraph& units, const std::vector<Phase>& phase,
                   const std::vector<LoopOverLayers>& loops, const std::vector<int32_t>& tied,
                   UnitLayers* layers)
      : graph_(graph),
        units_(units),
        phase_(phase),
        loops_(loops),
        tied_(tied),
        layers_(*layers),
        uses_(ForwardUses(graph, units, phase, *layers)),
        prepares_(PrepareData(graph, units)),
        undecided_(units.units.size()) {}

  void Run() {
    FindHomes();
    FindLeast();
    for (size_t u = 0; u < units_.units.size(); ++u) {
      if (IsPlaced(u) && !prepares_[u]) layers_.layer[u] = Choose(u);
    }
    SinkUndecided();
    // What only prepares data is made where it is used first.
    for (size_t u = units_.units.size(); u-- > 0;) {
      if (!IsBackward(u) || !prepares_[u] || units_.units[u].inputs.empty()) continue;
      int32_t layer = least_[u];
      for (ValueId v : units_.units[u].outputs) {
        for (int32_t user : units_.users[v.index()]) {
          if (IsBackward(user)) layer = std::max(layer, Entry(user));
        }
      }
      layers_.layer[u] = std::max(layer, 0);
    }
  }

 private:
  bool IsBackward(size_t u) const {
    return phase_[u] == Phase::kBackward && IsPerMicroBatch(units_.units[u]);
  }
  bool IsForward(size_t u) const {
    return phase_[u] == Phase::kForward && IsPerMicroBatch(units_.units[u]);
  }
  // One that needs a place: neither a loop over layers nor on stacks.
  bool IsPlaced(size_t u) const {
    return IsBackward(u) && layers_.loop_over[u] < 0 && layers_.stacked[u] < 0;
  }
  int32_t Count(size_t u) const {
    return layers_.loop_over[u] < 0 ? 1 : loops_[layers_.loop_over[u]].count;
  }
  // Layers at which a unit of the backward phase takes its inputs and leaves its outputs.
  int32_t Entry(size_t u) const { return layers_.layer[u] + Count(u) - 1; }
  int32_t Exit(size_t u) const { return layers_.layer[u]; }
  // The layer that leaves the outputs of a unit of the forward phase.
  int32_t MadeIn(size_t u) const { return layers_.layer[u] + Count(u) - 1; }

  // By unit that makes sums: the parameter that they update, as a unit.
  void FindHomes() {
    home_.assign(units_.units.size(), -1);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (tied_[i] < 0) continue;
      const ValueId parameter = graph_[graph_.parameters[tied_[i]]].result();
      const int32_t home = units_.of_value[parameter.index()];
      if (uses_[home].empty()) continue;
      absl::flat_hash_set<ValueId> seen;
      std::vector<ValueId> open = {graph_[graph_.outputs[i]].operands[0]};
      while (!open.empty()) {
        const ValueId v = open.back();
        open.pop_back();
        const auto u = static_cast<size_t>(units_.of_value[v.index()]);
        const Unit& unit = units_.units[u];
        if (unit.role == BatchRole::kConstant || !LikeParameter(v, parameter) ||
            !seen.insert(v).second) {
          continue;
        }
        if (IsBackward(u) && home_[u] < 0) home_[u] = home;
        const bool follow = (unit.role == BatchRole::kAfter && !Combines(unit)) ||
                            (unit.role == BatchRole::kAccumulated && OnlyMoves(unit));
        if (follow) open.insert(open.end(), unit.inputs.begin(), unit.inputs.end());
      }
    }
  }

  // An array of the parameter's size or a part of it, made from such.
  bool LikeParameter(ValueId v, ValueId parameter) const {
    const int64_t most = graph_[parameter].shape.elements();
    const int64_t elements = graph_[v].shape.elements();
    return elements <= most && (elements > 1 || most == 1);
  }
  // A norm, or a product of matrices: what it takes is not updated by it.
  bool Combines(const Unit& unit) const {
    const Op& op = graph_[unit.op];
    if (unit.loop >= 0 || op.kind != OpKind::kInstruction) return false;
    return unit.heavy ||
           (op.instruction->opcode == Opcode::kReduce &&
            graph_[op.operands[0]].shape.elements() != graph_[op.results[0]].shape.elements());
  }
  // Sums from sums, not from the batch.
  bool OnlyMoves(const Unit& unit) const {
    if (unit.loop >= 0) return false;
    return std::all_of(unit.inputs.begin(), unit.inputs.end(), [&](ValueId v) {
      const BatchRole role = units_.units[units_.of_value[v.index()]].role;
      return role == BatchRole::kAccumulated || role == BatchRole::kConstant;
    });
  }

  void FindLeast() {
    least_.assign(units_.units.size(), -1);
    for (size_t u = units_.units.size(); u-- > 0;) {
      if (!IsBackward(u)) continue;
      int32_t& least = least_[u];
      if (layers_.loop_over[u] >= 0) {
        least = Entry(u);
        continue;
      }
      for (ValueId v : units_.units[u].inputs) {
        const auto producer = static_cast<size_t>(units_.of_value[v.index()]);
        if (IsForward(producer)) least = std::max(least, MadeIn(producer));
      }
      for (ValueId v : units_.units[u].outputs) {
        for (int32_t user : units_.users[v.index()]) least = std::max(least, least_[user]);
      }
    }
  }

  int32_t Choose(size_t u) {
    int32_t most = layers_.count - 1;
    for (ValueId v : units_.units[u].inputs) {
      const auto producer = static_cast<size_t>(units_.of_value[v.index()]);
      if (IsBackward(producer) && !prepares_[producer]) most = std::min(most, Exit(producer));
    }
    int32_t found = -1;
    const auto consider = [&](int32_t layer) {
      if (layer <= most) found = std::max(found, layer);
    };
    for (ValueId v : units_.units[u].inputs) {
      const auto producer = static_cast<size_t>(units_.of_value[v.index()]);
      // A weight that several layers share says little.
      if (uses_[producer].size() == 1) consider(uses_[producer][0]);
      if (!IsForward(producer)) continue;
      if (layers_.layer[producer] >= 0) consider(MadeIn(producer));
      for (int32_t user : units_.users[v.index()]) {
        if (IsForward(user)) consider(layers_.layer[user]);
      }
    }
    if (found < 0 && home_[u] >= 0) {
      for (int32_t layer : uses_[home_[u]]) consider(layer);
    }
    undecided_[u] = found < 0;
    return std::max({found < 0 ? most : found, least_[u], 0});
  }

  // What changes nothing but the form of a gradient goes to the layer that uses it, unless that
  // would make more bytes cross.
  void SinkUndecided() {
    for (size_t u = units_.units.size(); u-- > 0;) {
      const Unit& unit = units_.units[u];
      const ValueId input = OnlyInput(unit);
      if (!undecided_[u] || !input.valid() || unit.outputs.size() != 1) continue;
      const std::vector<int32_t>& users = units_.users[unit.outputs[0].index()];
      const auto backward = [&](int32_t user) { return IsBackward(user); };
      if (users.empty() || !std::all_of(users.begin(), users.end(), backward)) continue;
      int32_t layer = 0;
      for (int32_t user : users) layer = std::max(layer, Entry(user));
      layer = std::max(layer, least_[u]);
      const auto there = [&](int32_t user) {
        return user != static_cast<int32_t>(u) && IsBackward(user) && layers_.layer[user] >= 0 &&
               Entry(user) <= layer;
      };
      const std::vector<int32_t>& beside = units_.users[input.index()];
      const bool fewer = graph_[unit.outputs[0]].shape.bytes() < graph_[input].shape.bytes();
      if (!fewer || std::any_of(beside.begin(), beside.end(), there)) layers_.layer[u] = layer;
    }
  }

  // The one value that a unit takes beside what depends on no data; invalid if it takes more.
  ValueId OnlyInput(const Unit& unit) const {
    ValueId only;
    for (ValueId v : unit.inputs) {
      if (units_.units[units_.of_value[v.index()]].role == BatchRole::kConstant || v == only)
        continue;
      if (only.valid()) return ValueId();
      only = v;
    }
    return only;
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const std::vector<Phase>& phase_;
  const std::vector<LoopOverLayers>& loops_;
  const std::vector<int32_t>& tied_;
  UnitLayers& layers_;
  const std::vector<std::vector<int32_t>> uses_;
  const std::vector<bool> prepares_;
  std::vector<int32_t> home_, least_;  // by unit
  std::vector<bool> undecided_;        // by unit: nothing says in which layer of its range
};

}  // namespace

std::vector<std::vector<int32_t>> ForwardUses(const Graph& graph, const UnitGraph& units,
                                              const std::vector<Phase>& phase,
                                              const UnitLayers& layers) {
  std::vector<std::vector<int32_t>> uses(units.units.size());
  for (size_t u = units.units.size(); u-- > 0;) {
    if (units.units[u].role != BatchRole::kConstant) continue;
    std::vector<int32_t>& all = uses[u];
    for (ValueId v : units.units[u].outputs) {
      for (int32_t user : units.users[v.index()]) {
        all.insert(all.end(), uses[user].begin(), uses[user].end());
        if (phase[user] != Phase::kForward || layers.layer[user] < 0) continue;
        all.push_back(layers.layer[user]);
      }
    }
    SortUnique(&all);
  }
  // What only the backward phase makes of weights belongs where they are used. Constants that are
  // no weights say nothing.
  const std::vector<bool> weights = DependOnWeights(graph, units);
  for (size_t u = 0; u < uses.size(); ++u) {
    if (!weights[u]) uses[u].clear();
    if (!weights[u] || !uses[u].empty()) continue;
    for (ValueId v : units.units[u].inputs) {
      const std::vector<int32_t>& more = uses[units.of_value[v.index()]];
      uses[u].insert(uses[u].end(), more.begin(), more.end());
    }
    SortUnique(&uses[u]);
  }
  return uses;
}

void AssignBackward(const Graph& graph, const UnitGraph& units, const std::vector<Phase>& phase,
                    const std::vector<LoopOverLayers>& loops, const std::vector<int32_t>& tied,
                    UnitLayers* layers) {
  BackwardAssigner(graph, units, phase, loops, tied, layers).Run();
}

}  // namespace meshwright
