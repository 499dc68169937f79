#include "meshwright/hlo/loop_starts.h"

#include <utility>
#include <vector>

#include "meshwright/hlo/module_order.h"
#include "meshwright/hlo/uniform.h"
#include "meshwright/hlo/unique_names.h"

namespace meshwright {
namespace {

bool IsFilled(const Computation& computation, const Instruction& instruction) {
  if (!instruction.shape.is_array() || instruction.shape.rank() == 0) return false;
  if (instruction.opcode == Opcode::kConstant) return IsUniform(instruction);
  if (instruction.opcode != Opcode::kBroadcast) return false;
  const Instruction& element = computation[instruction.operands[0]];
  return element.opcode == Opcode::kConstant && element.shape.rank() == 0;
}

void SeparateLoopStarts(Computation& computation, UniqueNames& names) {
  const size_t count = computation.instructions.size();
  std::vector<int32_t> uses(count);
  std::vector<bool> starts(count);  // tuples that loops start from
  for (const Instruction& instruction : computation.instructions) {
    for (InstructionId operand : instruction.operands) ++uses[operand.index()];
    if (instruction.opcode == Opcode::kWhile) starts[instruction.operands[0].index()] = true;
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) {
    const bool tuple = computation.instructions[i].opcode == Opcode::kTuple;
    const size_t operands = starts[i] && tuple ? computation.instructions[i].operands.size() : 0;
    for (size_t k = 0; k < operands; ++k) {
      const InstructionId start = computation.instructions[i].operands[k];
      // The last use keeps it.
      if (!IsFilled(computation, computation[start]) || uses[start.index()] == 1) continue;
      --uses[start.index()];
      Instruction own = computation[start];
      own.name = names.Take(own.name);
      own.is_root = false;
      order.push_back(computation.instructions.size());
      computation.instructions[i].operands[k] = InstructionId(order.back());
      computation.instructions.push_back(std::move(own));
    }
    order.push_back(i);
  }
  if (order.size() == count) return;
  const std::vector<InstructionId> moved = Reorder(computation, order);
  for (InstructionId& parameter : computation.parameters) parameter = moved[parameter.index()];
}

}  // namespace

void SeparateLoopStarts(Module& module) {
  UniqueNames names;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) names.Take(instruction.name);
  }
  for (Computation& computation : module.computations) SeparateLoopStarts(computation, names);
}

}  // namespace meshwright
