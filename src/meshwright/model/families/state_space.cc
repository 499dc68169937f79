#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/model/families/common.h"

// Decoders whose layers, or most of them, have a recurrence in place of attention: Mamba, Falcon
// Mamba, Mamba-2, Jamba, Bamba, Granite 4, Nemotron-H, Qwen 3 Next, LFM2, RecurrentGemma, MiniMax.

namespace meshwright::transformer {
namespace {

constexpr int64_t kSelectiveChannels = 16;  // of the hidden size, a rank of steps (time_step_rank)

// Names of fields, and what they are without.
struct RecurrenceFields {
  std::string_view state, taps = "conv_kernel", expand = "expand", bias = "use_bias",
                          convolution_bias = "use_conv_bias";
  int64_t default_state = 0;
  std::string_view rank = "", heads = "", head_dim = "", groups = "", chunk = "";
  int64_t default_heads = 0, default_head_dim = 0, default_groups = 0;
};

int64_t Expanded(const Config& config, const RecurrenceFields& fields, int64_t hidden) {
  constexpr int64_t kExpand = 2, kMostExpand = 64;
  return hidden * config.Count(fields.expand, kMostExpand, kExpand);
}

void ReadConvolution(const Config& config, const RecurrenceFields& fields, Recurrence* r) {
  constexpr int64_t kTaps = 4;
  r->taps = config.Count(fields.taps, kMaxWidth, kTaps);
  r->bias = config.Flag(fields.bias, false);
  r->convolution_bias = config.Flag(fields.convolution_bias, true);
}

Recurrence ReadSelective(const Config& config, const RecurrenceFields& fields, int64_t hidden) {
  Recurrence r = {.kind = RecurrenceKind::kSelective, .heads = 1};
  r.head_dim = Expanded(config, fields, hidden);
  r.state = config.Count(fields.state, kMaxWidth, fields.default_state);
  const int64_t rank = (hidden + kSelectiveChannels - 1) / kSelectiveChannels;
  r.rank = config.IsText(fields.rank, "auto") ? rank : config.Count(fields.rank, kMaxWidth, rank);
  ReadConvolution(config, fields, &r);
  return r;
}

Recurrence ReadDual(const Config& config, const RecurrenceFields& fields, int64_t hidden) {
  constexpr int64_t kChunk = 256;
  Recurrence r = {.kind = RecurrenceKind::kStateSpaceDual};
  const bool expands = !fields.expand.empty();
  const int64_t inner = expands ? Expanded(config, fields, hidden) : 0;
  r.heads = config.Count(fields.heads, kMaxProjection, fields.default_heads);
  const bool given = !config.IsText(fields.head_dim, "auto");
  const int64_t usual = fields.default_head_dim > 0 ? fields.default_head_dim : inner / r.heads;
  r.head_dim = given ? config.Count(fields.head_dim, kMaxWidth, std::max<int64_t>(1, usual))
                     : std::max<int64_t>(1, inner / r.heads);
  r.groups = config.Count(fields.groups, kMaxWidth, fields.default_groups);
  r.state = config.Count(fields.state, kMaxWidth, fields.default_state);
  r.chunk = config.Count(fields.chunk, kMaxVocabulary, kChunk);
  ReadConvolution(config, fields, &r);
  if (expands && r.channels() != inner) {
    config.Fail(fields.heads, StrCat(r.heads, " heads of ", r.head_dim, " channels are not the ",
                                     inner, " of ", fields.expand, " x the hidden size"));
  }
  return r;
}

// Layers of a norm and a recurrence.
void AppendRecurrences(const Recurrence& recurrence, int64_t layers, Model* model) {
  Layer layer;
  layer.recurrence = recurrence;
  layer.attention_norm = RmsNorm();
  model->stacks.push_back(EqualLayers(layer, layers, RmsNorm()));
}

// Words of configurations, of several releases of transformers.
constexpr std::string_view kAttentionWords[] = {"attention", "full_attention"};
constexpr std::string_view kRecurrenceWords[] = {"mamba", "linear_attention", "conv"};

template <typename Words>
std::string WordsText(const Words& words) {
  std::string text;
  for (const std::string_view word : words) StrAppend(&text, text.empty() ? "" : ", ", word);
  return text;
}

using Attends = std::function<bool(int64_t layer)>;

// Which layers have attention, by a list of words if it is there, else as `usual`.
std::vector<bool> ReadKinds(const Config& config, int64_t layers, const Attends& usual) {
  constexpr std::string_view kField = "layer_types|layers_block_type";
  const auto among = [](const auto& known, std::string_view word) {
    return std::find(std::begin(known), std::end(known), word) != std::end(known);
  };
  std::vector<bool> attends(layers);
  const std::optional<std::vector<std::string>> words = config.Texts(kField);
  if (words.has_value() && std::ssize(*words) != layers) {
    config.Fail(kField, StrCat("found ", words->size(), " layers, expected ", layers));
    return attends;
  }
  for (int64_t i = 0; i < layers; ++i) {
    attends[i] = words.has_value() ? among(kAttentionWords, (*words)[i]) : usual(i);
    if (words.has_value() && !attends[i] && !among(kRecurrenceWords, (*words)[i])) {
      config.FailAt(kField, i,
                    StrCat("\"", std::string_view((*words)[i]).substr(0, 60),
                           "\" layers are not described; valid are ", WordsText(kAttentionWords),
                           ", ", WordsText(kRecurrenceWords)));
    }
  }
  return attends;
}

void AppendHybrid(const std::vector<bool>& attends, const Attention& attention,
                  const Recurrence& recurrence, const std::function<void(int64_t, Layer*)>& feed,
                  Model* model) {
  Stack& stack = model->stacks.emplace_back();
  for (size_t i = 0; i < attends.size(); ++i) {
    Layer layer;
    if (attends[i]) {
      layer.attention = attention;
    } else {
      layer.recurrence = recurrence;
    }
    layer.attention_norm = layer.mlp_norm = RmsNorm();
    feed(static_cast<int64_t>(i), &layer);
    AppendLayer(stack, std::move(layer));
  }
  stack.final_norm = RmsNorm();
}

constexpr RecurrenceFields kSelectiveFields = {
    .state = "state_size", .default_state = 16, .rank = "time_step_rank"};
constexpr RecurrenceFields kDualFields = {.state = "state_size",
                                          .default_state = 128,
                                          .heads = "num_heads",
                                          .head_dim = "head_dim",
                                          .groups = "n_groups",
                                          .chunk = "chunk_size",
                                          .default_heads = 128,
                                          .default_head_dim = 64,
                                          .default_groups = 8};
// Of models that have attention, too.
constexpr RecurrenceFields kHybridSelective = {.state = "mamba_d_state",
                                               .taps = "mamba_d_conv",
                                               .expand = "mamba_expand",
                                               .bias = "mamba_proj_bias",
                                               .convolution_bias = "mamba_conv_bias",
                                               .default_state = 16,
                                               .rank = "mamba_dt_rank"};
constexpr RecurrenceFields kHybridDual = {.state = "mamba_d_state",
                                          .taps = "mamba_d_conv",
                                          .expand = "mamba_expand",
                                          .bias = "mamba_proj_bias",
                                          .convolution_bias = "mamba_conv_bias",
                                          .default_state = 256,
                                          .heads = "mamba_n_heads",
                                          .head_dim = "mamba_d_head",
                                          .groups = "mamba_n_groups",
                                          .chunk = "mamba_chunk_size",
                                          .default_heads = 128,
                                          .default_groups = 1};

// There are no positions, so that no longest sequence follows from the configuration.
int64_t StartRecurrent(const FamilyInput& input, bool tied, Model* model) {
  const int64_t layers = StartDecoder(input, {.default_vocabulary = 50280, .tied = tied}, model);
  model->max_sequence = 0;
  return layers;
}

}  // namespace

void ReadMamba(const FamilyInput& input, Model* model) {
  const int64_t layers = StartRecurrent(input, /*tied=*/true, model);
  AppendRecurrences(ReadSelective(input.config, kSelectiveFields, model->hidden), layers, model);
}

void ReadMamba2(const FamilyInput& input, Model* model) {
  const int64_t layers = StartRecurrent(input, /*tied=*/false, model);
  AppendRecurrences(ReadDual(input.config, kDualFields, model->hidden), layers, model);
}

void ReadJamba(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 262144}, model);
  Attention attention = ReadHeads(config, model->hidden, {.head_dim = "", .default_kv_heads = 8});
  attention.position = PositionKind::kNone;
  Recurrence recurrence = ReadSelective(config, kHybridSelective, model->hidden);
  recurrence.norms = true;
  // Every period-th layer from an offset on.
  const auto every = [&](std::string_view period, int64_t usual, std::string_view offset,
                         int64_t usual_offset) {
    const int64_t n = config.Count(period, kMaxLayers, usual);
    const int64_t first = config.CountOrZero(offset, kMaxLayers, usual_offset);
    return [n, first](int64_t layer) { return layer % n == first; };
  };
  const std::vector<bool> attends =
      ReadKinds(config, layers, every("attn_layer_period", 8, "attn_layer_offset", 4));
  const auto has_experts = every("expert_layer_period", 2, "expert_layer_offset", 1);
  const Mlp mlp = ReadGatedMlp(config);
  Moe moe = {.expert = mlp};
  moe.experts = config.Count("num_experts", kMaxExperts, 16);
  moe.top_k = config.Count("num_experts_per_tok", kMaxExperts, 2);
  if (moe.experts > 1) CheckTopK(config, "num_experts_per_tok", moe);
  AppendHybrid(
      attends, attention, recurrence,
      [&](int64_t i, Layer* layer) {
        if (moe.experts > 1 && has_experts(i)) {
          layer->moe = moe;
        } else {
          layer->mlp = mlp;
        }
      },
      model);
}

void ReadBamba(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 262144}, model);
  Attention attention = ReadHeads(config, model->hidden, {.head_dim = "", .default_kv_heads = 8});
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  const std::vector<int64_t> indices =
      config.Counts("attn_layer_indices", kMaxLayers).value_or(std::vector<int64_t>());
  const std::vector<bool> attends = ReadKinds(config, layers, [&](int64_t i) {
    return std::find(indices.begin(), indices.end(), i) != indices.end();
  });
  Mlp mlp = ReadGatedMlp(config);
  mlp.up_bias = mlp.down_bias = config.Flag("mlp_bias", false);
  AppendHybrid(
      attends, attention, ReadDual(config, kHybridDual, model->hidden),
      [&](int64_t, Layer* layer) { layer->mlp = mlp; }, model);
}

void ReadGraniteHybrid(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 2048}, model);
  Attention attention = ReadHeads(config, model->hidden, {.head_dim = ""});
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  if (!config.IsText("position_embedding_type", "rope")) attention.position = PositionKind::kNone;
  const std::vector<bool> attends = ReadKinds(config, layers, [](int64_t) { return false; });
  Mlp shared = {.gated = true, .fused_gate_up = true};
  shared.ffn = config.Count("shared_intermediate_size", kMaxFfn, 1024);
  shared.activation = ReadActivation(config, "hidden_act", "silu");
  Moe moe = {.shared = shared, .fused_experts = true};
  moe.experts = config.CountOrZero("num_local_experts", kMaxExperts, 8);
  moe.top_k = config.CountOrZero("num_experts_per_tok", kMaxExperts, 2);
  if (moe.experts > 0) {
    moe.expert = ReadGatedMlp(config);
    CheckTopK(config, "num_experts_per_tok", moe);
  }
  AppendHybrid(
      attends, attention, ReadDual(config, kHybridDual, model->hidden),
      [&](int64_t, Layer* layer) {
        if (moe.experts > 0) {
          layer->moe = moe;
        } else {
          layer->mlp = shared;
        }
      },
      model);
}

namespace {

// What a layer of Nemotron-H has, one half alone: by letters of a pattern or by words.
enum class HalfKind { kRecurrence, kAttention, kMlp, kExperts };

std::vector<HalfKind> ReadHalves(const Config& config) {
  constexpr std::string_view kWordsField = "layers_block_type|layer_types";
  constexpr std::string_view kLetters = "M*-E";  // in the order of HalfKind
  std::vector<HalfKind> halves;
  if (const auto words = config.Texts(kWordsField); words.has_value()) {
    for (size_t i = 0; i < words->size(); ++i) {
      const std::string& word = (*words)[i];
      if (word == "mamba" || word == "linear_attention") {
        halves.push_back(HalfKind::kRecurrence);
      } else if (word == "attention" || word == "full_attention") {
        halves.push_back(HalfKind::kAttention);
      } else if (word == "mlp" || word == "moe") {
        halves.push_back(word == "mlp" ? HalfKind::kMlp : HalfKind::kExperts);
      } else {
        config.FailAt(kWordsField, i,
                      StrCat("\"", std::string_view(word).substr(0, 60),
                             "\" layers are not described; valid are linear_attention, "
                             "full_attention, mlp, moe"));
      }
    }
    return halves;
  }
  const std::string pattern = config.Text("hybrid_override_pattern", "MEMEM*-");
  for (const char letter : pattern) {
    const size_t kind = kLetters.find(letter);
    if (kind == std::string_view::npos) {
      config.Fail("hybrid_override_pattern",
                  StrCat("found '", std::string(1, letter), "', expected M, *, - or E a layer"));
      return halves;
    }
    halves.push_back(static_cast<HalfKind>(kind));
  }
  return halves;
}

constexpr RecurrenceFields kNemotronFields = {.state = "ssm_state_size|mamba_d_state",
                                              .taps = "conv_kernel|mamba_d_conv",
                                              .expand = "",
                                              .convolution_bias = "use_conv_bias|mamba_conv_bias",
                                              .default_state = 128,
                                              .heads = "mamba_num_heads",
                                              .head_dim = "mamba_head_dim",
                                              .groups = "n_groups|mamba_n_groups",
                                              .chunk = "chunk_size|mamba_chunk_size",
                                              .default_heads = 128,
                                              .default_head_dim = 64,
                                              .default_groups = 8};

Moe ReadNemotronExperts(const Config& config, const Mlp& mlp) {
  Moe moe = {.expert = mlp, .balance_bias = true, .shared = mlp};
  moe.experts = config.Count("n_routed_experts|num_local_experts", kMaxExperts, 8);
  moe.top_k = config.Count("num_experts_per_tok", kMaxExperts, 2);
  moe.expert.ffn = config.Count("moe_intermediate_size", kMaxFfn, 7688);
  moe.expert.up_bias = moe.expert.down_bias = false;  // the shared one's alone
  moe.shared.ffn = config.Count("moe_shared_expert_intermediate_size", kMaxFfn, 7688);
  if (config.Has("moe_latent_size"))
    config.Fail("moe_latent_size", "experts of another size than the residual stream are not read");
  CheckTopK(config, "num_experts_per_tok", moe);
  return moe;
}

}  // namespace

void ReadNemotronH(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const std::vector<HalfKind> halves = ReadHalves(config);
  StartDecoder(input,
               {.layers = "num_hidden_layers",
                .default_vocabulary = 131072,
                .default_layers = std::ssize(halves),
                .default_positions = 4096},
               model);
  Attention attention = ReadHeads(
      config, model->hidden, {.default_heads = 32, .default_kv_heads = 8, .default_head_dim = 128});
  attention.position = PositionKind::kNone;
  Mlp mlp = {.activation = ReadActivation(config, "mlp_hidden_act", "relu2")};
  mlp.up_bias = mlp.down_bias = config.Flag("mlp_bias", false);
  const bool any_experts =
      std::find(halves.begin(), halves.end(), HalfKind::kExperts) != halves.end();
  const Moe moe = any_experts ? ReadNemotronExperts(config, mlp) : Moe();
  mlp.ffn = config.Count("intermediate_size", kMaxFfn, 21504);
  const Recurrence recurrence = ReadDual(config, kNemotronFields, model->hidden);
  Stack& stack = model->stacks.emplace_back();
  for (const HalfKind half : halves) {
    Layer layer;
    const bool feeds = half == HalfKind::kMlp || half == HalfKind::kExperts;
    (feeds ? layer.mlp_norm : layer.attention_norm) = RmsNorm();
    if (half == HalfKind::kAttention) layer.attention = attention;
    if (half == HalfKind::kRecurrence) layer.recurrence = recurrence;
    if (half == HalfKind::kMlp) layer.mlp = mlp;
    if (half == HalfKind::kExperts) layer.moe = moe;
    AppendLayer(stack, std::move(layer));
  }
  stack.final_norm = RmsNorm();
}

void ReadQwen3Next(const FamilyInput& input, Model* model) {
  constexpr int64_t kChunk = 64;  // of the kernels
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 32768}, model);
  Attention attention = ReadHeads(
      config, model->hidden, {.default_heads = 16, .default_kv_heads = 2, .default_head_dim = 256});
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  attention.qk_norm = QkNorm::kPerHead;
  attention.output_gate = true;
  const int64_t every = config.Count("full_attention_interval", kMaxLayers, 4);
  const std::vector<bool> attends =
      ReadKinds(config, layers, [&](int64_t i) { return (i + 1) % every == 0; });
  Recurrence r = {.kind = RecurrenceKind::kGatedDelta, .chunk = kChunk};
  r.groups = config.Count("linear_num_key_heads", kMaxWidth, 16);
  r.heads = config.Count("linear_num_value_heads", kMaxWidth, 32);
  r.state = config.Count("linear_key_head_dim", kMaxWidth, 128);
  r.head_dim = config.Count("linear_value_head_dim", kMaxWidth, 128);
  r.taps = config.Count("linear_conv_kernel_dim", kMaxWidth, 4);
  Moe moe;
  moe.experts = config.CountOrZero("num_experts", kMaxExperts, 512);
  moe.top_k = config.Count("num_experts_per_tok", kMaxExperts, 10);
  moe.expert.ffn = config.Count("moe_intermediate_size", kMaxFfn, 512);
  moe.expert.gated = true;
  moe.expert.activation = ReadActivation(config, "hidden_act", "silu");
  moe.shared = moe.expert;
  moe.shared.ffn = config.Count("shared_expert_intermediate_size", kMaxFfn, 512);
  moe.shared_gate = true;
  const int64_t step = config.Count("decoder_sparse_step", kMaxLayers, 1);
  const std::vector<int64_t> dense =
      config.Counts("mlp_only_layers", kMaxLayers).value_or(std::vector<int64_t>());
  const auto sparse = [&](int64_t i) {
    return moe.experts > 0 && (i + 1) % step == 0 &&
           std::find(dense.begin(), dense.end(), i) == dense.end();
  };
  if (moe.experts > 0) CheckTopK(config, "num_experts_per_tok", moe);
  AppendHybrid(
      attends, attention, r,
      [&](int64_t i, Layer* layer) {
        if (sparse(i)) {
          layer->moe = moe;
        } else {
          layer->mlp = ReadGatedMlp(config);
        }
      },
      model);
}

void ReadLfm2(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 128000, .tied = true}, model);
  Attention attention = ReadHeads(config, model->hidden, {.head_dim = "", .default_kv_heads = 8});
  attention.qk_norm = QkNorm::kPerHead;
  const std::optional<std::vector<int64_t>> full = config.Counts("full_attn_idxs", kMaxLayers);
  const std::vector<bool> attends = ReadKinds(config, layers, [&](int64_t i) {
    return !full.has_value() || std::find(full->begin(), full->end(), i) != full->end();
  });
  Recurrence r = {.kind = RecurrenceKind::kConvolution, .heads = 1};
  r.head_dim = model->hidden;
  r.taps = config.Count("conv_L_cache", kMaxWidth, 3);
  r.bias = r.convolution_bias = config.Flag("conv_bias", false);
  Mlp mlp = {.gated = true, .activation = Activation::kSilu};
  mlp.ffn = config.Count("intermediate_size|block_ff_dim", kMaxFfn, 12288);
  if (config.Flag("block_auto_adjust_ff_dim", true)) {
    // Two thirds of it, times a factor, up to a multiple.
    const int64_t of = config.Count("block_multiple_of", kMaxFfn, 256);
    const double times = config.Real("block_ffn_dim_multiplier", 1);
    const int64_t adjusted = static_cast<int64_t>(
        times * static_cast<double>(2 * mlp.ffn / 3));  // NOLINT(bugprone-integer-division)
    mlp.ffn = (adjusted + of - 1) / of * of;
  }
  AppendHybrid(
      attends, attention, r, [&](int64_t, Layer* layer) { layer->mlp = mlp; }, model);
}

// MiniMax-Text-01 (arXiv:2501.08313), with experts in every layer.
void ReadMinimax(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_positions = 131072}, model);
  const Attention attention = ReadHeads(config, model->hidden, {.default_kv_heads = 8});
  const std::vector<bool> attends = ReadKinds(config, layers, [](int64_t i) { return i % 2 == 0; });
  const Recurrence r = {.kind = RecurrenceKind::kLightning,
                        .heads = attention.heads,
                        .head_dim = attention.v_head_dim,
                        .groups = attention.heads,
                        .state = attention.qk_head_dim,
                        .chunk = config.Count("block_size", kMaxVocabulary, 256)};
  Moe moe = {.expert = ReadGatedMlp(config)};
  moe.experts = config.Count("num_local_experts|num_experts", kMaxExperts, 8);
  moe.top_k = config.Count("num_experts_per_tok", kMaxExperts, 2);
  CheckTopK(config, "num_experts_per_tok", moe);
  AppendHybrid(
      attends, attention, r, [&](int64_t, Layer* layer) { layer->moe = moe; }, model);
}

void ReadRecurrentGemma(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input, {.default_vocabulary = 256000, .tied = true}, model);
  model->max_sequence = 0;
  Attention attention = ReadHeads(config, model->hidden, {.default_heads = 10});
  SetBiases(attention, config.Flag("attention_bias", false), true);
  attention.window = config.Count("attention_window_size", kMaxVocabulary, 2048);
  const std::vector<std::string> kinds =
      config.Texts("block_types|_block_types")
          .value_or(std::vector<std::string>{"recurrent", "recurrent", "attention"});
  std::vector<bool> attends;
  for (int64_t i = 0; i < layers; ++i) attends.push_back(kinds[i % kinds.size()] == "attention");
  Recurrence r = {.kind = RecurrenceKind::kGatedUnit, .bias = true, .convolution_bias = true};
  const int64_t width = config.Count("lru_width", kMaxWidth, model->hidden);
  r.heads = attention.heads;
  r.head_dim = std::max<int64_t>(1, width / r.heads);
  r.taps = config.Count("conv1d_width", kMaxWidth, 4);
  if (r.channels() != width)
    config.Fail("lru_width", StrCat(width, " is no multiple of ", r.heads, " heads"));
  Mlp mlp = {.gated = true, .up_bias = true, .down_bias = true};
  mlp.ffn = std::max<int64_t>(1, config.Count("intermediate_size", kMaxFfn) / 2);
  mlp.activation = ReadActivation(config, "hidden_activation", "gelu_pytorch_tanh");
  AppendHybrid(
      attends, attention, r, [&](int64_t, Layer* layer) { layer->mlp = mlp; }, model);
}

}  // namespace meshwright::transformer
