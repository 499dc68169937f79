#include "meshwright/model/families/common.h"

// ViT (arXiv:2010.11929): patches of an image and a class token instead of words.

namespace meshwright::transformer {

void ReadVit(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  model->hidden = config.Count("hidden_size", kMaxWidth);
  const int64_t layers = config.Count("num_hidden_layers", kMaxLayers);
  if (!ReadPatches(config, {.image = 224, .patch = 16, .channels = 3}, model)) return;
  const bool qkv_bias = config.Flag("qkv_bias", true);
  Layer layer;
  layer.attention = ReadHeads(config, model->hidden, {.kv_heads = "", .head_dim = ""});
  layer.attention.position = PositionKind::kNone;
  layer.attention.causal = false;
  SetBiases(layer.attention, qkv_bias, true);
  layer.mlp =
      Mlp{.ffn = config.Count("intermediate_size", kMaxFfn), .up_bias = true, .down_bias = true};
  layer.mlp->activation = ReadActivation(config, "hidden_act", "gelu");
  layer.attention_norm = layer.mlp_norm = LayerNorm();
  Stack& stack = model->stacks.emplace_back(Stack{.role = StackRole::kEncoder});
  for (int64_t i = 0; i < layers; ++i) AppendLayer(stack, layer);
  stack.final_norm = LayerNorm();
  if (input.task == Task::kBase) {
    model->head.pooler = config.Count("pooler_output_size", kMaxWidth, model->hidden);
  } else {
    model->head = {.outputs = input.labels, .bias = true, .every_token = false};
  }
}

const TensorLayout& VitLayout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .layer_prefix = "vit.encoder.layer.{layer}.",
      .names = {{Part::kClassToken, "vit.embeddings.cls_token"},
                {Part::kPatchEmbedding, "vit.embeddings.patch_embeddings.projection.*"},
                {Part::kPositionEmbedding, "vit.embeddings.position_embeddings"},
                {Part::kAttentionNorm, "layernorm_before.*"},
                {Part::kQuery, "attention.attention.query.*"},
                {Part::kKey, "attention.attention.key.*"},
                {Part::kValue, "attention.attention.value.*"},
                {Part::kAttentionOutput, "attention.output.dense.*"},
                {Part::kMlpNorm, "layernorm_after.*"},
                {Part::kMlpUp, "intermediate.dense.*"},
                {Part::kMlpDown, "output.dense.*"},
                {Part::kFinalNorm, "vit.layernorm.*"},
                {Part::kPooler, "vit.pooler.dense.*"},
                {Part::kHead, "classifier.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
