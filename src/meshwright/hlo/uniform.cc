#include "meshwright/hlo/uniform.h"

#include <algorithm>

namespace meshwright {

bool IsUniform(const Instruction& constant) {
  const std::string& data = constant.literal.data;
  const int64_t elements = constant.shape.elements();
  if (!constant.shape.is_array() || constant.literal.elided || elements < 1) return false;
  const size_t width = data.size() / static_cast<size_t>(elements);
  // Shifted by one element it is the same.
  return width > 0 &&
         std::equal(data.begin() + static_cast<std::ptrdiff_t>(width), data.end(), data.begin());
}

bool IsZero(const Graph& graph, ValueId value) {
  for (size_t steps = 0; steps < graph.ops.size(); ++steps) {
    const Op& op = graph[graph[value].producer];
    if (op.kind != OpKind::kInstruction) return false;
    switch (op.instruction->opcode) {
      case Opcode::kConstant: {
        const Literal& literal = op.instruction->literal;
        return !literal.elided && !literal.data.empty() &&
               std::all_of(literal.data.begin(), literal.data.end(), [](char c) { return c == 0; });
      }
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kBitcast:
      case Opcode::kCopy:
      case Opcode::kTranspose:
      case Opcode::kConvert:
        if (op.operands.empty()) return false;
        value = op.operands[0];
        break;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace meshwright
