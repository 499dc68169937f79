#ifndef MESHWRIGHT_MODEL_MODEL_TABLE_H_
#define MESHWRIGHT_MODEL_MODEL_TABLE_H_

#include <string>

#include "meshwright/model/matmuls.h"
#include "meshwright/model/model.h"

// The output of `meshwright model`.

namespace meshwright::transformer {

// Structure, tensors by group, parameters, and flops of `batch`, as text. Assumes a valid model and
// sequences that CheckSequence takes.
std::string ModelTable(const Model& model, const Batch& batch);

// The same as a JSON object, with every tensor and the matmuls of every kind of layer.
std::string ModelJson(const Model& model, const Batch& batch);

// The built-in models, one a line.
std::string BuiltinModelTable();

// "32 heads, 8 of keys and values, of 128 elements, rope, causal".
std::string AttentionText(const Attention& attention);
std::string RecurrenceText(const Recurrence& recurrence);
// "gated silu MLP of 14336" or "8 experts, 2 per token, each a gated silu MLP of 14336".
std::string FeedforwardText(const Layer& layer);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_MODEL_TABLE_H_
