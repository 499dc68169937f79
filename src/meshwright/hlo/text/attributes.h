#ifndef MESHWRIGHT_HLO_TEXT_ATTRIBUTES_H_
#define MESHWRIGHT_HLO_TEXT_ATTRIBUTES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_cursor.h"

// Which attributes of an instruction have a field of their own, how each is read and written, which
// an opcode cannot do without, and the order XLA prints them in. One table each; reader and writer
// only walk them.

namespace meshwright {

// The opcode an instruction's attributes belong to: that of the wrapped operation for an async
// start that prints it (`all-to-all-start`), else its own.
Opcode AttributeOpcode(const Instruction& instruction);

// An attribute kept in a field of Instruction that needs nothing but its text to be read.
struct TypedAttribute {
  std::string_view name;
  bool (*applies)(Opcode opcode);  // to instructions of this opcode; kept as text for others
  absl::Status (*read)(TextCursor& cursor, Instruction& instruction);
  // Its text, or empty if it is not printed.
  std::string (*write)(const Instruction& instruction);
};
absl::Span<const TypedAttribute> TypedAttributes();
// The row for `name` on `opcode`, or nullptr.
const TypedAttribute* FindTypedAttribute(std::string_view name, Opcode opcode);

// An attribute that names called computations: where in Instruction::called they go.
struct CalledAttribute {
  std::string_view name;
  bool (*applies)(Opcode opcode);
  size_t slot = 0;
};
const CalledAttribute* FindCalledAttribute(std::string_view name, Opcode opcode);

// Called computations as printed: (attribute, indices into Instruction::called, braced list).
struct CalledText {
  std::string_view name;
  size_t begin = 0, end = 0;
  bool list = false;
};
// `predicate`: the instruction is a conditional on a pred, so branches print as true and false.
std::vector<CalledText> CalledTexts(const Instruction& instruction, bool predicate);

// Names of attributes that must be there. A name "a|b" is satisfied by either.
absl::Span<const std::string_view> RequiredAttributes(Opcode opcode);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_ATTRIBUTES_H_
