#ifndef MESHWRIGHT_HLO_IDENTITY_H_
#define MESHWRIGHT_HLO_IDENTITY_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// The operand whose value an instruction has by an identity that XLA's algebraic simplifier
// (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc) knows: x + 0, 0 + x, x - 0, x * 1, 1 *
// x, x / 1, and conversions, reshapes, transposes, broadcasts and slices to what the operand is
// already. -1 if it is none, or if it is annotated with a sharding, which its operand need not
// have. The neutral element has to be a constant, or a broadcast of one, in the same computation.
int IdentityOperand(const Computation& computation, const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_IDENTITY_H_
