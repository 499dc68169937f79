#ifndef MESHWRIGHT_REQUEST_MODEL_REQUEST_H_
#define MESHWRIGHT_REQUEST_MODEL_REQUEST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/request/subject.h"

namespace meshwright {

// The request for `model`, read, on nodes of one type that `asked` describes. Errors name the
// option at fault.
absl::StatusOr<ModelRequest> ToModelRequest(const Subject& model, const AskedOptions& asked);

// Tokens of a sequence, where a user may have said how many (0: did not).
int64_t SequenceOf(const transformer::Model& model, int64_t given);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_MODEL_REQUEST_H_
