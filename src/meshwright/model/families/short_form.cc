// Reads our own short form of models (docs/models.md):
//
//   model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, gated: true, vocab:
//   128256}

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/yaml.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/families/common.h"
#include "meshwright/model/model_reader.h"

namespace meshwright::transformer {
namespace {

// The fields of the form, with their defaults; 0 where a default depends on others.
struct Fields {
  std::string name;
  int64_t layers = 0, encoder_layers = 0;
  int64_t hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t ffn = 0, vocab = 0, max_seq = 0;
  int64_t window = 0, full_every = 0;
  int64_t mtp = 0;
  bool gated = false, bias = false, qkv_bias = false, tied = false;
  bool qk_norm = false, parallel = false, causal = true;
  std::string norm = "rms", activation, position = "rope";
  // The fields of `experts`; count 0: none.
  int64_t experts = 0, top_k = 0, expert_ffn = 0, shared_ffn = 0;
  int64_t first = 0, every = 1;
  // The fields of `latent`; kv_rank 0: none.
  LatentAttention latent;
  int64_t v_head_dim = 0;
};

class ShortFormReader : public YamlReader {
 public:
  using YamlReader::YamlReader;

  absl::StatusOr<Model> Read(std::string_view text) {
    MW_RETURN_IF_ERROR(ReadDocument(
        text, "at least \"model: {layers: ..., hidden: ..., heads: ..., vocab: ...}\"", "model",
        [this](const YAML::Node& root) {
          return ReadMap(root, "the file", {{"model", true, [this](const YAML::Node& node) {
                                               model_ = node.Mark();
                                               return ReadModel(node);
                                             }}});
        }));
    return Describe();
  }

 private:
  // At the value of the model's `key`, or at the model if it has none.
  absl::Status ErrorOf(const std::string& key, const std::string& message) const {
    const auto mark = marks_.find(key);
    return ErrorAt(mark != marks_.end() ? mark->second : model_, message);
  }
  Field Count(const char* key, int64_t least, int64_t most, int64_t* value,
              bool required = false) const;
  Field Flag(const char* key, bool* value) const;
  Field Choice(const char* key, std::vector<std::string> valid, std::string* value) const;
  absl::Status ReadModel(const YAML::Node& node);
  absl::Status ReadExperts(const YAML::Node& node);
  absl::Status ReadLatent(const YAML::Node& node);

  absl::StatusOr<Model> Describe() const;
  absl::StatusOr<Attention> DescribeAttention() const;
  absl::StatusOr<Layer> DescribeLayer(bool moe) const;
  Activation ChosenActivation() const;
  Norm ChosenNorm() const {
    return fields_.norm == "layer" ? WithBias(NormKind::kLayer) : RmsNorm();
  }
  Norm WithBias(NormKind kind) const {
    return {.kind = kind, .weight = true, .bias = fields_.bias};
  }

  YAML::Mark model_ = YAML::Mark::null_mark();  // of the model's map
  std::map<std::string, YAML::Mark> marks_;     // of its values
  Fields fields_;
};

YamlReader::Field ShortFormReader::Count(const char* key, int64_t least, int64_t most,
                                         int64_t* value, bool required) const {
  return {key, required, [=, this](const YAML::Node& node) {
            if (node.IsScalar() && absl::SimpleAtoi(node.Scalar(), value) && *value >= least &&
                *value <= most) {
              return absl::OkStatus();
            }
            return Error(node, absl::StrCat(key, ": expected a whole number from ", least, " to ",
                                            most, ", found ", Quoted(node)));
          }};
}

YamlReader::Field ShortFormReader::Flag(const char* key, bool* value) const {
  return {key, false, [=, this](const YAML::Node& node) {
            if (node.IsScalar() && YAML::convert<bool>::decode(node, *value)) {
              return absl::OkStatus();
            }
            return Error(node, absl::StrCat(key, ": expected true or false, found ", Quoted(node)));
          }};
}

YamlReader::Field ShortFormReader::Choice(const char* key, std::vector<std::string> valid,
                                          std::string* value) const {
  return {key, false, [=, this](const YAML::Node& node) {
            if (node.IsScalar() &&
                std::find(valid.begin(), valid.end(), node.Scalar()) != valid.end()) {
              *value = node.Scalar();
              return absl::OkStatus();
            }
            return Error(node, absl::StrCat(key, ": valid are ", absl::StrJoin(valid, ", "),
                                            "; found ", Quoted(node)));
          }};
}

absl::Status ShortFormReader::ReadModel(const YAML::Node& node) {
  Fields& f = fields_;
  const Field name = {"name", false, [&](const YAML::Node& n) {
                        if (!n.IsScalar() || n.Scalar().empty()) {
                          return Error(n, absl::StrCat("name: expected text, found ", Quoted(n)));
                        }
                        f.name = n.Scalar();
                        return absl::OkStatus();
                      }};
  if (node.IsMap()) {
    for (const auto& entry : node) {
      if (entry.first.IsScalar()) marks_[entry.first.Scalar()] = entry.second.Mark();
    }
  }
  return ReadMap(node, "a model",
                 {name,
                  Count("layers", 1, kMaxLayers, &f.layers, true),
                  Count("hidden", 1, kMaxWidth, &f.hidden, true),
                  Count("heads", 1, kMaxWidth, &f.heads, true),
                  Count("kv_heads", 1, kMaxWidth, &f.kv_heads),
                  Count("head_dim", 1, kMaxWidth, &f.head_dim),
                  Count("ffn", 1, kMaxFfn, &f.ffn),
                  Count("vocab", 1, kMaxVocabulary, &f.vocab, true),
                  Count("max_seq", 1, kMaxSequence, &f.max_seq),
                  Flag("gated", &f.gated),
                  Flag("bias", &f.bias),
                  Flag("qkv_bias", &f.qkv_bias),
                  Flag("tied", &f.tied),
                  Flag("qk_norm", &f.qk_norm),
                  Flag("parallel", &f.parallel),
                  Flag("causal", &f.causal),
                  Choice("norm", {"rms", "layer"}, &f.norm),
                  Choice("activation", {"gelu", "relu", "silu", "squared_relu"}, &f.activation),
                  Choice("position", {"rope", "learned", "alibi", "none"}, &f.position),
                  Count("window", 1, kMaxSequence, &f.window),
                  Count("full_every", 1, kMaxLayers, &f.full_every),
                  Count("encoder_layers", 1, kMaxLayers, &f.encoder_layers),
                  Count("mtp", 1, 16, &f.mtp),
                  {"experts", false, [this](const YAML::Node& n) { return ReadExperts(n); }},
                  {"latent", false, [this](const YAML::Node& n) { return ReadLatent(n); }}});
}

absl::Status ShortFormReader::ReadExperts(const YAML::Node& node) {
  Fields& f = fields_;
  MW_RETURN_IF_ERROR(
      ReadMap(node, "experts",
              {Count("count", 1, kMaxExperts, &f.experts, true),
               Count("top_k", 1, kMaxExperts, &f.top_k, true),
               Count("ffn", 1, kMaxFfn, &f.expert_ffn, true),
               Count("shared_ffn", 1, kMaxFfn, &f.shared_ffn),
               Count("first", 0, kMaxLayers, &f.first), Count("every", 1, kMaxLayers, &f.every)}));
  if (f.top_k <= f.experts) return absl::OkStatus();
  return Error(node, absl::StrCat("a token cannot go to top_k = ", f.top_k, " of ", f.experts,
                                  " experts; valid are 1 to ", f.experts));
}

absl::Status ShortFormReader::ReadLatent(const YAML::Node& node) {
  LatentAttention& latent = fields_.latent;
  return ReadMap(node, "latent",
                 {Count("q_rank", 1, kMaxWidth, &latent.q_rank),
                  Count("kv_rank", 1, kMaxWidth, &latent.kv_rank, true),
                  Count("nope_head_dim", 1, kMaxWidth, &latent.nope_head_dim, true),
                  Count("rope_head_dim", 1, kMaxWidth, &latent.rope_head_dim, true),
                  Count("v_head_dim", 1, kMaxWidth, &fields_.v_head_dim, true)});
}

Activation ShortFormReader::ChosenActivation() const {
  if (fields_.activation == "gelu") return Activation::kGelu;
  if (fields_.activation == "relu") return Activation::kRelu;
  if (fields_.activation == "silu") return Activation::kSilu;
  if (fields_.activation == "squared_relu") return Activation::kSquaredRelu;
  return fields_.gated ? Activation::kSilu : Activation::kGelu;
}

absl::StatusOr<Attention> ShortFormReader::DescribeAttention() const {
  const Fields& f = fields_;
  Attention attention;
  attention.heads = f.heads;
  attention.kv_heads = f.kv_heads > 0 ? f.kv_heads : f.heads;
  if (f.latent.kv_rank > 0) {
    if (f.kv_heads > 0 || f.head_dim > 0) {
      return ErrorOf("latent",
                     "latent attention has its own head sizes; kv_heads and head_dim are not "
                     "valid with it");
    }
    attention.latent = f.latent;
    attention.qk_head_dim = f.latent.nope_head_dim + f.latent.rope_head_dim;
    attention.v_head_dim = f.v_head_dim;
  } else {
    if (f.head_dim == 0 && f.hidden % f.heads != 0) {
      return ErrorOf("heads", absl::StrCat("hidden ", f.hidden, " is no multiple of ", f.heads,
                                           " heads; valid numbers of heads near it are ",
                                           DivisorsText(f.hidden, f.heads), ", or give head_dim"));
    }
    if (f.heads % attention.kv_heads != 0) {
      return ErrorOf("kv_heads", absl::StrCat(f.heads, " heads cannot share ", f.kv_heads,
                                              " kv_heads evenly; valid near it are ",
                                              DivisorsText(f.heads, f.kv_heads)));
    }
    attention.qk_head_dim = f.head_dim > 0 ? f.head_dim : f.hidden / f.heads;
    attention.v_head_dim = attention.qk_head_dim;
  }
  SetBiases(attention, f.bias || f.qkv_bias, f.bias);
  if (f.qk_norm) attention.qk_norm = QkNorm::kPerHead;
  attention.causal = f.causal;
  if (f.position == "alibi") attention.position = PositionKind::kAlibi;
  if (f.position == "learned" || f.position == "none") attention.position = PositionKind::kNone;
  return attention;
}

absl::StatusOr<Layer> ShortFormReader::DescribeLayer(bool moe) const {
  const Fields& f = fields_;
  Layer layer;
  MW_ASSIGN_OR_RETURN(layer.attention, DescribeAttention());
  Mlp mlp;
  mlp.ffn = f.ffn;
  mlp.gated = f.gated;
  mlp.up_bias = mlp.down_bias = f.bias;
  mlp.activation = ChosenActivation();
  if (moe) {
    Moe& experts = layer.moe.emplace();
    experts.experts = f.experts;
    experts.top_k = f.top_k;
    experts.expert = experts.shared = mlp;
    experts.expert.ffn = f.expert_ffn;
    experts.shared.ffn = f.shared_ffn;
  } else {
    if (mlp.ffn == 0 && f.gated) return ErrorOf("gated", "a gated MLP needs the key \"ffn\"");
    if (mlp.ffn == 0) mlp.ffn = 4 * f.hidden;
    layer.mlp = mlp;
  }
  layer.parallel = f.parallel;
  layer.attention_norm = ChosenNorm();
  if (!f.parallel) layer.mlp_norm = ChosenNorm();
  return layer;
}

absl::StatusOr<Model> ShortFormReader::Describe() const {
  const Fields& f = fields_;
  if (f.full_every > 0 && f.window == 0) {
    return ErrorOf("full_every",
                   "full_every says which layers have no window, but there is no window");
  }
  if (f.position == "learned" && f.max_seq == 0) {
    return ErrorOf("position",
                   "learned positions need the key \"max_seq\", the rows of their table");
  }
  Model model;
  model.name = f.name.empty() ? file() : f.name;
  model.hidden = f.hidden;
  model.max_sequence = f.max_seq;
  model.embedding.vocabulary = f.vocab;
  model.embedding.dim = f.hidden;
  model.embedding.positions = f.position == "learned" ? f.max_seq : 0;
  model.head = {.outputs = f.vocab, .tied = f.tied};
  const auto append = [&](Stack& stack, int64_t i) {
    const bool moe = f.experts > 0 && i >= f.first && (i - f.first) % f.every == 0;
    absl::StatusOr<Layer> layer = DescribeLayer(moe);
    if (!layer.ok()) return layer.status();
    const bool full = f.full_every > 0 && (i + 1) % f.full_every == 0;
    if (!full) layer->attention.window = f.window;
    if (stack.role == StackRole::kEncoder) layer->attention.causal = false;
    if (stack.role == StackRole::kDecoder && f.encoder_layers > 0) {
      layer->cross_attention = layer->attention;
      layer->cross_attention->causal = false;
      layer->cross_attention->window = 0;
      layer->cross_attention_norm = ChosenNorm();
    }
    AppendLayer(stack, *std::move(layer));
    return absl::OkStatus();
  };
  if (f.encoder_layers > 0) {
    Stack& encoder = model.stacks.emplace_back(Stack{.role = StackRole::kEncoder});
    for (int64_t i = 0; i < f.encoder_layers; ++i) MW_RETURN_IF_ERROR(append(encoder, i));
    encoder.final_norm = ChosenNorm();
  }
  Stack& stack = model.stacks.emplace_back();
  for (int64_t i = 0; i < f.layers; ++i) MW_RETURN_IF_ERROR(append(stack, i));
  stack.final_norm = ChosenNorm();
  model.mtp = {.modules = f.mtp, .kind = stack.layers.back()};
  // Its errors name the model; a reader of the file needs the line instead.
  if (const absl::Status status = CheckModel(model); !status.ok()) {
    return ErrorAt(model_, std::string(status.message().substr(model.name.size() + 2)));
  }
  return model;
}

}  // namespace

absl::StatusOr<Model> ReadShortForm(std::string_view text, std::string_view file) {
  return ShortFormReader(file).Read(text);
}

}  // namespace meshwright::transformer
