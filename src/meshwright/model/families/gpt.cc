#include "meshwright/model/families/common.h"

// GPT-2 and its relatives GPT-NeoX and BLOOM: LayerNorm and biases everywhere, queries, keys and
// values from one matmul.

namespace meshwright::transformer {
namespace {

// Every matmul with a bias.
Layer ReadLayer(const Config& config, const Attention& heads, int64_t ffn,
                std::string_view activation) {
  Layer layer;
  layer.attention = heads;
  layer.attention.fused_qkv = true;
  SetBiases(layer.attention, true, true);
  layer.attention_norm = layer.mlp_norm = LayerNorm();
  layer.mlp = Mlp{.ffn = ffn, .up_bias = true, .down_bias = true};
  layer.mlp->activation = ReadActivation(config, activation, "gelu");
  return layer;
}

}  // namespace

void ReadGpt2(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input,
                                      {.hidden = "n_embd|hidden_size",
                                       .layers = "n_layer|num_hidden_layers",
                                       .positions = "n_positions|max_position_embeddings",
                                       .default_positions = 1024,
                                       .tied = true},
                                      model);
  model->embedding.positions = model->max_sequence;
  Attention heads =
      ReadHeads(config, model->hidden,
                {.heads = "n_head|num_attention_heads", .kv_heads = "", .head_dim = ""});
  heads.position = PositionKind::kNone;
  const int64_t ffn = config.Count("n_inner", kMaxFfn, 4 * model->hidden);
  model->stacks.push_back(
      EqualLayers(ReadLayer(config, heads, ffn, "activation_function"), layers, LayerNorm()));
}

void ReadGptNeox(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 2048}, model);
  const Attention heads = ReadHeads(config, model->hidden, {.kv_heads = "", .head_dim = ""});
  const int64_t ffn = config.Count("intermediate_size", kMaxFfn);
  Layer layer = ReadLayer(config, heads, ffn, "hidden_act");
  const bool bias = config.Flag("attention_bias", true);
  SetBiases(layer.attention, bias, bias);
  layer.parallel = config.Flag("use_parallel_residual", true);
  model->stacks.push_back(EqualLayers(layer, layers, LayerNorm()));
}

void ReadBloom(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input,
                                      {.hidden = "hidden_size|n_embed",
                                       .layers = "n_layer|num_hidden_layers",
                                       .positions = "seq_length",
                                       .default_positions = 2048,
                                       .tied = true},
                                      model);
  model->embedding.norm = LayerNorm();
  Attention heads =
      ReadHeads(config, model->hidden,
                {.heads = "n_head|num_attention_heads", .kv_heads = "", .head_dim = ""});
  heads.position = PositionKind::kAlibi;
  model->stacks.push_back(
      EqualLayers(ReadLayer(config, heads, 4 * model->hidden, "hidden_act"), layers, LayerNorm()));
}

const TensorLayout& Gpt2Layout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "transformer.h.{layer}.",
                       .weights_in_first = true,
                       .names = {{Part::kTokenEmbedding, "transformer.wte.*"},
                                 {Part::kPositionEmbedding, "transformer.wpe.*"},
                                 {Part::kAttentionNorm, "ln_1.*"},
                                 {Part::kQkv, "attn.c_attn.*"},
                                 {Part::kAttentionOutput, "attn.c_proj.*"},
                                 {Part::kMlpNorm, "ln_2.*"},
                                 {Part::kMlpUp, "mlp.c_fc.*"},
                                 {Part::kMlpDown, "mlp.c_proj.*"},
                                 {Part::kFinalNorm, "transformer.ln_f.*"}}};
  return *kLayout;
}

const TensorLayout& GptNeoxLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "gpt_neox.layers.{layer}.",
                       .names = {{Part::kTokenEmbedding, "gpt_neox.embed_in.*"},
                                 {Part::kQkv, "attention.query_key_value.*"},
                                 {Part::kAttentionOutput, "attention.dense.*"},
                                 {Part::kMlpUp, "mlp.dense_h_to_4h.*"},
                                 {Part::kMlpDown, "mlp.dense_4h_to_h.*"},
                                 {Part::kFinalNorm, "gpt_neox.final_layer_norm.*"},
                                 {Part::kHead, "embed_out.*"}}};
  return *kLayout;
}

const TensorLayout& BloomLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "transformer.h.{layer}.",
                       .names = {{Part::kTokenEmbedding, "transformer.word_embeddings.*"},
                                 {Part::kEmbeddingNorm, "transformer.word_embeddings_layernorm.*"},
                                 {Part::kQkv, "self_attention.query_key_value.*"},
                                 {Part::kAttentionOutput, "self_attention.dense.*"},
                                 {Part::kMlpUp, "mlp.dense_h_to_4h.*"},
                                 {Part::kMlpDown, "mlp.dense_4h_to_h.*"},
                                 {Part::kFinalNorm, "transformer.ln_f.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
