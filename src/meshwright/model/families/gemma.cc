#include <vector>

#include "meshwright/model/families/common.h"

// Gemma 1 (arXiv:2403.08295), 2 (arXiv:2408.00118) and 3 (arXiv:2503.19786).

namespace meshwright::transformer {
namespace {

Mlp ReadMlp(const Config& config) {
  Mlp mlp;
  mlp.ffn = config.Count("intermediate_size", kMaxFfn);
  mlp.gated = true;
  mlp.activation = ReadActivation(config, "hidden_activation|hidden_act", "gelu_pytorch_tanh");
  return mlp;
}

Attention ReadAttention(const Config& config, const Model& model, const AttentionFields& fields) {
  Attention attention = ReadHeads(config, model.hidden, fields);
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  return attention;
}

// Gemma 2 and 3 norm what attention and MLP give, too.
void AppendLayers(const Config& config, const std::vector<Span>& spans, int64_t window,
                  const Attention& attention, Model* model) {
  Stack& stack = model->stacks.emplace_back();
  Layer layer;
  layer.mlp = ReadMlp(config);
  layer.attention_norm = layer.attention_output_norm = RmsNorm();
  layer.mlp_norm = layer.mlp_output_norm = RmsNorm();
  for (const Span span : spans) {
    layer.attention = attention;
    layer.attention.window = span == Span::kSliding ? window : 0;
    AppendLayer(stack, layer);
  }
  stack.final_norm = RmsNorm();
}

}  // namespace

void ReadGemma(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 8192, .tied = true}, model);
  Layer layer;
  layer.attention = ReadAttention(config, *model, {.default_head_dim = 256});
  layer.mlp = ReadMlp(config);
  layer.attention_norm = layer.mlp_norm = RmsNorm();
  model->stacks.push_back(EqualLayers(layer, layers, RmsNorm()));
}

void ReadGemma2(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 8192, .tied = true}, model);
  const Attention attention =
      ReadAttention(config, *model, {.default_kv_heads = 4, .default_head_dim = 256});
  const std::vector<Span> spans = ReadSpans(
      config, layers, [](int64_t layer) { return layer % 2 == 0 ? Span::kSliding : Span::kFull; });
  AppendLayers(config, spans, ReadWindow(config, "sliding_window", 4096), attention, model);
}

void ReadGemma3(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(
      input, {.default_vocabulary = 262208, .default_positions = 131072, .tied = true}, model);
  Attention attention = ReadAttention(
      config, *model, {.default_heads = 8, .default_kv_heads = 4, .default_head_dim = 256});
  attention.qk_norm = QkNorm::kPerHead;
  const int64_t pattern =
      config.Count("sliding_window_pattern|_sliding_window_pattern", kMaxLayers, 6);
  const std::vector<Span> spans = ReadSpans(config, layers, [pattern](int64_t layer) {
    return (layer + 1) % pattern != 0 ? Span::kSliding : Span::kFull;
  });
  AppendLayers(config, spans, ReadWindow(config, "sliding_window", 4096), attention, model);
}

const TensorLayout& Gemma2Layout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kAttentionOutputNorm, "post_attention_layernorm.*"},
                                 {Part::kMlpNorm, "pre_feedforward_layernorm.*"},
                                 {Part::kMlpOutputNorm, "post_feedforward_layernorm.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
