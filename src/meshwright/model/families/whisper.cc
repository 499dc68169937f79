#include "meshwright/model/families/common.h"

// Whisper (arXiv:2212.04356): an encoder of sound, whose positions are fixed, and a decoder of
// text. Keys have no bias.

namespace meshwright::transformer {
namespace {

Layer ReadLayer(const Config& config, int64_t hidden, std::string_view heads,
                std::string_view ffn) {
  constexpr int64_t kHeads = 6, kFfn = 1536;
  Layer layer;
  layer.attention = ReadHeads(
      config, hidden, {.heads = heads, .kv_heads = "", .head_dim = "", .default_heads = kHeads});
  layer.attention.position = PositionKind::kNone;
  SetBiases(layer.attention, true, true);
  layer.attention.k_bias = false;
  layer.mlp = Mlp{.ffn = config.Count(ffn, kMaxFfn, kFfn), .up_bias = true, .down_bias = true};
  layer.mlp->activation = ReadActivation(config, "activation_function", "gelu");
  layer.attention_norm = layer.mlp_norm = LayerNorm();
  return layer;
}

}  // namespace

void ReadWhisper(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t decoder_layers = StartDecoder(input,
                                              {.hidden = "d_model|hidden_size",
                                               .layers = "decoder_layers",
                                               .positions = "max_target_positions",
                                               .default_vocabulary = 51865,
                                               .default_layers = 4,
                                               .default_positions = 448,
                                               .tied = true},
                                              model);
  model->embedding.positions = model->max_sequence;
  model->embedding.sound = {
      .channels = config.Count("num_mel_bins", kMaxWidth, 80),
      .positions = config.Count("max_source_positions", kMaxVocabulary, 1500)};
  Layer layer = ReadLayer(config, model->hidden, "encoder_attention_heads", "encoder_ffn_dim");
  layer.attention.causal = false;
  Stack& encoder = model->stacks.emplace_back(Stack{.role = StackRole::kEncoder});
  const int64_t encoder_layers =
      config.Count("encoder_layers|num_hidden_layers", kMaxLayers, decoder_layers);
  for (int64_t i = 0; i < encoder_layers; ++i) AppendLayer(encoder, layer);
  encoder.final_norm = LayerNorm();
  layer = ReadLayer(config, model->hidden, "decoder_attention_heads", "decoder_ffn_dim");
  layer.cross_attention = layer.attention;
  layer.cross_attention->causal = false;
  layer.cross_attention_norm = LayerNorm();
  model->stacks.push_back(EqualLayers(layer, decoder_layers, LayerNorm()));
}

const TensorLayout& WhisperLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "model.{stack}.layers.{layer}.",
                       .names = {{Part::kTokenEmbedding, "model.decoder.embed_tokens.*"},
                                 {Part::kPositionEmbedding, "model.decoder.embed_positions.*"},
                                 {Part::kAttentionNorm, "self_attn_layer_norm.*"},
                                 {Part::kAttentionOutput, "self_attn.out_proj.*"},
                                 {Part::kCrossAttentionNorm, "encoder_attn_layer_norm.*"},
                                 {Part::kCrossQuery, "encoder_attn.q_proj.*"},
                                 {Part::kCrossKey, "encoder_attn.k_proj.*"},
                                 {Part::kCrossValue, "encoder_attn.v_proj.*"},
                                 {Part::kCrossAttentionOutput, "encoder_attn.out_proj.*"},
                                 {Part::kMlpNorm, "final_layer_norm.*"},
                                 {Part::kMlpUp, "fc1.*"},
                                 {Part::kMlpDown, "fc2.*"},
                                 {Part::kFinalNorm, "model.{stack}.layer_norm.*"},
                                 {Part::kHead, "proj_out.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
