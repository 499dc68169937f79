#ifndef MESHWRIGHT_TESTS_DEGREES_SPACE_SAMPLES_H_
#define MESHWRIGHT_TESTS_DEGREES_SPACE_SAMPLES_H_

#include "meshwright/model/model.h"

// Models of a few sizes, for searches.

namespace meshwright::transformer {

inline Model DenseModel(int64_t heads, int64_t kv_heads, int64_t layers) {
  Model model;
  model.name = "small";
  model.hidden = 64;
  model.embedding.vocabulary = 128;
  model.embedding.dim = 64;
  model.head.outputs = 128;
  Layer layer;
  layer.name = "dense";
  layer.attention = {.heads = heads, .kv_heads = kv_heads, .qk_head_dim = 8, .v_head_dim = 8};
  layer.mlp = Mlp{.ffn = 24 * heads};
  Stack stack;
  stack.kinds = {layer};
  stack.layers.assign(static_cast<size_t>(layers), 0);
  model.stacks = {stack};
  return model;
}

// Every second layer has experts.
inline Model MixedModel(int64_t heads, int64_t kv_heads, int64_t layers, int64_t experts) {
  Model model = DenseModel(heads, kv_heads, layers);
  Layer layer = model.stacks[0].kinds[0];
  layer.name = "moe";
  layer.mlp.reset();
  layer.moe = Moe{.experts = experts, .top_k = 2, .expert = {.ffn = 36}, .shared = {}};
  model.stacks[0].kinds.push_back(layer);
  for (size_t i = 1; i < model.stacks[0].layers.size(); i += 2) model.stacks[0].layers[i] = 1;
  return model;
}

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_TESTS_DEGREES_SPACE_SAMPLES_H_
