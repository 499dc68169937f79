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

// What `model` is asked.
struct ModelAsked {
  int64_t sequence = 0, source_sequence = 0;  // 0: not given
};
Options ModelOptionRows(ModelAsked& asked);

// The model and the sequences that it is described for. Errors: those of ReadModel; a sequence that
// the model cannot have.
struct DescribedModel {
  transformer::Model model;
  transformer::Batch batch;
};
absl::StatusOr<DescribedModel> DescribeModel(const Subject& model, const ModelAsked& asked);

// Tokens of a sequence, where a user may have said how many (0: did not).
int64_t SequenceOf(const transformer::Model& model, int64_t given);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_MODEL_REQUEST_H_
