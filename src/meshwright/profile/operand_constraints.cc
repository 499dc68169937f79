#include "meshwright/profile/operand_constraints.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

// What an instruction gets.
struct Constraints {
  std::map<size_t, std::string> operands;  // the annotation of the reshape before each
  // Of its result: the annotation if that is another one, and kUnreduced; then the same of a
  // reshape behind it, which all users take, unless that has no annotation.
  std::string computed, computed_unreduced;
  std::string kept, kept_unreduced;
  bool free = false;  // no annotation at all: every user makes the result anew
};

// By computation, by instruction.
using ConstraintsOf = std::map<size_t, std::map<size_t, Constraints>>;

class InstructionNumbers {
 public:
  explicit InstructionNumbers(const Graph& graph) {
    for (size_t c = 0; c < graph.module->computations.size(); ++c)
      computations_[&graph.module->computations[c]] = c;
  }
  Constraints& At(const Op& op, ConstraintsOf* all) const {
    const auto index = static_cast<size_t>(op.instruction - op.computation->instructions.data());
    return (*all)[computations_.at(op.computation)][index];
  }

 private:
  absl::flat_hash_map<const Computation*, size_t> computations_;
};

// Whether operands of the operator are those of its instruction.
bool TakesItsOperands(const Op& op) {
  return op.kind == OpKind::kInstruction && op.instruction->operands.size() == op.operands.size();
}

void SetUnreduced(const std::string& axes, Instruction* instruction) {
  if (!axes.empty()) instruction->frontend_attributes.emplace_back(kUnreduced, axes);
}

// `computation` with reshapes; `at`: by index of an instruction.
Computation Rebuilt(const Computation& computation, const std::map<size_t, Constraints>& at) {
  Computation rebuilt = computation;
  rebuilt.instructions.clear();
  std::vector<InstructionId> moved;
  const auto add = [&](Instruction instruction) {
    rebuilt.instructions.push_back(std::move(instruction));
    return InstructionId(rebuilt.instructions.size() - 1);
  };
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    Instruction instruction = computation.instructions[i];
    for (InstructionId& operand : instruction.operands) operand = moved[operand.index()];
    for (InstructionId& before : instruction.control_predecessors) before = moved[before.index()];
    const auto here = at.find(i);
    if (here != at.end()) {
      for (const auto& [k, sharding] : here->second.operands) {
        const Instruction& operand = rebuilt.instructions[instruction.operands[k].index()];
        Instruction reshape;
        reshape.name = StrCat(instruction.name, ".operand", k);
        reshape.opcode = Opcode::kReshape;
        reshape.shape = operand.shape;
        reshape.operands = {instruction.operands[k]};
        reshape.metadata = instruction.metadata;
        reshape.sharding = sharding;
        instruction.operands[k] = add(std::move(reshape));
      }
    }
    Instruction reshape;
    if (here != at.end()) {
      const Constraints& c = here->second;
      SetUnreduced(c.kept_unreduced, &reshape);
      SetUnreduced(c.computed_unreduced, &instruction);
      if (!c.computed.empty()) instruction.sharding = c.computed;
      if (c.free) instruction.sharding.clear();
      reshape.name = StrCat(instruction.name, ".kept");
      reshape.opcode = Opcode::kReshape;
      reshape.shape = instruction.shape;
      reshape.metadata = instruction.metadata;
      reshape.sharding = c.kept;
    }
    moved.push_back(add(std::move(instruction)));
    if (reshape.sharding.empty()) continue;
    reshape.operands = {moved.back()};
    moved.back() = add(std::move(reshape));
  }
  for (InstructionId& parameter : rebuilt.parameters) parameter = moved[parameter.index()];
  rebuilt.root = moved[computation.root.index()];
  return rebuilt;
}

ConstraintsOf OperandConstraints(const Graph& graph, const Mesh& mesh,
                                 const std::vector<Sharding>& kept,
                                 const std::vector<std::vector<Sharding>>& needed) {
  const InstructionNumbers numbers(graph);
  ConstraintsOf at;
  for (size_t i = 0; i < needed.size(); ++i) {
    const Op& op = graph.ops[i];
    if (needed[i].empty() || !TakesItsOperands(op)) continue;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (needed[i][k] == kept[op.operands[k].index()]) continue;
      numbers.At(op, &at).operands[k] = ToHloShardingText(needed[i][k], mesh);
    }
  }
  return at;
}

Module WithConstraints(Module module, const ConstraintsOf& at) {
  for (const auto& [c, constraints] : at)
    module.computations[c] = Rebuilt(module.computations[c], constraints);
  return module;
}

// Whether what `op` makes can be said to be a partial sum: its operands can be constrained.
bool CanMakePartialSums(const Graph& graph, const std::vector<bool>& free, const Op& op,
                        bool adds_them) {
  if (!TakesItsOperands(op) || op.results.size() != 1) return false;
  if (adds_them) return true;
  const Opcode opcode = op.instruction->opcode;
  if (opcode != Opcode::kDot && opcode != Opcode::kConvolution && opcode != Opcode::kReduce)
    return false;
  return std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
    return graph[v].shape.is_array() && (graph[v].shape.rank() == 0 || !free[v.index()]);
  });
}

std::string AxisNames(const AxisList& axes, const Mesh& mesh) {
  return absl::StrJoin(axes, ",", [&mesh](std::string* out, AxisIndex axis) {
    out->append(mesh.axes[static_cast<size_t>(axis)].name);
  });
}

}  // namespace

Module WithOperandConstraints(Module module, const Graph& graph, const Mesh& mesh,
                              const std::vector<Sharding>& kept,
                              const std::vector<std::vector<Sharding>>& needed) {
  return WithConstraints(std::move(module), OperandConstraints(graph, mesh, kept, needed));
}

Module WithMovements(Module module, const Graph& graph, const Mesh& mesh,
                     const std::vector<Sharding>& kept, const Movements& movements) {
  const std::vector<bool> free = AnalyzeFusion(graph).free;  // by ValueId
  const auto can_be_partial = [&](OpId op) {
    return CanMakePartialSums(graph, free, graph[op], !movements.pending[op.index()].empty());
  };
  const std::vector<AxisList> pending =
      WithPartialOperands(graph, movements.pending, [&](OpId op, size_t operand) {
        return can_be_partial(op) && can_be_partial(graph[graph[op].operands[operand]].producer);
      });
  ConstraintsOf at = OperandConstraints(graph, mesh, kept, movements.needed);
  const InstructionNumbers numbers(graph);
  const auto erase_free = [&](const Op& op, Constraints& here) {
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (free[op.operands[k].index()]) here.operands.erase(k);
    }
  };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind != OpKind::kInstruction || op.results.size() != 1) continue;
    const ValueId value = op.results[0];
    if (!graph[value].shape.is_array() || graph[value].shape.rank() == 0) continue;
    if (free[value.index()]) numbers.At(op, &at).free = true;
    if (TakesItsOperands(op)) erase_free(op, numbers.At(op, &at));
    if (free[value.index()]) continue;
    const std::vector<Sharding>&computed = movements.computed[i], &needed = movements.needed[i];
    const AxisList partial = KeptPartial(graph, pending, value);
    if (pending[i].empty() && partial.empty() && computed.empty()) continue;
    Constraints& here = numbers.At(op, &at);
    const AxisList& made = pending[i].empty() ? partial : pending[i];
    here.computed_unreduced = AxisNames(made, mesh);
    if (!computed.empty()) here.computed = ToHloShardingText(computed[0], mesh);
    if (!computed.empty() || made != partial) {
      here.kept = ToHloShardingText(kept[value.index()], mesh);
      here.kept_unreduced = AxisNames(partial, mesh);
    }
    if (!pending[i].empty()) here.operands.clear();  // terms are added as they are
    if (!pending[i].empty() || partial.empty()) continue;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const ValueId operand = op.operands[k];
      if (graph[operand].shape.rank() == 0) continue;
      here.operands[k] =
          ToHloShardingText(needed.empty() ? kept[operand.index()] : needed[k], mesh);
    }
  }
  return WithConstraints(std::move(module), at);
}

}  // namespace meshwright
