#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/model/families/common.h"

// Gemma 1 (arXiv:2403.08295), 2 (arXiv:2408.00118), 3 (arXiv:2503.19786) and 3n.

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

namespace {

WeightShape Matrix(Part part, int64_t out, int64_t in) {
  return {.part = part, .shape = {out, in}, .matrix = true};
}

// Beside attention and MLP, a layer of Gemma 3n has a residual path of low rank, an input of its
// own for each token, and AltUp's (arXiv:2301.13310) coefficients of several residual streams.
std::vector<WeightShape> BesideOfGemma3n(int64_t hidden, int64_t rank, int64_t own,
                                         int64_t streams) {
  return {Matrix(Part::kLowRankDown, rank, hidden),
          Matrix(Part::kLowRankUp, hidden, rank),
          {.part = Part::kLowRankNorm, .shape = {hidden}},
          Matrix(Part::kLayerInputGate, own, hidden),
          Matrix(Part::kLayerInputUp, hidden, own),
          {.part = Part::kLayerInputOutputNorm, .shape = {hidden}},
          {.part = Part::kStreamScale, .shape = {hidden}},
          Matrix(Part::kStreamCorrection, streams, streams),
          Matrix(Part::kStreamPrediction, streams * streams, streams),
          Matrix(Part::kStreamRouter, streams, hidden),
          {.part = Part::kStreamRouterNorm, .shape = {hidden}}};
}

}  // namespace

void ReadGemma3n(const FamilyInput& input, Model* model) {
  constexpr int64_t kMostStreams = 64;
  const Config& config = input.config;
  const int64_t layers = StartDecoder(
      input, {.default_vocabulary = 262400, .default_positions = 32768, .tied = true}, model);
  const int64_t hidden = model->hidden;
  Attention attention = ReadAttention(
      config, *model, {.default_heads = 8, .default_kv_heads = 2, .default_head_dim = 256});
  attention.qk_norm = QkNorm::kPerHead;
  const std::vector<Span> spans = ReadSpans(config, layers, [](int64_t layer) {
    return (layer + 1) % 5 != 0 ? Span::kSliding : Span::kFull;
  });
  AppendLayers(config, spans, ReadWindow(config, "sliding_window", 512), attention, model);
  const int64_t own = config.Count("hidden_size_per_layer_input", kMaxWidth, 256);
  const int64_t streams = config.Count("altup_num_inputs", kMostStreams, 4);
  const int64_t rank = config.Count("laurel_rank", kMaxWidth, 64);
  const int64_t shared = config.CountOrZero("num_kv_shared_layers", kMaxLayers, 15);
  if (shared >= layers && config.ok())
    config.Fail("num_kv_shared_layers", absl::StrCat("valid are 0 to ", layers - 1));
  const Stack alike = std::move(model->stacks.back());
  Stack& stack = model->stacks.back() = Stack{.final_norm = alike.final_norm};
  for (int64_t i = 0; i < std::ssize(alike.layers); ++i) {
    Layer layer = alike.layer(i);
    layer.attention.shares_keys = i >= layers - shared;
    if (layer.attention.shares_keys) layer.name += "-shared";
    layer.beside = BesideOfGemma3n(hidden, rank, own, streams);
    AppendLayer(stack, std::move(layer));
  }
  model->embedding.beside = {
      {.part = Part::kLayerEmbedding,
       .shape = {config.Count("vocab_size_per_layer_input", kMaxVocabulary, 262144), layers * own}},
      Matrix(Part::kLayerInput, layers * own, hidden),
      {.part = Part::kLayerInputNorm, .shape = {own}},
      {.part = Part::kStreamsIn, .shape = {streams - 1, hidden, hidden}, .matrix = true}};
  model->head.beside = {
      {.part = Part::kStreamsOut, .shape = {streams - 1, hidden, hidden}, .matrix = true}};
  model->notes.emplace_back(
      "Of AltUp's residual streams the weights and matmuls are described, not the memory traffic.");
}

const TensorLayout& Gemma2Layout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kAttentionOutputNorm, "post_attention_layernorm.*"},
                                 {Part::kMlpNorm, "pre_feedforward_layernorm.*"},
                                 {Part::kMlpOutputNorm, "post_feedforward_layernorm.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
