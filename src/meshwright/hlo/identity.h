#ifndef MESHWRIGHT_HLO_IDENTITY_H_
#define MESHWRIGHT_HLO_IDENTITY_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Where a computation runs.
struct CallSite {
  const Computation* computation = nullptr;
  // The call or fusion that runs it, and where that stands; nullptr: something else runs it.
  const Instruction* call = nullptr;
  const CallSite* caller = nullptr;
};

// The operand whose value an instruction has by an identity that XLA's algebraic simplifier
// (xla/hlo/transforms/simplifiers/algebraic_simplifier.cc) knows: x + 0, 0 + x, x - 0, x * 1, 1 *
// x, x / 1, and conversions, reshapes, transposes, broadcasts and slices to what the operand is
// already. -1 if it is none, or if it is annotated with a sharding, which its operand need not
// have. The neutral element has to be a constant, or a broadcast of one, in the same computation or
// in one that calls it or that it calls, as if calls and fusions were inlined.
int IdentityOperand(const Module& module, const CallSite& site, const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_IDENTITY_H_
