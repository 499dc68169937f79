#include <algorithm>
#include <vector>

#include "meshwright/model/families/common.h"

// Llama 4's text model: layers with and without experts, chunks and rotations in most layers, and
// full attention without either in every fourth.

namespace meshwright::transformer {
namespace {

std::vector<bool> MoeLayers(const Config& config, int64_t layers) {
  const int64_t step = config.Count("interleave_moe_layer_step", kMaxLayers, 1);
  std::vector<bool> moe(layers);
  const std::optional<std::vector<int64_t>> listed = config.Counts("moe_layers", layers - 1);
  if (listed.has_value()) {
    for (const int64_t layer : *listed) moe[layer] = true;
  } else {
    for (int64_t i = step - 1; i < layers; i += step) moe[i] = true;
  }
  return moe;
}

std::vector<bool> RotatedLayers(const Config& config, int64_t layers) {
  const int64_t interval = config.Count("no_rope_layer_interval", kMaxLayers, 4);
  std::vector<bool> rotated(layers);
  const std::optional<std::vector<int64_t>> listed = config.Counts("no_rope_layers", 1);
  if (listed.has_value() && !listed->empty()) {
    if (std::ssize(*listed) != layers) {
      config.Fail("no_rope_layers", "expected one element per layer: 1 with rotations, 0 without");
      return rotated;
    }
    for (int64_t i = 0; i < layers; ++i) rotated[i] = (*listed)[i] != 0;
  } else {
    for (int64_t i = 0; i < layers; ++i) rotated[i] = (i + 1) % interval != 0;
  }
  return rotated;
}

}  // namespace

void ReadLlama4(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers =
      StartDecoder(input, {.default_vocabulary = 202048, .default_positions = 131072}, model);
  if (layers == 0) return;
  Attention attention = ReadHeads(
      config, model->hidden, {.default_heads = 40, .default_kv_heads = 8, .default_head_dim = 128});
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  Moe moe;
  moe.experts = config.Count("num_local_experts", kMaxExperts, 16);
  moe.top_k = config.Count("num_experts_per_tok", kMaxExperts, 1);
  moe.expert = ReadGatedMlp(config);
  moe.shared = moe.expert;
  moe.fused_experts = true;
  CheckTopK(config, "num_experts_per_tok", moe);
  const bool qk_norm = config.Flag("use_qk_norm", true);
  const int64_t chunk = ReadWindow(config, "attention_chunk_size", 8192);
  const std::vector<bool> is_moe = MoeLayers(config, layers);
  const std::vector<bool> rotated = RotatedLayers(config, layers);
  const std::vector<Span> spans = ReadSpans(config, layers, [&](int64_t layer) {
    return rotated[layer] && chunk > 0 ? Span::kChunked : Span::kFull;
  });
  Stack& stack = model->stacks.emplace_back();
  for (size_t i = 0; i < spans.size(); ++i) {
    Layer layer;
    layer.attention = attention;
    layer.attention.position = rotated[i] ? PositionKind::kRope : PositionKind::kNone;
    if (rotated[i] && qk_norm) layer.attention.qk_norm = QkNorm::kNoWeight;
    if (spans[i] == Span::kChunked) layer.attention.chunk = chunk;
    if (is_moe[i]) {
      layer.moe = moe;
    } else {
      layer.mlp = ReadGatedMlp(config, "intermediate_size_mlp");
    }
    layer.attention_norm = layer.mlp_norm = RmsNorm();
    AppendLayer(stack, std::move(layer));
  }
  stack.final_norm = RmsNorm();
}

const TensorLayout& Llama4Layout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .names = {{Part::kMlpGate, "feed_forward.gate_proj.*"},
                {Part::kMlpUp, "feed_forward.up_proj.*"},
                {Part::kMlpDown, "feed_forward.down_proj.*"},
                {Part::kRouter, "feed_forward.router.*"},
                {Part::kExpertGateUp, "feed_forward.experts.gate_up_proj"},
                {Part::kExpertDown, "feed_forward.experts.down_proj"},
                {Part::kSharedExpertGate, "feed_forward.shared_expert.gate_proj.*"},
                {Part::kSharedExpertUp, "feed_forward.shared_expert.up_proj.*"},
                {Part::kSharedExpertDown, "feed_forward.shared_expert.down_proj.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
