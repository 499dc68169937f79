#include "meshwright/model/families/common.h"

// Phi 1, 1.5, 2 (attention and MLP in parallel, behind one LayerNorm) and 3 (Llama's layers).

namespace meshwright::transformer {

void ReadPhi(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 2048}, model);
  model->head.bias = input.task == Task::kLanguageModel;
  Layer layer;
  layer.attention = ReadHeads(config, model->hidden, {.head_dim = ""});
  SetBiases(layer.attention, true, true);
  if (config.Flag("qk_layernorm", false)) layer.attention.qk_norm = QkNorm::kPerHeadBias;
  layer.mlp =
      Mlp{.ffn = config.Count("intermediate_size", kMaxFfn), .up_bias = true, .down_bias = true};
  layer.mlp->activation = ReadActivation(config, "hidden_act", "gelu_new");
  layer.parallel = true;
  layer.attention_norm = LayerNorm();
  model->stacks.push_back(EqualLayers(layer, layers, LayerNorm()));
}

void ReadPhi3(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 4096}, model);
  Layer layer;
  layer.attention = ReadHeads(config, model->hidden, {});
  layer.attention.fused_qkv = true;
  layer.attention.window = ReadWindow(config, "sliding_window", 0);
  layer.mlp = ReadGatedMlp(config);
  layer.mlp->fused_gate_up = true;
  layer.attention_norm = layer.mlp_norm = RmsNorm();
  model->stacks.push_back(EqualLayers(layer, layers, RmsNorm()));
}

const TensorLayout& PhiLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kAttentionOutput, "self_attn.dense.*"},
                                 {Part::kQueryNorm, "self_attn.q_layernorm.*"},
                                 {Part::kKeyNorm, "self_attn.k_layernorm.*"},
                                 {Part::kMlpUp, "mlp.fc1.*"},
                                 {Part::kMlpDown, "mlp.fc2.*"},
                                 {Part::kFinalNorm, "model.final_layernorm.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
