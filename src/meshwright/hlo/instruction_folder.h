#ifndef MESHWRIGHT_HLO_INSTRUCTION_FOLDER_H_
#define MESHWRIGHT_HLO_INSTRUCTION_FOLDER_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Bytes of the one element that fills the result of an elementwise `instruction` whose operands are
// filled with the elements `operands` of types `types`; nullopt if that is not known here.
// `instruction` has its shape and attributes; floats are rounded to nearest.
std::optional<std::string> FoldElements(const Instruction& instruction,
                                        absl::Span<const ElementType> types,
                                        absl::Span<const std::string> operands);

// Operand 0 and 1 may be exchanged.
bool IsCommutative(Opcode opcode);

// Whether `element`, filling one operand, leaves the other operand of `opcode` as it is: x + 0,
// x * 1, x and true, ... `left`: it is operand 0.
bool IsNeutral(Opcode opcode, ElementType type, const std::string& element, bool left);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INSTRUCTION_FOLDER_H_
