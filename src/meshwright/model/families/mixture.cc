#include <algorithm>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/model/families/common.h"

// Mixtral, Qwen 2 and 3 MoE, Phi 3.5 MoE, DBRX: layers of Llama's form with experts.

namespace meshwright::transformer {
namespace {

Layer SequentialLayer(const Attention& attention, const Norm& norm) {
  Layer layer;
  layer.attention = attention;
  layer.attention_norm = layer.mlp_norm = norm;
  return layer;
}

// Qwen: every `decoder_sparse_step`-th layer has experts, unless `mlp_only_layers` names it.
std::vector<bool> QwenMoeLayers(const Config& config, int64_t layers) {
  const int64_t step = config.Count("decoder_sparse_step", kMaxLayers, 1);
  const std::vector<int64_t> dense =
      config.Counts("mlp_only_layers", kMaxLayers).value_or(std::vector<int64_t>());
  std::vector<bool> moe(layers);
  for (int64_t i = 0; i < layers; ++i) {
    moe[i] = (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  }
  return moe;
}

Moe ReadQwenExperts(const Config& config, int64_t experts, int64_t top_k, int64_t ffn) {
  Moe moe;
  moe.experts = config.Count("num_experts|num_local_experts", kMaxExperts, experts);
  moe.top_k = config.Count("num_experts_per_tok", kMaxExperts, top_k);
  moe.expert.ffn = config.Count("moe_intermediate_size", kMaxFfn, ffn);
  moe.expert.gated = true;
  moe.expert.activation = ReadActivation(config, "hidden_act", "silu");
  CheckTopK(config, "num_experts_per_tok", moe);
  return moe;
}

void AppendQwenLayers(const Config& config, const std::vector<Span>& spans, int64_t window,
                      Attention attention, const Moe& moe, Model* model) {
  const std::vector<bool> is_moe = QwenMoeLayers(config, std::ssize(spans));
  const bool any_dense = std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end();
  const Mlp dense = any_dense ? ReadGatedMlp(config) : Mlp();
  Stack& stack = model->stacks.emplace_back();
  for (size_t i = 0; i < spans.size(); ++i) {
    attention.window = spans[i] == Span::kSliding ? window : 0;
    Layer layer = SequentialLayer(attention, RmsNorm());
    if (is_moe[i]) {
      layer.moe = moe;
    } else {
      layer.mlp = dense;
    }
    AppendLayer(stack, std::move(layer));
  }
  stack.final_norm = RmsNorm();
}

}  // namespace

void ReadMixtral(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 131072}, model);
  Attention attention = ReadHeads(config, model->hidden, {.default_kv_heads = 8});
  attention.window = ReadWindow(config, "sliding_window", 0);
  Layer layer = SequentialLayer(attention, RmsNorm());
  Moe& moe = layer.moe.emplace();
  moe.experts = config.Count("num_local_experts|num_experts", kMaxExperts, 8);
  moe.top_k = config.Count("num_experts_per_tok", kMaxExperts, 2);
  moe.expert = ReadGatedMlp(config);
  CheckTopK(config, "num_experts_per_tok", moe);
  model->stacks.push_back(EqualLayers(layer, layers, RmsNorm()));
}

void ReadPhimoe(const FamilyInput& input, Model* model) {
  ReadMixtral(input, model);
  const Config& config = input.config;
  model->head.bias = model->head.outputs > 0 && config.Flag("lm_head_bias", false);
  const bool bias = config.Flag("attention_bias", false);
  Stack& stack = model->stacks.back();
  for (Layer& layer : stack.kinds) {
    SetBiases(layer.attention, bias, bias);
    layer.attention_norm = layer.mlp_norm = LayerNorm();
    layer.moe->experts = config.Count("num_local_experts|num_experts", kMaxExperts, 16);
  }
  stack.final_norm = LayerNorm();
}

void ReadDbrx(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input,
                                      {.hidden = "d_model|hidden_size",
                                       .layers = "n_layers|num_hidden_layers",
                                       .positions = "max_seq_len|max_position_embeddings",
                                       .default_vocabulary = 32000,
                                       .default_positions = 2048},
                                      model);
  const Norm norm = {.kind = NormKind::kLayer};
  const Config attends = config.Nested("attn_config"), feeds = config.Nested("ffn_config");
  Attention attention =
      ReadHeads(config, model->hidden,
                {.heads = "n_heads|num_attention_heads", .kv_heads = "", .head_dim = ""});
  attention.kv_heads = attends.Count("kv_n_heads", kMaxWidth, 1);
  if (attention.heads % attention.kv_heads != 0)
    attends.Fail("kv_n_heads",
                 StrCat("valid are ", DivisorsText(attention.heads, attention.kv_heads)));
  attention.fused_qkv = true;
  Layer layer = SequentialLayer(attention, norm);
  Moe& moe = layer.moe.emplace();
  moe.experts = feeds.Count("moe_num_experts", kMaxExperts, 4);
  moe.top_k = feeds.Count("moe_top_k", kMaxExperts, 1);
  moe.expert = {.ffn = feeds.Count("ffn_hidden_size", kMaxFfn, 3584),
                .gated = true,
                .activation = Activation::kSilu};
  CheckTopK(feeds, "moe_top_k", moe);
  model->stacks.push_back(EqualLayers(layer, layers, norm));
}

void ReadQwen2Moe(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 32768}, model);
  Attention attention = ReadHeads(config, model->hidden, {.head_dim = ""});
  SetBiases(attention, config.Flag("qkv_bias", true), false);
  Moe moe = ReadQwenExperts(config, 60, 4, 1408);
  moe.shared = moe.expert;
  moe.shared.ffn = config.Count("shared_expert_intermediate_size", kMaxFfn, 5632);
  moe.shared_gate = true;
  // Windows alternate, and end where those of dense Qwen begin.
  const bool windows = config.Flag("use_sliding_window", false);
  const int64_t window = windows ? ReadWindow(config, "sliding_window", 4096) : 0;
  const int64_t end = config.CountOrZero("max_window_layers", kMaxLayers, 28);
  const std::vector<Span> spans = ReadSpans(config, layers, [&](int64_t layer) {
    return window > 0 && layer % 2 == 0 && layer < end ? Span::kSliding : Span::kFull;
  });
  AppendQwenLayers(config, spans, window, attention, moe, model);
}

void ReadQwen3Moe(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 32768}, model);
  Attention attention = ReadHeads(config, model->hidden, {.default_kv_heads = 4});
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  attention.qk_norm = QkNorm::kPerHead;
  const bool windows = config.Flag("use_sliding_window", false);
  const int64_t window = windows ? ReadWindow(config, "sliding_window", 4096) : 0;
  const std::vector<Span> spans(layers, window > 0 ? Span::kSliding : Span::kFull);
  AppendQwenLayers(config, spans, window, attention, ReadQwenExperts(config, 128, 8, 768), model);
}

const TensorLayout& MixtralLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kRouter, "block_sparse_moe.gate.*"},
                                 {Part::kExpertGate, "block_sparse_moe.experts.{expert}.w1.*"},
                                 {Part::kExpertUp, "block_sparse_moe.experts.{expert}.w3.*"},
                                 {Part::kExpertDown, "block_sparse_moe.experts.{expert}.w2.*"}}};
  return *kLayout;
}

const TensorLayout& DbrxLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "transformer.blocks.{layer}.",
                       .names = {{Part::kTokenEmbedding, "transformer.wte.*"},
                                 {Part::kAttentionNorm, "norm_attn_norm.norm_1.*"},
                                 {Part::kMlpNorm, "norm_attn_norm.norm_2.*"},
                                 {Part::kQkv, "norm_attn_norm.attn.Wqkv.*"},
                                 {Part::kAttentionOutput, "norm_attn_norm.attn.out_proj.*"},
                                 {Part::kRouter, "ffn.router.layer.*"},
                                 {Part::kExpertGate, "ffn.experts.mlp.w1"},
                                 {Part::kExpertUp, "ffn.experts.mlp.v1"},
                                 {Part::kExpertDown, "ffn.experts.mlp.w2"},
                                 {Part::kFinalNorm, "transformer.norm_f.*"}}};
  return *kLayout;
}

const TensorLayout& Qwen2MoeLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kSharedExpertGate, "mlp.shared_expert.gate_proj.*"},
                                 {Part::kSharedExpertUp, "mlp.shared_expert.up_proj.*"},
                                 {Part::kSharedExpertDown, "mlp.shared_expert.down_proj.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
