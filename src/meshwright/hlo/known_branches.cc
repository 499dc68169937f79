#include "meshwright/hlo/known_branches.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/instruction_folder.h"

namespace meshwright {
namespace {

// Operators between a constant and what it chooses; more are not followed.
constexpr int kMostSteps = 8;

// The one element of a number; nullopt if it is not known.
std::optional<std::string> KnownElement(const Computation& computation, InstructionId id,
                                        int steps) {
  const Instruction& instruction = computation[id];
  if (steps == 0 || !instruction.shape.is_array() || instruction.shape.rank() != 0) {
    return std::nullopt;
  }
  if (instruction.opcode == Opcode::kConstant) {
    const std::string& data = instruction.literal.data;
    return data.size() == static_cast<size_t>(ElementBytes(instruction.shape.type))
               ? std::optional(data)
               : std::nullopt;
  }
  if (instruction.operands.empty() || instruction.operands.size() > 2) return std::nullopt;
  std::vector<ElementType> types;
  std::vector<std::string> elements;
  for (const InstructionId operand : instruction.operands) {
    const std::optional<std::string> element = KnownElement(computation, operand, steps - 1);
    if (!element.has_value()) return std::nullopt;
    types.push_back(computation[operand].shape.type);
    elements.push_back(*element);
  }
  return FoldElements(instruction, types, elements);
}

}  // namespace

size_t ChosenBranch(ElementType type, const std::string& element, size_t branches) {
  const double chosen = ElementAsDouble(type, element.data());
  const size_t last = branches - 1;
  if (type == ElementType::kPred) return chosen != 0 ? 0 : last;
  return chosen >= 0 && chosen < static_cast<double>(last) ? static_cast<size_t>(chosen) : last;
}

void CallKnownBranches(Module& module) {
  for (Computation& computation : module.computations) {
    for (Instruction& instruction : computation.instructions) {
      const size_t branches = instruction.called.size();
      if (instruction.opcode != Opcode::kConditional || branches == 0 ||
          instruction.operands.size() != branches + 1) {
        continue;
      }
      const InstructionId predicate = instruction.operands[0];
      const std::optional<std::string> element = KnownElement(computation, predicate, kMostSteps);
      if (!element.has_value()) continue;
      const size_t branch = ChosenBranch(computation[predicate].shape.type, *element, branches);
      instruction.opcode = Opcode::kCall;
      instruction.operands = {instruction.operands[branch + 1]};
      instruction.called = {instruction.called[branch]};
    }
  }
}

}  // namespace meshwright
