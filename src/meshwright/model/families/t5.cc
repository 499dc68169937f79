#include <string>

#include "absl/strings/match.h"
#include "meshwright/model/families/common.h"

// T5 1.0 (arXiv:1910.10683), 1.1 (gated, head of its own) and mT5. The first layer of each stack
// has the table of relative positions that all its layers use.

namespace meshwright::transformer {
namespace {

Mlp ReadFfn(const Config& config, std::string_view fallback) {
  Mlp mlp;
  mlp.ffn = config.Count("d_ff", kMaxFfn);
  const std::string kind = config.Text("feed_forward_proj", fallback);
  mlp.gated = absl::StartsWith(kind, "gated-");
  if (kind == "relu" || kind == "gated-relu") {
    mlp.activation = Activation::kRelu;
  } else if (kind == "silu" || kind == "gated-silu") {
    mlp.activation = Activation::kSilu;
  } else if (kind != "gelu" && kind != "gated-gelu") {
    config.Fail("feed_forward_proj",
                "valid are relu, gelu, silu, gated-relu, gated-gelu, gated-silu");
  }
  return mlp;
}

}  // namespace

void ReadT5(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  ModelFields fields = {.hidden = "d_model|hidden_size",
                        .layers = "num_layers|num_hidden_layers",
                        .positions = "n_positions",
                        .default_positions = 512,
                        .tied = model->family == "t5"};
  const int64_t layers = StartDecoder(input, fields, model);
  Attention attention = ReadHeads(config, model->hidden,
                                  {.heads = "num_heads|num_attention_heads",
                                   .kv_heads = "",
                                   .head_dim = "d_kv",
                                   .default_head_dim = 64});
  attention.position = PositionKind::kRelativeBias;
  const int64_t buckets = config.Count("relative_attention_num_buckets", kMaxVocabulary, 32);
  Layer layer;
  layer.mlp = ReadFfn(config, model->family == "t5" ? "relu" : "gated-gelu");
  layer.attention_norm = layer.mlp_norm = RmsNorm();
  for (const StackRole role : {StackRole::kEncoder, StackRole::kDecoder}) {
    if (role == StackRole::kDecoder && input.task == Task::kEncoder) break;
    const bool decoder = role == StackRole::kDecoder;
    attention.causal = decoder;
    Stack& stack = model->stacks.emplace_back(Stack{.role = role});
    const int64_t count = decoder ? config.Count("num_decoder_layers", kMaxLayers, layers) : layers;
    if (decoder) {
      layer.cross_attention = attention;
      layer.cross_attention->causal = false;
      layer.cross_attention->position = PositionKind::kNone;
      layer.cross_attention_norm = RmsNorm();
    }
    for (int64_t i = 0; i < count; ++i) {
      layer.attention = attention;
      layer.attention.relative_buckets = i == 0 ? buckets : 0;
      layer.name = i == 0 ? "first" : "dense";
      AppendLayer(stack, layer);
    }
    stack.final_norm = RmsNorm();
  }
}

const TensorLayout& T5Layout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .layer_prefix = "{stack}.block.{layer}.",
      .names = {{Part::kTokenEmbedding, "shared.*"},
                {Part::kAttentionNorm, "layer.0.layer_norm.*"},
                {Part::kQuery, "layer.0.SelfAttention.q.*"},
                {Part::kKey, "layer.0.SelfAttention.k.*"},
                {Part::kValue, "layer.0.SelfAttention.v.*"},
                {Part::kAttentionOutput, "layer.0.SelfAttention.o.*"},
                {Part::kRelativeBias, "layer.0.SelfAttention.relative_attention_bias.*"},
                {Part::kCrossAttentionNorm, "layer.1.layer_norm.*"},
                {Part::kCrossQuery, "layer.1.EncDecAttention.q.*"},
                {Part::kCrossKey, "layer.1.EncDecAttention.k.*"},
                {Part::kCrossValue, "layer.1.EncDecAttention.v.*"},
                {Part::kCrossAttentionOutput, "layer.1.EncDecAttention.o.*"},
                {Part::kMlpNorm, "layer.{sublayer}.layer_norm.*"},
                {Part::kMlpGate, "layer.{sublayer}.DenseReluDense.wi_0.*"},
                {Part::kMlpUp, "layer.{sublayer}.DenseReluDense.{gated?wi_1:wi}.*"},
                {Part::kMlpDown, "layer.{sublayer}.DenseReluDense.wo.*"},
                {Part::kFinalNorm, "{stack}.final_layer_norm.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
