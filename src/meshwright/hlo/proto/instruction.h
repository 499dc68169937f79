#ifndef MESHWRIGHT_HLO_PROTO_INSTRUCTION_H_
#define MESHWRIGHT_HLO_PROTO_INSTRUCTION_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/proto/hlo.pb.h"

namespace meshwright {

// One instruction by itself: everything but the references to others (operands, called
// computations, control predecessors) and is_root. `other` is left empty as well: it depends on the
// operands' types (see proto_attributes.h). Errors do not name the instruction.
absl::StatusOr<Instruction> InstructionFromProto(const proto::HloInstructionProto& instruction);

void InstructionToProto(const Instruction& instruction, proto::HloInstructionProto* out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_INSTRUCTION_H_
