#ifndef MESHWRIGHT_MODEL_CHECK_MODEL_H_
#define MESHWRIGHT_MODEL_CHECK_MODEL_H_

#include "absl/status/status.h"
#include "meshwright/model/model.h"

namespace meshwright::transformer {

// Whether a model is one that the functions of this folder take: sizes within model.h's limits,
// heads that divide, an MLP or experts in every layer, at most kMaxParameters. The error begins
// with the model's name.
absl::Status CheckModel(const Model& model);

// Whether sequences of `tokens` tokens can be put through: at most kMaxSequence, and where
// positions have a table, its rows. An image has exactly its patches and class token.
absl::Status CheckSequence(const Model& model, int64_t tokens);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_CHECK_MODEL_H_
