#include "meshwright/model/families/common.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer {
namespace {

struct NamedActivation {
  const char* name;
  Activation activation;
};

constexpr NamedActivation kActivations[] = {
    {"gelu", Activation::kGelu},         {"gelu_new", Activation::kGelu},
    {"gelu_fast", Activation::kGelu},    {"gelu_pytorch_tanh", Activation::kGelu},
    {"quick_gelu", Activation::kGelu},   {"relu", Activation::kRelu},
    {"relu2", Activation::kSquaredRelu}, {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},        {"xielu", Activation::kXielu},
};

Span SpanOf(const Config& config, std::string_view name, size_t index) {
  if (name == "full_attention") return Span::kFull;
  if (name == "sliding_attention") return Span::kSliding;
  if (name == "chunked_attention") return Span::kChunked;
  config.FailAt("layer_types", index,
                StrCat("\"", name.substr(0, 60),
                       "\" layers are not described; valid are "
                       "full_attention, sliding_attention, chunked_attention"));
  return Span::kFull;
}

}  // namespace

std::string DivisorsText(int64_t n, int64_t wanted) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    divisors.push_back(d);
    if (d != n / d) divisors.push_back(n / d);
  }
  constexpr size_t kMost = 8;
  if (divisors.size() > kMost) {
    std::sort(divisors.begin(), divisors.end(), [wanted](int64_t a, int64_t b) {
      return std::abs(a - wanted) < std::abs(b - wanted);
    });
    divisors.resize(kMost);
  }
  std::sort(divisors.begin(), divisors.end());
  return absl::StrJoin(divisors, ", ");
}

int64_t StartDecoder(const FamilyInput& input, const ModelFields& fields, Model* model) {
  const Config& config = input.config;
  model->hidden = config.Count(fields.hidden, kMaxWidth);
  const int64_t layers = config.Count(fields.layers, kMaxLayers, fields.default_layers);
  model->max_sequence = config.Count(fields.positions, kMaxVocabulary,
                                     std::max<int64_t>(fields.default_positions, 1));
  model->embedding.vocabulary =
      config.Count(fields.vocabulary, kMaxVocabulary, fields.default_vocabulary);
  model->embedding.dim = model->hidden;
  if (input.task == Task::kLanguageModel) {
    model->head.outputs = model->embedding.vocabulary;
    model->head.tied = config.Flag("tie_word_embeddings", fields.tied);
  } else if (input.task == Task::kSequenceClassification) {
    model->head.outputs = input.labels;
    model->head.every_token = false;
  }
  return config.ok() ? layers : 0;
}

Attention ReadHeads(const Config& config, int64_t hidden, const AttentionFields& fields) {
  Attention attention;
  attention.heads = config.Count(fields.heads, kMaxWidth, fields.default_heads);
  const int64_t kv_heads = fields.default_kv_heads > 0 ? fields.default_kv_heads : attention.heads;
  attention.kv_heads =
      fields.kv_heads.empty() ? kv_heads : config.Count(fields.kv_heads, kMaxWidth, kv_heads);
  int64_t head_dim = fields.default_head_dim;
  if (!fields.head_dim.empty() && config.Has(fields.head_dim)) {
    head_dim = config.Count(fields.head_dim, kMaxWidth);
  }
  if (head_dim == 0) {
    if (hidden % attention.heads != 0) {
      config.Fail(fields.heads,
                  StrCat("the hidden size ", hidden, " is no multiple of ", attention.heads,
                         " heads; valid numbers of heads near it are ",
                         DivisorsText(hidden, attention.heads),
                         fields.head_dim.empty() ? "" : ", or the size of a head has to be given"));
    }
    head_dim = std::max<int64_t>(hidden / attention.heads, 1);
  }
  if (attention.heads % attention.kv_heads != 0) {
    config.Fail(fields.kv_heads.empty() ? fields.heads : fields.kv_heads,
                StrCat(attention.heads, " heads cannot share ", attention.kv_heads,
                       " heads of keys and values evenly; valid near it are ",
                       DivisorsText(attention.heads, attention.kv_heads)));
  }
  if (attention.heads * head_dim > kMaxProjection) {
    config.Fail(fields.heads,
                StrCat(attention.heads, " heads of ", head_dim, " elements are too many; at most ",
                       kMaxProjection, " elements in all are supported"));
  }
  attention.qk_head_dim = attention.v_head_dim = head_dim;
  return attention;
}

bool ReadPatches(const Config& config, const PatchEmbedding& unless, Model* model) {
  PatchEmbedding patches = unless;
  patches.image = config.Count("image_size", kMaxWidth, unless.image);
  patches.patch = config.Count("patch_size", kMaxWidth, unless.patch);
  patches.channels = config.Count("num_channels", kMaxWidth, unless.channels);
  if (patches.side() == 0 || patches.side() * patches.side() >= kMaxVocabulary) {
    config.Fail("patch_size",
                absl::StrCat("an image of ", patches.image,
                             " pixels has no patches, "
                             "or too many, of this size; valid are 1 to ",
                             patches.image, ", and at most ", kMaxVocabulary, " patches"));
    return false;
  }
  model->embedding.patches = patches;
  model->embedding.positions = patches.side() * patches.side() + (patches.class_token ? 1 : 0);
  model->max_sequence = model->embedding.positions;
  return true;
}

void SetBiases(Attention& attention, bool qkv, bool output) {
  attention.q_bias = attention.k_bias = attention.v_bias = qkv;
  attention.o_bias = output;
}

Activation ReadActivation(const Config& config, std::string_view field, std::string_view fallback) {
  const std::string name = config.Text(field, fallback);
  for (const NamedActivation& row : kActivations) {
    if (name == row.name) return row.activation;
  }
  config.Fail(
      field, StrCat("unknown activation \"", std::string_view(name).substr(0, 60), "\"; valid are ",
                    absl::StrJoin(kActivations, ", ", [](std::string* out, const auto& row) {
                      out->append(row.name);
                    })));
  return Activation::kGelu;
}

Mlp ReadGatedMlp(const Config& config, std::string_view ffn) {
  Mlp mlp;
  mlp.ffn = config.Count(ffn, kMaxFfn);
  mlp.gated = true;
  mlp.activation = ReadActivation(config, "hidden_act|hidden_activation", "silu");
  return mlp;
}

std::vector<Span> ReadSpans(const Config& config, int64_t layers,
                            const std::function<Span(int64_t layer)>& usual) {
  std::vector<Span> spans;
  const std::optional<std::vector<std::string>> names = config.Texts("layer_types");
  if (names.has_value() && std::ssize(*names) != layers) {
    config.Fail("layer_types", absl::StrCat("expected ", layers, " elements, one per layer, found ",
                                            names->size()));
  }
  for (int64_t i = 0; i < layers && config.ok(); ++i) {
    spans.push_back(names.has_value() ? SpanOf(config, (*names)[i], i) : usual(i));
  }
  return spans;
}

int64_t ReadWindow(const Config& config, std::string_view field, int64_t fallback) {
  return config.CountOrZero(field, kMaxVocabulary, config.IsNull(field) ? 0 : fallback);
}

std::string LayerName(const Layer& layer) {
  const bool both = layer.feeds_forward() && (layer.attends() || layer.recurrence.has_value());
  const char* const feed = layer.moe.has_value() ? "moe" : both ? "dense" : "mlp";
  const char* const along = layer.recurrence.has_value() ? "recurrent" : both ? "" : "attention";
  std::string name = both || !layer.feeds_forward() ? along : "";
  if (layer.feeds_forward()) absl::StrAppend(&name, name.empty() ? "" : "-", feed);
  return absl::StrCat(name, layer.attention.window > 0 ? "-sliding" : "",
                      layer.attention.chunk > 0 ? "-chunked" : "");
}

void AppendLayer(Stack& stack, Layer layer) {
  if (layer.name.empty()) layer.name = LayerName(layer);
  const auto same = std::find(stack.kinds.begin(), stack.kinds.end(), layer);
  stack.layers.push_back(static_cast<int32_t>(same - stack.kinds.begin()));
  if (same == stack.kinds.end()) stack.kinds.push_back(std::move(layer));
}

Stack EqualLayers(const Layer& layer, int64_t layers, const Norm& final_norm) {
  Stack stack;
  for (int64_t i = 0; i < layers; ++i) AppendLayer(stack, layer);
  stack.final_norm = final_norm;
  return stack;
}

void CheckTopK(const Config& config, std::string_view field, const Moe& moe) {
  if (moe.top_k <= moe.experts) return;
  config.Fail(field, absl::StrCat("a token cannot go to ", moe.top_k, " of ", moe.experts,
                                  " experts; valid are 1 to ", moe.experts));
}

}  // namespace meshwright::transformer
