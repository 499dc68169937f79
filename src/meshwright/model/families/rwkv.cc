#include "meshwright/model/families/common.h"

// RWKV 4 (arXiv:2305.13048).

namespace meshwright::transformer {

// In place of attention a mean of values, in place of the MLP one that is gated by the token; both
// mix each token with the one before.
void ReadRwkv(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input,
                                      {.positions = "context_length|max_position_embeddings",
                                       .default_vocabulary = 50277,
                                       .default_positions = 1024},
                                      model);
  model->max_sequence = 0;
  model->embedding.norm = LayerNorm();
  const int64_t hidden = model->hidden;
  Layer layer;
  layer.recurrence = {.kind = RecurrenceKind::kWeightedSum, .heads = 1};
  layer.recurrence->head_dim = config.Count("attention_hidden_size", kMaxWidth, hidden);
  layer.mlp = Mlp{.ffn = config.Count("intermediate_size", kMaxFfn, 4 * hidden),
                  .activation = Activation::kSquaredRelu};
  layer.beside = {{.part = Part::kMlpTokenMix, .shape = {2, hidden}},  // of keys and receptance
                  {.part = Part::kMlpReceptance, .shape = {hidden, hidden}, .matrix = true}};
  layer.attention_norm = layer.mlp_norm = LayerNorm();
  model->stacks.push_back(EqualLayers(layer, layers, LayerNorm()));
}

}  // namespace meshwright::transformer
