#include <string>

#include "meshwright/model/families/common.h"

// MPT, as Hugging Face's class and MosaicML's llm-foundry, from which the fields come, have it. The
// class knows ALiBi without biases only; without `alibi`, llm-foundry has a table of positions.

namespace meshwright::transformer {

void ReadMpt(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const int64_t layers = StartDecoder(input,
                                      {.hidden = "d_model|hidden_size",
                                       .layers = "n_layers|num_hidden_layers",
                                       .positions = "max_seq_len",
                                       .default_positions = 2048,
                                       .tied = true},
                                      model);
  const Config attention_config = config.Nested("attn_config");
  const bool alibi = attention_config.Flag("alibi", true);
  if (!alibi && config.Flag("learned_pos_emb", true)) {
    model->embedding.positions = model->max_sequence;
  }
  const std::string type = attention_config.Text("attn_type", "multihead_attention");
  Layer layer;
  layer.attention =
      ReadHeads(config, model->hidden,
                {.heads = "n_heads|num_attention_heads", .kv_heads = "", .head_dim = ""});
  Attention& attention = layer.attention;
  if (type == "multiquery_attention") {
    attention.kv_heads = 1;
  } else if (type == "grouped_query_attention") {
    attention.kv_heads = attention_config.Count("kv_n_heads", kMaxWidth);
    if (attention.heads % attention.kv_heads != 0) {
      attention_config.Fail("kv_n_heads",
                            "the heads cannot share that many heads of keys and values "
                            "evenly; valid near it are " +
                                DivisorsText(attention.heads, attention.kv_heads));
    }
  } else if (type != "multihead_attention") {
    attention_config.Fail("attn_type",
                          "valid are multihead_attention, multiquery_attention, "
                          "grouped_query_attention");
  }
  const bool bias = !config.Flag("no_bias", true);
  attention.fused_qkv = true;
  attention.position = alibi ? PositionKind::kAlibi : PositionKind::kNone;
  SetBiases(attention, bias, bias);
  constexpr int64_t kExpansion = 4;  // whatever the field says
  if (config.Count("expansion_ratio", 64, kExpansion) != kExpansion)
    model->notes.emplace_back(
        "MLPs are 4 x hidden, as in transformers' class, not expansion_ratio.");
  layer.mlp = Mlp{.ffn = kExpansion * model->hidden, .up_bias = bias, .down_bias = bias};
  const Norm norm = {.kind = NormKind::kLayer, .weight = true, .bias = bias};
  layer.attention_norm = layer.mlp_norm = norm;
  model->stacks.push_back(EqualLayers(layer, layers, norm));
}

const TensorLayout& MptLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "transformer.blocks.{layer}.",
                       .names = {{Part::kTokenEmbedding, "transformer.wte.*"},
                                 {Part::kPositionEmbedding, "transformer.wpe.*"},
                                 {Part::kAttentionNorm, "norm_1.*"},
                                 {Part::kQkv, "attn.Wqkv.*"},
                                 {Part::kAttentionOutput, "attn.out_proj.*"},
                                 {Part::kMlpNorm, "norm_2.*"},
                                 {Part::kMlpUp, "ffn.up_proj.*"},
                                 {Part::kMlpDown, "ffn.down_proj.*"},
                                 {Part::kFinalNorm, "transformer.norm_f.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
