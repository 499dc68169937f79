#ifndef MESHWRIGHT_TRANSFORMER_CHECK_MIXED_DEGREES_H_
#define MESHWRIGHT_TRANSFORMER_CHECK_MIXED_DEGREES_H_

#include "absl/status/status.h"
#include "meshwright/transformer/mixed_problem.h"

namespace meshwright::transformer {

// Whether stages over the groups of nodes can have what is fixed, `problem` having passed
// CheckMixedProblem. Errors name a fix that they cannot have, and what they can.
absl::Status CheckMixedDegrees(const MixedProblem& problem);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_TRANSFORMER_CHECK_MIXED_DEGREES_H_
