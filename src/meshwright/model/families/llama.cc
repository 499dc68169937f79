#include <string_view>

#include "meshwright/model/families/common.h"

// Llama 1 to 3, and what follows its layers: Mistral, Qwen 2 and 3, Nemotron.

namespace meshwright::transformer {
namespace {

// A layer of Llama's form, with norms before attention and MLP.
Layer SequentialLayer(const Attention& attention, const Mlp& mlp, const Norm& norm) {
  Layer layer;
  layer.attention = attention;
  layer.mlp = mlp;
  layer.attention_norm = layer.mlp_norm = norm;
  return layer;
}

// Qwen 2 and 3: `use_sliding_window` gives windows to the layers from `max_window_layers` on.
void ReadQwenLayers(const Config& config, int64_t layers, Attention attention, Model* model) {
  const Mlp mlp = ReadGatedMlp(config);
  const bool windows = config.Flag("use_sliding_window", false);
  const int64_t window = windows ? ReadWindow(config, "sliding_window", 4096) : 0;
  const int64_t first = config.CountOrZero("max_window_layers", kMaxLayers, 28);
  const std::vector<Span> spans = ReadSpans(config, layers, [&](int64_t layer) {
    return window > 0 && layer >= first ? Span::kSliding : Span::kFull;
  });
  Stack& stack = model->stacks.emplace_back();
  for (const Span span : spans) {
    attention.window = span == Span::kSliding ? window : 0;
    AppendLayer(stack, SequentialLayer(attention, mlp, RmsNorm()));
  }
  stack.final_norm = RmsNorm();
}

}  // namespace

void ReadLlama(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 2048}, model);
  Attention attention = ReadHeads(config, model->hidden, {});
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  Mlp mlp = ReadGatedMlp(config);
  mlp.up_bias = mlp.down_bias = config.Flag("mlp_bias", false);
  model->stacks.push_back(
      EqualLayers(SequentialLayer(attention, mlp, RmsNorm()), layers, RmsNorm()));
}

void ReadMistral(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 131072}, model);
  Attention attention = ReadHeads(config, model->hidden, {.default_kv_heads = 8});
  attention.window = ReadWindow(config, "sliding_window", 4096);
  model->stacks.push_back(
      EqualLayers(SequentialLayer(attention, ReadGatedMlp(config), RmsNorm()), layers, RmsNorm()));
}

void ReadQwen2(const FamilyInput& input, Model* model) {
  const int64_t layers = StartDecoder(input, {.default_positions = 32768}, model);
  Attention attention = ReadHeads(input.config, model->hidden, {.head_dim = ""});
  SetBiases(attention, true, false);
  ReadQwenLayers(input.config, layers, attention, model);
}

void ReadQwen3(const FamilyInput& input, Model* model) {
  const int64_t layers = StartDecoder(input, {.default_positions = 32768}, model);
  Attention attention = ReadHeads(input.config, model->hidden, {.default_head_dim = 128});
  const bool bias = input.config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  attention.qk_norm = QkNorm::kPerHead;
  ReadQwenLayers(input.config, layers, attention, model);
}

// arXiv:2402.16819: squared ReLU without a gate, LayerNorm.
void ReadNemotron(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 4096}, model);
  Attention attention = ReadHeads(config, model->hidden, {});
  const bool attention_bias = config.Flag("attention_bias", false);
  SetBiases(attention, attention_bias, attention_bias);
  Mlp mlp;
  mlp.ffn = config.Count("intermediate_size", kMaxFfn);
  mlp.activation = ReadActivation(config, "hidden_act", "relu2");
  mlp.up_bias = mlp.down_bias = config.Flag("mlp_bias", false);
  model->stacks.push_back(
      EqualLayers(SequentialLayer(attention, mlp, LayerNorm()), layers, LayerNorm()));
}

}  // namespace meshwright::transformer
