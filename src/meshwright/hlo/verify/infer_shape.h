#ifndef MESHWRIGHT_HLO_VERIFY_INFER_SHAPE_H_
#define MESHWRIGHT_HLO_VERIFY_INFER_SHAPE_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

// Types of results that HLO text leaves out.

namespace meshwright {

// Whether the type of a result of `opcode` follows from its operands, called computations and
// attributes: what XLA's parser lets people leave out.
bool CanInferShape(Opcode opcode);

// The type of `instruction` of `computation`, whose own is not looked at; those of its operands and
// of the computations it calls must be known. Layouts are not set. Errors: what does not fit
// together, without the instruction's name.
absl::StatusOr<Shape> InferShape(const Module& module, const Computation& computation,
                                 const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_VERIFY_INFER_SHAPE_H_
