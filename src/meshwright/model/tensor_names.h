#ifndef MESHWRIGHT_MODEL_TENSOR_NAMES_H_
#define MESHWRIGHT_MODEL_TENSOR_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/model/model.h"
#include "meshwright/model/tensors.h"

// How a family names and lays out the tensors of its checkpoints.

namespace meshwright::transformer {

// Text with {layer}, {expert} and {module} left as they are, {stack} for "encoder" or "decoder",
// {sublayer} for the number of attentions in the layer; * stands for "weight" or "bias". Without *,
// biases get "_bias" at the end. {gated?a:b} is a if the MLP is gated, else b, and so on with
// {two_norms?, {each_token? and {image? as in NameContext; {bias?a:b} is a for biases.
struct TensorName {
  Part part;
  const char* pattern;
};

struct TensorLayout {
  const char* layer_prefix = "model.layers.{layer}.";  // before the patterns of layers' parts
  bool weights_in_first = false;  // weights are [in, out] (GPT-2) instead of [out, in]
  // Where a family differs from Llama's names.
  std::vector<TensorName> names = {};
};

// Whether the pattern of `part` comes after TensorLayout::layer_prefix.
bool IsLayerPart(Part part);

struct NameContext {
  std::string_view stack = "decoder";
  int sublayer = 1;
  bool gated = false;      // the layer's MLP has a gate
  bool two_norms = false;  // attention and MLP are parallel, each behind a norm of its own
  bool each_token = true;  // the head is for every token
  bool image = false;      // what is embedded is an image
};

// The name of the weight or bias of `part`, by `layout` or else as Llama's and its relatives'.
std::string NameOf(const TensorLayout& layout, Part part, bool bias, const NameContext& context);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_TENSOR_NAMES_H_
