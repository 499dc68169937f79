#ifndef MESHWRIGHT_HLO_SCALED_DOT_H_
#define MESHWRIGHT_HLO_SCALED_DOT_H_

#include <string_view>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// XLA's `scaled-dot(lhs, rhs, lhs_scale, rhs_scale)`: a product of narrow floats that come in
// blocks, each with a factor of its own. A scale has a number for every block of its operand, in
// the operand's order of dimensions.
inline constexpr std::string_view kScaledDotName = "scaled-dot";
inline constexpr size_t kScaledDotOperands = 4;

// Readers make a dot of four operands of it. This gives each of those the operators that it stands
// for and that XLA computes where the hardware has no such product (ScaledDotRewriter): both
// operands are converted to the result's type and multiplied by their scales, which are broadcast
// over the blocks, and the dot takes these two. All types must be known. Errors: scales that do not
// fit, without a file.
absl::Status ExpandScaledDots(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SCALED_DOT_H_
