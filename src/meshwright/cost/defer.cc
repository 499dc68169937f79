#include <algorithm>
#include <cstdint>
#include <vector>

#include "meshwright/cost/liveness.h"

namespace meshwright {
namespace {

// An op of the entry, or a whole outermost loop: what moves as one piece.
struct Unit {
  std::vector<OpId> ops;  // in the order of the schedule
  bool contraction = false;
  bool critical = false;  // a contraction needs it
};

bool IsContraction(const Op& op) {
  return op.kind == OpKind::kInstruction &&
         (op.instruction->opcode == Opcode::kDot || op.instruction->opcode == Opcode::kConvolution);
}

}  // namespace

Schedule DeferUnneeded(const Graph& graph, const Schedule& schedule) {
  std::vector<Unit> units;
  std::vector<int32_t> unit_of_op(graph.ops.size()), unit_of_loop(graph.loops.size(), -1);
  for (OpId id : schedule.order) {
    int32_t loop = graph[id].loop;
    while (loop >= 0 && graph.loops[loop].parent >= 0) loop = graph.loops[loop].parent;
    int32_t unit = loop >= 0 ? unit_of_loop[loop] : -1;
    if (unit < 0) {
      unit = static_cast<int32_t>(units.size());
      units.emplace_back();
      if (loop >= 0) unit_of_loop[loop] = unit;
    }
    units[unit].ops.push_back(id);
    units[unit].contraction |= IsContraction(graph[id]);
    unit_of_op[id.index()] = unit;
  }
  const auto need = [&](ValueId v, int32_t by) {
    const int32_t maker = unit_of_op[graph[v].producer.index()];
    if (maker != by && (units[by].critical || units[by].contraction)) units[maker].critical = true;
  };
  // What loops start from is read by them although no op of theirs has it as its operand.
  std::vector<std::vector<ValueId>> inits(units.size());
  std::vector<std::vector<int32_t>> makers_of_exits(units.size());
  for (const Carry& carry : graph.carries) {
    const int32_t unit = unit_of_op[graph[carry.parameter].producer.index()];
    inits[unit].push_back(carry.init);
    if (carry.exit.valid())
      makers_of_exits[unit_of_op[graph[carry.exit].producer.index()]].push_back(unit);
  }
  for (int32_t u = static_cast<int32_t>(units.size()); u-- > 0;) {
    for (OpId id : units[u].ops) {
      for (ValueId v : graph[id].operands) need(v, u);
    }
    for (ValueId v : inits[u]) need(v, u);
    for (int32_t maker : makers_of_exits[u]) {
      if (maker != u && (units[u].critical || units[u].contraction)) units[maker].critical = true;
    }
  }
  Schedule result;
  result.time.assign(graph.ops.size(), -1);
  for (const bool critical : {true, false}) {
    for (const Unit& unit : units) {
      if (unit.critical != critical) continue;
      for (OpId id : unit.ops) {
        result.time[id.index()] = static_cast<int32_t>(result.order.size());
        result.order.push_back(id);
      }
    }
  }
  return result;
}

}  // namespace meshwright
