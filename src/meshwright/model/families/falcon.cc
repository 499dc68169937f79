#include "meshwright/model/families/common.h"

// Falcon (arXiv:2311.16867): the 7B model's layers have one head of keys and values and one norm,
// the "new decoder architecture" of 40B and 180B groups of heads and two norms.

namespace meshwright::transformer {

void ReadFalcon(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input,
                                      {.hidden = "n_embed|hidden_size",
                                       .layers = "num_hidden_layers|n_layer",
                                       .default_positions = 2048,
                                       .tied = true},
                                      model);
  const bool grouped = config.Flag("new_decoder_architecture", false);
  const bool single = !grouped && config.Flag("multi_query", true);
  AttentionFields fields = {.heads = "num_attention_heads|n_head",
                            .kv_heads = grouped ? "num_kv_heads|n_head_kv" : "",
                            .head_dim = ""};
  if (single) fields.default_kv_heads = 1;
  const bool bias = config.Flag("bias", false);
  Layer layer;
  layer.attention = ReadHeads(config, model->hidden, fields);
  layer.attention.fused_qkv = true;
  if (config.Flag("alibi", false)) layer.attention.position = PositionKind::kAlibi;
  SetBiases(layer.attention, bias, bias);
  const int64_t ffn = config.Count("ffn_hidden_size", kMaxFfn, 4 * model->hidden);
  layer.mlp = Mlp{.ffn = ffn, .up_bias = bias, .down_bias = bias};
  layer.mlp->activation = ReadActivation(config, "activation", "gelu");
  layer.parallel = config.Flag("parallel_attn", true);
  if (grouped && !layer.parallel) {
    config.Fail("parallel_attn",
                "the new decoder architecture has attention and MLP in parallel; "
                "valid is true");
  }
  const int64_t norms = config.Count("num_ln_in_parallel_attn", 2, grouped ? 2 : 1);
  layer.attention_norm = LayerNorm();
  if (!layer.parallel || norms == 2) layer.mlp_norm = LayerNorm();
  model->stacks.push_back(EqualLayers(layer, layers, LayerNorm()));
}

const TensorLayout& FalconLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "transformer.h.{layer}.",
                       .names = {{Part::kTokenEmbedding, "transformer.word_embeddings.*"},
                                 {Part::kAttentionNorm, "{two_norms?ln_attn:input_layernorm}.*"},
                                 {Part::kMlpNorm, "{two_norms?ln_mlp:post_attention_layernorm}.*"},
                                 {Part::kQkv, "self_attention.query_key_value.*"},
                                 {Part::kAttentionOutput, "self_attention.dense.*"},
                                 {Part::kMlpUp, "mlp.dense_h_to_4h.*"},
                                 {Part::kMlpDown, "mlp.dense_4h_to_h.*"},
                                 {Part::kFinalNorm, "transformer.ln_f.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
