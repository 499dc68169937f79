#include <optional>
#include <string>
#include <vector>

#include "meshwright/model/families/common.h"

// GPT-2 and its relatives GPT-NeoX and BLOOM: LayerNorm and biases everywhere, queries, keys and
// values from one matmul. GPT-Neo (every second layer sees a window) and GPT-J (attention and MLP
// in parallel) have a matmul for each of these, without bias.

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
  Layer layer = ReadLayer(config, heads, ffn, "activation_function");
  if (config.Flag("add_cross_attention", false)) {
    layer.cross_attention = layer.attention;
    layer.cross_attention->causal = false;
    layer.cross_attention_norm = LayerNorm();
  }
  model->stacks.push_back(EqualLayers(layer, layers, LayerNorm()));
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

void ReadGptNeo(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(
      input, {.layers = "num_layers|num_hidden_layers", .default_positions = 2048, .tied = true},
      model);
  model->embedding.positions = model->max_sequence;
  Attention heads =
      ReadHeads(config, model->hidden,
                {.heads = "num_heads|num_attention_heads", .kv_heads = "", .head_dim = ""});
  heads.position = PositionKind::kNone;
  const int64_t ffn = config.Count("intermediate_size", kMaxFfn, 4 * model->hidden);
  Layer layer = ReadLayer(config, heads, ffn, "activation_function");
  layer.attention.fused_qkv = false;
  SetBiases(layer.attention, false, true);
  const int64_t window = config.Count("window_size", kMaxVocabulary, 256);
  const std::optional<std::vector<std::string>> kinds = config.Texts("attention_layers");
  Stack& stack = model->stacks.emplace_back();
  for (int64_t i = 0; i < layers; ++i) {
    const bool local =
        kinds.has_value() && i < std::ssize(*kinds) ? (*kinds)[i] == "local" : i % 2 == 1;
    layer.attention.window = local ? window : 0;
    AppendLayer(stack, layer);
  }
  stack.final_norm = LayerNorm();
}

void ReadGptJ(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input,
                                      {.hidden = "n_embd|hidden_size",
                                       .layers = "n_layer|num_hidden_layers",
                                       .positions = "n_positions|max_position_embeddings",
                                       .default_positions = 2048},
                                      model);
  model->head.bias = input.task == Task::kLanguageModel;
  const Attention heads =
      ReadHeads(config, model->hidden,
                {.heads = "n_head|num_attention_heads", .kv_heads = "", .head_dim = ""});
  const int64_t ffn = config.Count("n_inner", kMaxFfn, 4 * model->hidden);
  Layer layer = ReadLayer(config, heads, ffn, "activation_function");
  layer.attention.fused_qkv = false;
  SetBiases(layer.attention, false, false);
  layer.parallel = true;
  layer.mlp_norm = Norm();
  model->stacks.push_back(EqualLayers(layer, layers, LayerNorm()));
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
                                 {Part::kCrossAttentionNorm, "ln_cross_attn.*"},
                                 {Part::kCrossQuery, "crossattention.q_attn.*"},
                                 {Part::kCrossKey, "crossattention.c_attn.*"},
                                 {Part::kCrossAttentionOutput, "crossattention.c_proj.*"},
                                 {Part::kMlpNorm, "ln_2.*"},
                                 {Part::kMlpUp, "mlp.c_fc.*"},
                                 {Part::kMlpDown, "mlp.c_proj.*"},
                                 {Part::kFinalNorm, "transformer.ln_f.*"}}};
  return *kLayout;
}

const TensorLayout& GptNeoLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "transformer.h.{layer}.",
                       .names = {{Part::kTokenEmbedding, "transformer.wte.*"},
                                 {Part::kPositionEmbedding, "transformer.wpe.*"},
                                 {Part::kAttentionNorm, "ln_1.*"},
                                 {Part::kQuery, "attn.attention.q_proj.*"},
                                 {Part::kKey, "attn.attention.k_proj.*"},
                                 {Part::kValue, "attn.attention.v_proj.*"},
                                 {Part::kAttentionOutput, "attn.attention.out_proj.*"},
                                 {Part::kMlpNorm, "ln_2.*"},
                                 {Part::kMlpUp, "mlp.c_fc.*"},
                                 {Part::kMlpDown, "mlp.c_proj.*"},
                                 {Part::kFinalNorm, "transformer.ln_f.*"}}};
  return *kLayout;
}

const TensorLayout& GptJLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "transformer.h.{layer}.",
                       .names = {{Part::kTokenEmbedding, "transformer.wte.*"},
                                 {Part::kAttentionNorm, "ln_1.*"},
                                 {Part::kQuery, "attn.q_proj.*"},
                                 {Part::kKey, "attn.k_proj.*"},
                                 {Part::kValue, "attn.v_proj.*"},
                                 {Part::kAttentionOutput, "attn.out_proj.*"},
                                 {Part::kMlpUp, "mlp.fc_in.*"},
                                 {Part::kMlpDown, "mlp.fc_out.*"},
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
