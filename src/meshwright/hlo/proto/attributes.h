#ifndef MESHWRIGHT_HLO_PROTO_ATTRIBUTES_H_
#define MESHWRIGHT_HLO_PROTO_ATTRIBUTES_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/hlo/opcode.h"
#include "meshwright/hlo/proto/hlo.pb.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

using AttributeList = std::vector<std::pair<std::string, std::string>>;

// What Instruction::other holds, from the fields of an HloInstructionProto: the attributes XLA
// prints for it that have no field of their own in Instruction, in XLA's order and spelling.
// `operand` is the element type of the first operand (kInvalid if there is none).
AttributeList OtherAttributes(const proto::HloInstructionProto& instruction, Opcode opcode,
                              ElementType operand);

// Sets the fields that OtherAttributes reads. Attributes that have no field, or whose text would
// come back differently, are kept by storing the whole list as text beside the fields.
void OtherAttributesToProto(const AttributeList& attributes, Opcode opcode, ElementType operand,
                            proto::HloInstructionProto* out);

// Whether HloInstructionProto has a field for an attribute of Instruction::other.
bool HasAttributeField(std::string_view name, Opcode opcode);

// Frontend attributes sorted by key, as XLA prints them.
AttributeList SortedFrontendAttributes(const proto::FrontendAttributes& attributes);
void FrontendAttributesToProto(const AttributeList& attributes, proto::FrontendAttributes* out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_ATTRIBUTES_H_
