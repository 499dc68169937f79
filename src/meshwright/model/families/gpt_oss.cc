#include <vector>

#include "meshwright/model/families/common.h"

// GPT-OSS (arXiv:2508.10925): sinks, biases in experts and router, every other layer a window.

namespace meshwright::transformer {

void ReadGptOss(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 131072}, model);
  Layer layer;
  layer.attention =
      ReadHeads(config, model->hidden, {.default_kv_heads = 8, .default_head_dim = 64});
  const bool bias = config.Flag("attention_bias", true);
  SetBiases(layer.attention, bias, bias);
  layer.attention.sinks = true;
  layer.attention_norm = layer.mlp_norm = RmsNorm();
  Moe& moe = layer.moe.emplace();
  moe.experts = config.Count("num_local_experts|num_experts", kMaxExperts, 128);
  moe.top_k = config.Count("num_experts_per_tok|experts_per_token", kMaxExperts, 4);
  moe.expert = ReadGatedMlp(config);
  moe.expert.up_bias = moe.expert.down_bias = true;
  moe.router_bias = true;
  moe.fused_experts = true;
  CheckTopK(config, "num_experts_per_tok|experts_per_token", moe);
  const int64_t window = ReadWindow(config, "sliding_window", 128);
  const std::vector<Span> spans = ReadSpans(
      config, layers, [](int64_t i) { return i % 2 == 0 ? Span::kSliding : Span::kFull; });
  Stack& stack = model->stacks.emplace_back();
  for (const Span span : spans) {
    layer.attention.window = span == Span::kSliding ? window : 0;
    layer.name.clear();
    AppendLayer(stack, layer);
  }
  stack.final_norm = RmsNorm();
}

const TensorLayout& GptOssLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kRouter, "mlp.router.*"},
                                 {Part::kExpertGateUp, "mlp.experts.gate_up_proj"},
                                 {Part::kExpertDown, "mlp.experts.down_proj"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
