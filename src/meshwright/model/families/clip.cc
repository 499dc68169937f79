#include "meshwright/model/families/common.h"

// The towers of CLIP (arXiv:2103.00020) and SigLIP (arXiv:2303.15343), one at a time: encoders of
// images and of texts with norms before attention and MLP, and biases everywhere.

namespace meshwright::transformer {
namespace {

struct Usual {
  int64_t hidden, ffn, heads;
};

void AppendTower(const Config& config, const Usual& usual, bool causal, std::string_view activation,
                 Model* model) {
  constexpr int64_t kLayers = 12;
  const int64_t layers = config.Count("num_hidden_layers", kMaxLayers, kLayers);
  Layer layer;
  layer.attention = ReadHeads(config, model->hidden,
                              {.kv_heads = "", .head_dim = "", .default_heads = usual.heads});
  layer.attention.position = PositionKind::kNone;
  layer.attention.causal = causal;
  SetBiases(layer.attention, true, true);
  layer.mlp = Mlp{.ffn = config.Count("intermediate_size", kMaxFfn, usual.ffn),
                  .up_bias = true,
                  .down_bias = true};
  layer.mlp->activation = ReadActivation(config, "hidden_act", activation);
  layer.attention_norm = layer.mlp_norm = LayerNorm();
  Stack& stack = model->stacks.emplace_back(Stack{.role = StackRole::kEncoder});
  for (int64_t i = 0; i < layers; ++i) AppendLayer(stack, layer);
  stack.final_norm = LayerNorm();
}

// Texts, of which one token each is projected.
void ReadText(const Config& config, int64_t vocabulary, int64_t positions, Model* model) {
  Embedding& embedding = model->embedding;
  embedding.vocabulary = config.Count("vocab_size", kMaxVocabulary, vocabulary);
  embedding.dim = model->hidden;
  embedding.positions = config.Count("max_position_embeddings", kMaxVocabulary, positions);
  model->max_sequence = embedding.positions;
}

void ReadProjection(const FamilyInput& input, Model* model) {
  if (input.task != Task::kProjection) return;
  model->head.outputs = input.config.Count("projection_dim", kMaxVocabulary, 512);
  model->head.every_token = false;
}

}  // namespace

void ReadClipVision(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  constexpr Usual kUsual = {.hidden = 768, .ffn = 3072, .heads = 12};
  model->hidden = config.Count("hidden_size", kMaxWidth, kUsual.hidden);
  if (!ReadPatches(config, {.image = 224, .patch = 32, .channels = 3, .bias = false}, model))
    return;
  model->embedding.norm = LayerNorm();
  AppendTower(config, kUsual, /*causal=*/false, "quick_gelu", model);
  ReadProjection(input, model);
}

void ReadClipText(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  constexpr Usual kUsual = {.hidden = 512, .ffn = 2048, .heads = 8};
  model->hidden = config.Count("hidden_size", kMaxWidth, kUsual.hidden);
  ReadText(config, 49408, 77, model);
  AppendTower(config, kUsual, /*causal=*/true, "quick_gelu", model);
  ReadProjection(input, model);
}

// One query, which is a parameter, attends to all tokens; an MLP follows.
void ReadSiglipVision(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  constexpr Usual kUsual = {.hidden = 768, .ffn = 3072, .heads = 12};
  const int64_t hidden = config.Count("hidden_size", kMaxWidth, kUsual.hidden);
  model->hidden = hidden;
  if (!ReadPatches(config, {.image = 224, .patch = 16, .channels = 3, .class_token = false}, model))
    return;
  AppendTower(config, kUsual, /*causal=*/false, "gelu_pytorch_tanh", model);
  if (!config.Flag("vision_use_head", true) || !config.ok()) return;
  const int64_t ffn = model->stacks.back().kinds.front().mlp->ffn;
  const auto matrix = [](Part part, int64_t out, int64_t in) {
    return WeightShape{.part = part, .shape = {out, in}, .bias = true, .matrix = true};
  };
  model->head.beside = {matrix(Part::kPoolingKeyValue, 2 * hidden, hidden)};
  model->head.once = {{.part = Part::kPoolingProbe, .shape = {1, 1, hidden}},
                      matrix(Part::kPoolingQuery, hidden, hidden),
                      matrix(Part::kPoolingOutput, hidden, hidden),
                      {.part = Part::kPoolingNorm, .shape = {hidden}, .bias = true},
                      matrix(Part::kPoolingUp, ffn, hidden),
                      matrix(Part::kPoolingDown, hidden, ffn)};
}

void ReadSiglipText(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  constexpr Usual kUsual = {.hidden = 768, .ffn = 3072, .heads = 12};
  model->hidden = config.Count("hidden_size", kMaxWidth, kUsual.hidden);
  ReadText(config, 32000, 64, model);
  AppendTower(config, kUsual, /*causal=*/false, "gelu_pytorch_tanh", model);
  model->head = {.outputs = config.Count("projection_size", kMaxVocabulary, model->hidden),
                 .bias = true,
                 .every_token = false};
}

const TensorLayout& ClipLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "encoder.layers.{layer}.",
                       .names = {{Part::kTokenEmbedding, "embeddings.token_embedding.*"},
                                 {Part::kPositionEmbedding, "embeddings.position_embedding.weight"},
                                 {Part::kPatchEmbedding, "embeddings.patch_embedding.*"},
                                 {Part::kClassToken, "embeddings.class_embedding"},
                                 {Part::kEmbeddingNorm, "pre_layrnorm.*"},
                                 {Part::kAttentionNorm, "layer_norm1.*"},
                                 {Part::kAttentionOutput, "self_attn.out_proj.*"},
                                 {Part::kMlpNorm, "layer_norm2.*"},
                                 {Part::kMlpUp, "mlp.fc1.*"},
                                 {Part::kMlpDown, "mlp.fc2.*"},
                                 {Part::kFinalNorm, "{image?post_layernorm:final_layer_norm}.*"},
                                 {Part::kHead, "{image?visual:text}_projection.*"}}};
  return *kLayout;
}

const TensorLayout& SiglipLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "encoder.layers.{layer}.",
                       .names = {{Part::kTokenEmbedding, "embeddings.token_embedding.*"},
                                 {Part::kPositionEmbedding, "embeddings.position_embedding.weight"},
                                 {Part::kPatchEmbedding, "embeddings.patch_embedding.*"},
                                 {Part::kAttentionNorm, "layer_norm1.*"},
                                 {Part::kAttentionOutput, "self_attn.out_proj.*"},
                                 {Part::kMlpNorm, "layer_norm2.*"},
                                 {Part::kMlpUp, "mlp.fc1.*"},
                                 {Part::kMlpDown, "mlp.fc2.*"},
                                 {Part::kFinalNorm, "{image?post_layernorm:final_layer_norm}.*"},
                                 {Part::kHead, "head.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
