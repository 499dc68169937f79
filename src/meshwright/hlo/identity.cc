#include "meshwright/hlo/identity.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "meshwright/hlo/element_value.h"

namespace meshwright {
namespace {

// Every element of `id` is `number`, written as HLO text writes it.
bool IsFilledWith(const Computation& computation, InstructionId id, std::string_view number) {
  const Instruction* constant = &computation[id];
  while (constant->opcode == Opcode::kBroadcast && constant->operands.size() == 1) {
    constant = &computation[constant->operands[0]];
  }
  if (constant->opcode != Opcode::kConstant || !constant->shape.is_array() ||
      constant->literal.elided) {
    return false;
  }
  const ElementType type = constant->shape.type;
  if (type == ElementType::kC64 || type == ElementType::kC128) return false;
  std::string element;
  const std::string& data = constant->literal.data;
  if (data.empty() || !AppendElement(type, number, element)) return false;
  if (element.empty() || data.size() % element.size() != 0) return false;
  for (size_t i = 0; i < data.size(); i += element.size()) {
    if (data.compare(i, element.size(), element) != 0) return false;
  }
  return true;
}

bool CountsUp(const std::vector<int64_t>& dimensions) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

struct NeutralElement {
  Opcode opcode;
  std::string_view number;
  bool on_the_left;  // also as operand 0
};

constexpr NeutralElement kNeutralElements[] = {
    {Opcode::kAdd, "0", true},
    {Opcode::kSubtract, "0", false},
    {Opcode::kMultiply, "1", true},
    {Opcode::kDivide, "1", false},
};

}  // namespace

int IdentityOperand(const Computation& computation, const Instruction& instruction) {
  if (!instruction.sharding.empty() || instruction.operands.empty() ||
      !instruction.shape.is_array()) {
    return -1;
  }
  const auto same = [&](size_t operand) {
    const Shape& shape = computation[instruction.operands[operand]].shape;
    return shape.is_array() && shape.type == instruction.shape.type &&
           shape.dims == instruction.shape.dims;
  };
  switch (instruction.opcode) {
    case Opcode::kConvert:
    case Opcode::kReshape:
    case Opcode::kSlice:
      return same(0) ? 0 : -1;
    case Opcode::kTranspose:
    case Opcode::kBroadcast:
      return same(0) && CountsUp(instruction.dimensions) ? 0 : -1;
    default:
      break;
  }
  if (instruction.operands.size() != 2) return -1;
  for (const NeutralElement& neutral : kNeutralElements) {
    if (neutral.opcode != instruction.opcode) continue;
    const auto is_neutral = [&](size_t operand) {
      return IsFilledWith(computation, instruction.operands[operand], neutral.number);
    };
    if (same(0) && is_neutral(1)) return 0;
    if (neutral.on_the_left && same(1) && is_neutral(0)) return 1;
  }
  return -1;
}

}  // namespace meshwright
