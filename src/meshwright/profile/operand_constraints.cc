#include "meshwright/profile/operand_constraints.h"

#include <cstddef>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/strings.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

// By operand of an instruction: the annotation of the reshape before it.
using Constraints = std::map<size_t, std::string>;

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
    if (const auto here = at.find(i); here != at.end()) {
      for (const auto& [k, sharding] : here->second) {
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
    moved.push_back(add(std::move(instruction)));
  }
  for (InstructionId& parameter : rebuilt.parameters) parameter = moved[parameter.index()];
  rebuilt.root = moved[computation.root.index()];
  return rebuilt;
}

}  // namespace

Module WithOperandConstraints(Module module, const Graph& graph, const Mesh& mesh,
                              const std::vector<Sharding>& kept,
                              const std::vector<std::vector<Sharding>>& needed) {
  absl::flat_hash_map<const Computation*, size_t> numbers;
  for (size_t c = 0; c < graph.module->computations.size(); ++c)
    numbers[&graph.module->computations[c]] = c;
  std::map<size_t, std::map<size_t, Constraints>> at;  // by computation, by instruction
  for (size_t i = 0; i < needed.size(); ++i) {
    const Op& op = graph.ops[i];
    if (needed[i].empty() || op.kind != OpKind::kInstruction ||
        op.instruction->operands.size() != op.operands.size())
      continue;
    const auto index = static_cast<size_t>(op.instruction - op.computation->instructions.data());
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (needed[i][k] == kept[op.operands[k].index()]) continue;
      at[numbers.at(op.computation)][index][k] = ToHloShardingText(needed[i][k], mesh);
    }
  }
  for (const auto& [c, constraints] : at)
    module.computations[c] = Rebuilt(module.computations[c], constraints);
  return module;
}

}  // namespace meshwright
