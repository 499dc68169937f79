#ifndef MESHWRIGHT_HLO_VERIFY_VERIFIER_H_
#define MESHWRIGHT_HLO_VERIFY_VERIFIER_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// The first instruction that is not well typed.
struct VerifierError {
  ComputationId computation;
  InstructionId instruction;
  std::string message;  // "dot.4: shape mismatch: is f32[2,3], its operands give f32[2,4]"
};

// Checks operand counts, attributes and the type of every instruction against those of its operands
// and called computations. Where XLA's rule is not known for certain it does not complain: a
// program that XLA accepts passes. Ids inside the module must be in range and operands before their
// users.
std::optional<VerifierError> FindVerifierError(const Module& module);

// The same as a status: `file:line:column: message`, without the place if the module was not text.
absl::Status VerifyModule(const Module& module, std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_VERIFY_VERIFIER_H_
