#include "meshwright/inter/layers/unit_graph.h"

#include <algorithm>

#include "meshwright/inter/layers/batch_propagation.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/rule_builder.h"

namespace meshwright {
namespace {

// What an op that is not heavy computes: its largest array once.
double LightFlops(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::kInstruction || op.operands.empty()) return 0;
  double most = 0;
  for (ValueId v : op.operands) most = std::max(most, ElementCount(graph[v].shape));
  for (ValueId v : op.results) most = std::max(most, ElementCount(graph[v].shape));
  return most;
}

// A unit with split values runs for every micro-batch, whatever else it makes; one with both sums
// and what follows from them does so too.
int Strength(BatchRole role) {
  switch (role) {
    case BatchRole::kConstant:
      return 0;
    case BatchRole::kAfter:
      return 1;
    case BatchRole::kAccumulated:
      return 2;
    case BatchRole::kStatistic:
      return 3;
    case BatchRole::kSplit:
      return 4;
  }
  return 0;
}

// By unit: it is computed from data inputs. Others can have a dimension for the batch too (a
// broadcast constant).
std::vector<bool> FromData(const Graph& graph, const BatchSplit& batch, const UnitGraph& units) {
  std::vector<bool> data(units.units.size());
  for (OpId parameter : batch.data) data[units.of_op[parameter.index()]] = true;
  for (size_t u = 0; u < data.size(); ++u) {
    for (ValueId v : units.units[u].inputs) {
      if (data[units.of_value[v.index()]]) data[u] = true;
    }
  }
  return data;
}

bool IsOpened(const std::vector<bool>& opened, int32_t loop) {
  return !opened.empty() && opened[static_cast<size_t>(loop)];
}

// The outermost loop around `loop` that is not opened; -1: there is none.
int32_t Outermost(const Graph& graph, const std::vector<bool>& opened, int32_t loop) {
  int32_t outermost = -1;
  for (; loop >= 0 && !IsOpened(opened, loop); loop = graph.loops[loop].parent) outermost = loop;
  return outermost;
}

}  // namespace

bool IsHeavy(const Op& op) {
  if (op.kind != OpKind::kInstruction) return false;
  switch (op.instruction->opcode) {
    case Opcode::kDot:
    case Opcode::kRaggedDot:
    case Opcode::kConvolution:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
    case Opcode::kFft:
      return true;
    default:
      return false;
  }
}

bool IsParameter(const Graph& graph, const Unit& unit) {
  const Op& op = graph[unit.op];
  return unit.loop < 0 && op.kind == OpKind::kInstruction &&
         op.instruction->opcode == Opcode::kParameter;
}

std::vector<bool> DependOnWeights(const Graph& graph, const UnitGraph& units) {
  std::vector<bool> depend(units.units.size());
  for (size_t u = 0; u < depend.size(); ++u) {
    const Unit& unit = units.units[u];
    if (unit.role != BatchRole::kConstant) continue;
    depend[u] = IsParameter(graph, unit) && graph[unit.outputs[0]].shape.rank() > 0;
    for (ValueId v : unit.inputs) {
      if (depend[units.of_value[v.index()]]) depend[u] = true;
    }
  }
  return depend;
}

std::vector<bool> PrepareData(const Graph& graph, const UnitGraph& units) {
  const std::vector<bool> weights = DependOnWeights(graph, units);
  std::vector<bool> prepares(units.units.size());
  for (size_t u = 0; u < prepares.size(); ++u) {
    const Unit& unit = units.units[u];
    if (unit.role != BatchRole::kSplit || unit.heavy || unit.loop >= 0) continue;
    prepares[u] = std::all_of(unit.inputs.begin(), unit.inputs.end(), [&](ValueId v) {
      const int32_t producer = units.of_value[v.index()];
      return units.units[producer].role == BatchRole::kConstant ? !weights[producer]
                                                                : prepares[producer];
    });
  }
  return prepares;
}

UnitGraph BuildUnitGraph(const Graph& graph, const BatchSplit& batch,
                         const std::vector<bool>& opened) {
  UnitGraph result;
  result.of_op.assign(graph.ops.size(), -1);
  result.of_value.assign(graph.values.size(), -1);
  result.users.resize(graph.values.size());
  std::vector<int32_t> of_loop(graph.loops.size(), -1);
  std::vector<int32_t> exit_loop(graph.ops.size(), -1);
  for (const Carry& carry : graph.carries) {
    if (carry.exit.valid() && !IsOpened(opened, carry.loop))
      exit_loop[graph[carry.exit].producer.index()] = carry.loop;
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    int32_t loop = Outermost(graph, opened, op.loop);
    const bool leaves = loop < 0 && exit_loop[i] >= 0;
    if (leaves) loop = exit_loop[i];
    int32_t id = loop >= 0 ? of_loop[loop] : -1;
    if (id < 0) {
      id = static_cast<int32_t>(result.units.size());
      Unit& added = result.units.emplace_back();
      added.op = OpId(i);
      added.loop = loop;
      if (loop >= 0) of_loop[loop] = id;
    }
    Unit& unit = result.units[id];
    result.of_op[i] = id;
    for (ValueId v : op.results) result.of_value[v.index()] = id;
    const bool heavy = IsHeavy(op);
    unit.heavy |= heavy;
    unit.flops += op.multiplicity * (heavy ? RuleFor(graph, op).flops : LightFlops(graph, op));
    for (ValueId v : op.results) {
      if (Strength(batch.roles[v.index()]) > Strength(unit.role)) {
        unit.role = batch.roles[v.index()];
      }
    }
    if (loop < 0) {
      unit.inputs = op.operands;
      if (op.predicate.valid()) unit.inputs.push_back(op.predicate);
    }
    if (loop < 0 || leaves) {
      unit.outputs.insert(unit.outputs.end(), op.results.begin(), op.results.end());
    }
  }
  for (const Carry& carry : graph.carries) {
    if (IsOpened(opened, carry.loop)) {
      result.units[result.of_value[carry.parameter.index()]].inputs.push_back(carry.init);
      if (carry.exit.valid())
        result.units[result.of_value[carry.exit.index()]].inputs = {carry.init, carry.next};
    } else if (Outermost(graph, opened, carry.loop) == carry.loop) {
      result.units[of_loop[carry.loop]].inputs.push_back(carry.init);
    }
  }
  const std::vector<bool> data = FromData(graph, batch, result);
  for (size_t u = 0; u < result.units.size(); ++u) {
    if (!data[u]) result.units[u].role = BatchRole::kConstant;
    for (ValueId v : result.units[u].inputs) {
      std::vector<int32_t>& users = result.users[v.index()];
      if (users.empty() || users.back() != static_cast<int32_t>(u)) {
        users.push_back(static_cast<int32_t>(u));
      }
    }
  }
  return result;
}

}  // namespace meshwright
