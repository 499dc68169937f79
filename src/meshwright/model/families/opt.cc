#include "meshwright/model/families/common.h"

// OPT (arXiv:2205.01068).

namespace meshwright::transformer {
namespace {

// The table of positions has two rows more than positions.
constexpr int64_t kPositionOffset = 2;

}  // namespace

void ReadOpt(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 2048, .tied = true}, model);
  model->embedding.positions = model->max_sequence + kPositionOffset;
  model->embedding.dim = config.Count("word_embed_proj_dim", kMaxWidth, model->hidden);
  const bool bias = config.Flag("enable_bias", true);
  const bool affine = config.Flag("layer_norm_elementwise_affine", true);
  const Norm norm = {.kind = NormKind::kLayer, .weight = affine, .bias = affine};
  Layer layer;
  layer.attention = ReadHeads(config, model->hidden, {.kv_heads = "", .head_dim = ""});
  layer.attention.position = PositionKind::kNone;
  SetBiases(layer.attention, bias, bias);
  layer.mlp = Mlp{.ffn = config.Count("ffn_dim", kMaxFfn), .up_bias = bias, .down_bias = bias};
  layer.mlp->activation = ReadActivation(config, "activation_function", "relu");
  layer.attention_norm = layer.mlp_norm = norm;
  layer.post_norm = !config.Flag("do_layer_norm_before", true);
  const bool final_norm = !layer.post_norm && !config.Flag("_remove_final_layer_norm", false);
  model->stacks.push_back(EqualLayers(layer, layers, final_norm ? norm : Norm()));
}

const TensorLayout& OptLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "model.decoder.layers.{layer}.",
                       .names = {{Part::kTokenEmbedding, "model.decoder.embed_tokens.*"},
                                 {Part::kPositionEmbedding, "model.decoder.embed_positions.*"},
                                 {Part::kEmbeddingProjection, "model.decoder.project_in.*"},
                                 {Part::kAttentionNorm, "self_attn_layer_norm.*"},
                                 {Part::kAttentionOutput, "self_attn.out_proj.*"},
                                 {Part::kMlpNorm, "final_layer_norm.*"},
                                 {Part::kMlpUp, "fc1.*"},
                                 {Part::kMlpDown, "fc2.*"},
                                 {Part::kFinalNorm, "model.decoder.final_layer_norm.*"},
                                 {Part::kHeadProjection, "model.decoder.project_out.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
