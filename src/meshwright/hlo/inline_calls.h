#ifndef MESHWRIGHT_HLO_INLINE_CALLS_H_
#define MESHWRIGHT_HLO_INLINE_CALLS_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// `module` with the callee's instructions in the place of every `call`, in all computations. Bodies
// and conditions of loops, branches, fused and asynchronously called computations are then called
// by one instruction each (copied where several share one); functions of reductions, sorts and the
// like may stay shared. What computes, its parameters, aliases and metadata stay (what has no place
// in the user's program has that of the call); names of instructions and computations are unique in
// the module. What is never called is gone. BuildGraph gives the same operators for both, in the
// same order; outputs stand for another instruction if the entry's root is a call. Errors: those of
// BuildGraph for computations that call each other in a circle, too deep, with the wrong number of
// arguments, or that grow beyond kMaxInlinedInstructions.
absl::StatusOr<Module> InlineCalls(const Module& module);

// How deep computations may call each other: each level costs stack.
inline constexpr int kMaxCallDepth = 256;

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INLINE_CALLS_H_
