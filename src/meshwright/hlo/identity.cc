#include "meshwright/hlo/identity.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "meshwright/hlo/element_value.h"

namespace meshwright {
namespace {

// The constant that every element of `id` is taken from; nullptr: there is none.
const Instruction* ConstantOf(const Module& module, const CallSite& of, InstructionId id) {
  std::deque<CallSite> entered;
  const CallSite* site = &of;
  while (true) {
    const Instruction& instruction = (*site->computation)[id];
    switch (instruction.opcode) {
      case Opcode::kConstant:
        return &instruction;
      case Opcode::kBroadcast:
        if (instruction.operands.size() != 1) return nullptr;
        id = instruction.operands[0];
        break;
      case Opcode::kParameter:
        if (site->call == nullptr) return nullptr;
        id = site->call->operands[static_cast<size_t>(instruction.parameter_number)];
        site = site->caller;
        break;
      case Opcode::kCall:
      case Opcode::kFusion:
        site = &entered.emplace_back(CallSite{&module[instruction.called[0]], &instruction, site});
        id = site->computation->root;
        break;
      default:
        return nullptr;
    }
  }
}

// Every element of `id` is `number`, written as HLO text writes it.
bool IsFilledWith(const Module& module, const CallSite& site, InstructionId id,
                  std::string_view number) {
  const Instruction* const constant = ConstantOf(module, site, id);
  if (constant == nullptr || !constant->shape.is_array() || constant->literal.elided) return false;
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

int IdentityOperand(const Module& module, const CallSite& site, const Instruction& instruction) {
  if (!instruction.sharding.empty() || instruction.operands.empty() ||
      !instruction.shape.is_array()) {
    return -1;
  }
  const auto same = [&](size_t operand) {
    const Shape& shape = (*site.computation)[instruction.operands[operand]].shape;
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
      return IsFilledWith(module, site, instruction.operands[operand], neutral.number);
    };
    if (same(0) && is_neutral(1)) return 0;
    if (neutral.on_the_left && same(1) && is_neutral(0)) return 1;
  }
  return -1;
}

}  // namespace meshwright
