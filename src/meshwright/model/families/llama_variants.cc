#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/model/families/common.h"

// Decoders whose layers are Llama's but for norms, biases and windows: OLMo 2 and 3, Granite, GLM,
// StarCoder 2, SmolLM 3, EXAONE 4, Seed-OSS, Hunyuan, ERNIE 4.5, Cohere, StableLM, Apertus; and
// those with experts: OLMoE, Granite MoE, dots.1, GLM 4.5, MiniMax M2, ERNIE 4.5 MoE, Hunyuan MoE.

namespace meshwright::transformer {
namespace {

// Where a layer's norms stand.
enum class NormPlaces {
  kBefore,  // before attention and MLP
  kBehind,  // between either and the residual sum
  kBoth,
  kShared,  // one before both, which are parallel
};

// What is another than Llama's. Names of fields; "" is what is never there.
struct Variant {
  int64_t positions = 2048;
  bool tied = false;
  int64_t kv_heads = 0, head_dim = 0;  // where the configuration does not say; 0: as ReadHeads
  std::string_view qkv_bias = "attention_bias";
  bool qkv_bias_unless = false;  // without the field
  std::string_view output_bias = "attention_bias";
  bool output_bias_unless = false;
  std::string_view mlp_bias = "";
  bool mlp_bias_unless = false;
  QkNorm qk_norm = QkNorm::kNone;
  NormPlaces norms = NormPlaces::kBefore;
  Norm norm = {.kind = NormKind::kRms};
  bool gated = true, fused_gate_up = false;
  std::string_view activation = "silu";
  std::string_view window = "";  // field of the sliding window
  int64_t default_window = 4096;
  int64_t full_every =
      1;  // each how many layers attention is full where there is a window; 0: none
};

bool Bias(const Config& config, std::string_view field, bool unless) {
  return field.empty() ? unless : config.Flag(field, unless);
}

Attention ReadAttention(const Config& config, const Model& model, const Variant& v) {
  Attention attention = ReadHeads(config, model.hidden,
                                  {.default_kv_heads = v.kv_heads, .default_head_dim = v.head_dim});
  SetBiases(attention, Bias(config, v.qkv_bias, v.qkv_bias_unless),
            Bias(config, v.output_bias, v.output_bias_unless));
  attention.qk_norm = v.qk_norm;
  return attention;
}

Mlp ReadMlp(const Config& config, const Variant& v) {
  Mlp mlp;
  mlp.ffn = config.Count("intermediate_size", kMaxFfn);
  mlp.gated = v.gated;
  mlp.fused_gate_up = v.fused_gate_up;
  mlp.up_bias = mlp.down_bias = Bias(config, v.mlp_bias, v.mlp_bias_unless);
  mlp.activation = ReadActivation(config, "hidden_act|hidden_activation", v.activation);
  return mlp;
}

Layer LayerOf(const Attention& attention, const Variant& v) {
  Layer layer;
  layer.attention = attention;
  layer.parallel = v.norms == NormPlaces::kShared;
  if (v.norms != NormPlaces::kBehind) layer.attention_norm = v.norm;
  if (v.norms == NormPlaces::kBefore || v.norms == NormPlaces::kBoth) layer.mlp_norm = v.norm;
  if (v.norms == NormPlaces::kBehind || v.norms == NormPlaces::kBoth)
    layer.attention_output_norm = layer.mlp_output_norm = v.norm;
  return layer;
}

// Which layers have experts: every `step`-th, counted from 1, of those from `first` to `last`.
struct SparseLayers {
  int64_t first = 0, last = kMaxLayers, step = 1;

  bool Has(int64_t layer) const {
    return layer >= first && layer <= last && (layer + 1) % step == 0;
  }
  bool all(int64_t layers) const { return first == 0 && last >= layers - 1 && step == 1; }
};

// Layers with the MLP or, where there are experts, with these.
void AppendLayers(const Config& config, int64_t layers, const Variant& v, const Attention& usual,
                  const std::optional<Moe>& moe, const SparseLayers& sparse, Model* model) {
  const int64_t window = v.window.empty() ? 0 : ReadWindow(config, v.window, v.default_window);
  const std::vector<Span> spans = ReadSpans(config, layers, [&](int64_t layer) {
    const bool full = window == 0 || (v.full_every > 0 && (layer + 1) % v.full_every == 0);
    return full ? Span::kFull : Span::kSliding;
  });
  const bool any_dense = !moe.has_value() || !sparse.all(layers);
  const Mlp mlp = any_dense ? ReadMlp(config, v) : Mlp();
  Stack& stack = model->stacks.emplace_back();
  for (size_t i = 0; i < spans.size(); ++i) {
    Attention attention = usual;
    attention.window = spans[i] == Span::kSliding ? window : 0;
    Layer layer = LayerOf(attention, v);
    if (moe.has_value() && sparse.Has(static_cast<int64_t>(i))) {
      layer.moe = moe;
    } else {
      layer.mlp = mlp;
    }
    AppendLayer(stack, std::move(layer));
  }
  stack.final_norm = v.norm;
}

void ReadDense(const FamilyInput& input, const Variant& v, Model* model) {
  const int64_t layers =
      StartDecoder(input, {.default_positions = v.positions, .tied = v.tied}, model);
  const Attention attention = ReadAttention(input.config, *model, v);
  AppendLayers(input.config, layers, v, attention, std::nullopt, {}, model);
}

struct ExpertFields {
  std::string_view ffn = "moe_intermediate_size";
  std::string_view top_k_field = "num_experts_per_tok";
  int64_t experts = 0, top_k = 0;  // where the configuration does not say
  std::string_view shared = "";    // field of the number of shared experts
  int64_t default_shared = 0;
  std::string_view shared_bias = "";  // field of their biases
  std::string_view first = "";        // field of the first layer with experts
  int64_t default_first = 0;
  std::string_view last = "", step = "";  // and of SparseLayers' others
  bool balance_bias = false;
};

void ReadSparse(const FamilyInput& input, const Variant& v, const ExpertFields& fields,
                Model* model) {
  const Config& config = input.config;
  const int64_t layers =
      StartDecoder(input, {.default_positions = v.positions, .tied = v.tied}, model);
  const Attention attention = ReadAttention(config, *model, v);
  Moe moe;
  moe.experts =
      config.Count("num_experts|num_local_experts|n_routed_experts|moe_num_experts", kMaxExperts,
                   fields.experts > 0 ? std::optional(fields.experts) : std::nullopt);
  moe.top_k = config.Count(fields.top_k_field, kMaxExperts,
                           fields.top_k > 0 ? std::optional(fields.top_k) : std::nullopt);
  moe.expert = ReadGatedMlp(config, fields.ffn);
  moe.balance_bias = fields.balance_bias;
  CheckTopK(config, fields.top_k_field, moe);
  const int64_t shared =
      fields.shared.empty() ? fields.default_shared
                            : config.CountOrZero(fields.shared, kMaxExperts, fields.default_shared);
  moe.shared = moe.expert;
  moe.shared.ffn = shared * moe.expert.ffn;
  if (!fields.shared_bias.empty())
    moe.shared.up_bias = moe.shared.down_bias = config.Flag(fields.shared_bias, false);
  if (moe.shared.ffn > kMaxFfn)
    config.Fail(fields.shared, "the shared experts together are too large");
  SparseLayers sparse;
  if (!fields.first.empty())
    sparse.first = config.CountOrZero(fields.first, kMaxLayers, fields.default_first);
  // -1: the last there is.
  if (!fields.last.empty() && !config.IsNumber(fields.last, -1))
    sparse.last = config.CountOrZero(fields.last, kMaxLayers, kMaxLayers);
  if (!fields.step.empty()) sparse.step = config.Count(fields.step, kMaxLayers, 1);
  AppendLayers(config, layers, v, attention, moe, sparse, model);
}

constexpr Norm kPlainLayerNorm = {.kind = NormKind::kLayer, .weight = true, .bias = false};

}  // namespace

void ReadOlmo2(const FamilyInput& input, Model* model) {
  Variant v = {.qk_norm = QkNorm::kAllHeads, .norms = NormPlaces::kBehind};
  if (model->family == "olmo3") {
    v.window = "sliding_window";
    v.full_every = 4;
  }
  ReadDense(input, v, model);
}

void ReadGranite(const FamilyInput& input, Model* model) {
  ReadDense(input, {.mlp_bias = "mlp_bias"}, model);
}

void ReadGlm(const FamilyInput& input, Model* model) {
  ReadDense(input,
            {.positions = 131072,
             .kv_heads = 2,
             .head_dim = 128,
             .qkv_bias_unless = model->family == "glm4",
             .output_bias = "",
             .norms = model->family == "glm4" ? NormPlaces::kBoth : NormPlaces::kBefore,
             .fused_gate_up = true},
            model);
}

void ReadStarcoder2(const FamilyInput& input, Model* model) {
  ReadDense(input,
            {.positions = 4096,
             .tied = true,
             .kv_heads = 2,
             .qkv_bias = "use_bias",
             .qkv_bias_unless = true,
             .output_bias = "use_bias",
             .output_bias_unless = true,
             .mlp_bias = "use_bias",
             .mlp_bias_unless = true,
             .norm = LayerNorm(),
             .gated = false,
             .activation = "gelu_pytorch_tanh",
             .window = "sliding_window",
             .default_window = 0,
             .full_every = 0},
            model);
}

void ReadSmollm3(const FamilyInput& input, Model* model) {
  ReadDense(input, {.positions = 32768, .tied = true, .kv_heads = 4, .mlp_bias = "mlp_bias"},
            model);
}

void ReadExaone4(const FamilyInput& input, Model* model) {
  ReadDense(input,
            {.qkv_bias = "",
             .output_bias = "",
             .qk_norm = QkNorm::kPerHead,
             .norms = NormPlaces::kBehind,
             .window = "sliding_window",
             .full_every = input.config.IsNull("sliding_window_pattern")
                               ? 1
                               : input.config.Count("sliding_window_pattern", kMaxLayers, 4)},
            model);
}

void ReadSeedOss(const FamilyInput& input, Model* model) {
  ReadDense(input,
            {.positions = 524288,
             .kv_heads = 8,
             .head_dim = 128,
             .qkv_bias_unless = true,
             .output_bias = "attention_out_bias",
             .mlp_bias = "mlp_bias"},
            model);
}

void ReadHunyuan(const FamilyInput& input, Model* model) {
  ReadDense(input, {.qk_norm = QkNorm::kPerHead}, model);
}

void ReadErnie(const FamilyInput& input, Model* model) {
  ReadDense(input,
            {.positions = 131072,
             .tied = true,
             .kv_heads = 2,
             .head_dim = 128,
             .qkv_bias = "use_bias",
             .output_bias = "use_bias",
             .mlp_bias = "use_bias"},
            model);
}

void ReadCohere(const FamilyInput& input, Model* model) {
  Variant v = {
      .positions = 8192, .tied = true, .norms = NormPlaces::kShared, .norm = kPlainLayerNorm};
  if (model->family == "cohere2") {
    v.window = "sliding_window";
    v.full_every =
        input.config.Count("sliding_window_pattern|_sliding_window_pattern", kMaxLayers, 4);
  } else if (input.config.Flag("use_qk_norm", false)) {
    v.qk_norm = QkNorm::kAllHeads;
  }
  ReadDense(input, v, model);
}

void ReadStablelm(const FamilyInput& input, Model* model) {
  ReadDense(
      input,
      {.positions = 4096,
       .kv_heads = 32,
       .qkv_bias = "use_qkv_bias",
       .output_bias = "",
       .qk_norm = input.config.Flag("qk_layernorm", false) ? QkNorm::kAllHeads : QkNorm::kNone,
       .norms = input.config.Flag("use_parallel_residual", false) ? NormPlaces::kShared
                                                                  : NormPlaces::kBefore,
       .norm = LayerNorm()},
      model);
}

void ReadOlmoe(const FamilyInput& input, Model* model) {
  ReadSparse(input, {.positions = 4096, .qk_norm = QkNorm::kAllHeads},
             {.ffn = "intermediate_size", .experts = 64, .top_k = 8}, model);
}

void ReadGraniteMoe(const FamilyInput& input, Model* model) {
  ReadSparse(input, {}, {.ffn = "intermediate_size", .experts = 8, .top_k = 2}, model);
}

void ReadDots1(const FamilyInput& input, Model* model) {
  ReadSparse(
      input,
      {.kv_heads = 32, .qk_norm = QkNorm::kPerHead, .window = "sliding_window", .full_every = 1},
      {.shared = "n_shared_experts", .first = "first_k_dense_replace", .balance_bias = true},
      model);
}

void ReadGlm4Moe(const FamilyInput& input, Model* model) {
  ReadSparse(
      input,
      {.positions = 131072,
       .kv_heads = 8,
       .output_bias = "",
       .qk_norm = input.config.Flag("use_qk_norm", false) ? QkNorm::kPerHead : QkNorm::kNone},
      {.experts = 128,
       .top_k = 8,
       .shared = "n_shared_experts",
       .default_shared = 1,
       .first = "first_k_dense_replace",
       .default_first = 1,
       .balance_bias = true},
      model);
}

void ReadMinimaxM2(const FamilyInput& input, Model* model) {
  ReadSparse(input,
             {.positions = 196608,
              .kv_heads = 8,
              .head_dim = 128,
              .qkv_bias = "",
              .output_bias = "",
              .qk_norm = QkNorm::kAllHeads},
             {.ffn = "intermediate_size", .experts = 256, .top_k = 8, .balance_bias = true}, model);
}

void ReadErnieMoe(const FamilyInput& input, Model* model) {
  ReadSparse(input,
             {.positions = 131072,
              .tied = true,
              .kv_heads = 4,
              .qkv_bias = "use_bias",
              .output_bias = "use_bias",
              .mlp_bias = "use_bias"},
             {.top_k_field = "moe_k|num_experts_per_tok",
              .experts = 64,
              .top_k = 6,
              .shared = "moe_num_shared_experts",
              .default_shared = 2,
              .shared_bias = "use_bias",
              .first = "moe_layer_start_index",
              .default_first = 1,
              .last = "moe_layer_end_index",
              .step = "moe_layer_interval",
              .balance_bias = true},
             model);
  model->head.bias = model->head.outputs > 0 && input.task == Task::kLanguageModel &&
                     input.config.Flag("use_bias", false);
}

// Each layer has an MLP beside the experts, of their size.
void ReadHunyuanMoe(const FamilyInput& input, Model* model) {
  ReadSparse(input, {.qk_norm = QkNorm::kPerHead},
             {.ffn = "intermediate_size",
              .top_k_field = "moe_topk|num_experts_per_tok",
              .experts = 1,
              .top_k = 1,
              .default_shared = 1},
             model);
}

void ReadApertus(const FamilyInput& input, Model* model) {
  ReadDense(
      input,
      {.positions = 65536, .qk_norm = QkNorm::kPerHead, .gated = false, .activation = "xielu"},
      model);
}

const TensorLayout& ApertusLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kAttentionNorm, "attention_layernorm.*"},
                                 {Part::kMlpNorm, "feedforward_layernorm.*"}}};
  return *kLayout;
}

const TensorLayout& PostNormLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kAttentionOutputNorm, "post_attention_layernorm.*"},
                                 {Part::kMlpOutputNorm, "post_feedforward_layernorm.*"}}};
  return *kLayout;
}

const TensorLayout& Glm4Layout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kAttentionOutputNorm, "post_self_attn_layernorm.*"},
                                 {Part::kMlpOutputNorm, "post_mlp_layernorm.*"}}};
  return *kLayout;
}

const TensorLayout& HunyuanLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kQueryNorm, "self_attn.query_layernorm.*"},
                                 {Part::kKeyNorm, "self_attn.key_layernorm.*"}}};
  return *kLayout;
}

const TensorLayout& Starcoder2Layout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kMlpUp, "mlp.c_fc.*"}, {Part::kMlpDown, "mlp.c_proj.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
