#include <optional>
#include <string>
#include <vector>

#include "meshwright/model/families/common.h"

// DeepSeek V2 (arXiv:2405.04434), V3 (arXiv:2412.19437), V3.2 (arXiv:2512.02556), which attends to
// chosen tokens, and Kimi K2, which is V3 in other sizes.

namespace meshwright::transformer {
namespace {

Attention ReadLatentAttention(const Config& config) {
  Attention attention;
  LatentAttention latent;
  attention.heads = config.Count("num_attention_heads", kMaxWidth);
  attention.kv_heads = attention.heads;
  // null: queries have no rank of their own (V2-Lite).
  latent.q_rank = config.IsNull("q_lora_rank") ? 0 : config.Count("q_lora_rank", kMaxWidth, 1536);
  latent.kv_rank = config.Count("kv_lora_rank", kMaxWidth, 512);
  latent.nope_head_dim = config.Count("qk_nope_head_dim", kMaxWidth, 128);
  latent.rope_head_dim = config.Count("qk_rope_head_dim", kMaxWidth, 64);
  attention.qk_head_dim = latent.nope_head_dim + latent.rope_head_dim;
  attention.v_head_dim = config.Count("v_head_dim", kMaxWidth, 128);
  if (attention.heads * (attention.qk_head_dim + attention.v_head_dim) > kMaxProjection) {
    config.Fail("num_attention_heads",
                "the heads together are too large; at most 4194304 elements "
                "of queries and values are supported");
  }
  const bool bias = config.Flag("attention_bias", false);
  SetBiases(attention, bias, bias);
  attention.latent = latent;
  return attention;
}

Moe ReadExperts(const Config& config, bool v3) {
  Moe moe;
  moe.experts =
      config.Count("n_routed_experts|num_experts|num_local_experts", kMaxExperts, v3 ? 256 : 64);
  moe.top_k = v3 ? config.Count("num_experts_per_tok", kMaxExperts, 8)
                 : config.Count("num_experts_per_tok", kMaxExperts);
  moe.expert = ReadGatedMlp(config, "moe_intermediate_size");
  const int64_t shared = config.CountOrZero("n_shared_experts", kMaxExperts,
                                            config.IsNull("n_shared_experts") ? 0
                                            : v3                              ? 1
                                                                              : 2);
  moe.shared = moe.expert;
  moe.shared.ffn = shared * moe.expert.ffn;
  if (moe.shared.ffn > kMaxFfn) {
    config.Fail("n_shared_experts", "the shared experts together are too large");
  }
  const std::string method = config.Text("topk_method", v3 ? "noaux_tc" : "greedy");
  moe.balance_bias = method == "noaux_tc";
  CheckTopK(config, "num_experts_per_tok", moe);
  return moe;
}

}  // namespace

void ReadDeepseek(const FamilyInput& input, Model* model) {
  const Config& config = input.config;
  const bool v3 = model->family != "deepseek_v2";
  const int64_t layers = StartDecoder(input, {.default_positions = v3 ? 4096 : 2048}, model);
  if (layers == 0) return;
  const int64_t first = config.CountOrZero("first_k_dense_replace", kMaxLayers, v3 ? 3 : 0);
  const int64_t step = config.Count("moe_layer_freq", kMaxLayers, 1);
  Layer dense;
  dense.attention = ReadLatentAttention(config);
  if (model->family == "deepseek_v32") {
    dense.attention.index = {.heads = config.Count("index_n_heads", kMaxWidth, 64),
                             .head_dim = config.Count("index_head_dim", kMaxWidth, 128),
                             .top_k = config.Count("index_topk", kMaxVocabulary, 2048)};
  }
  dense.attention_norm = dense.mlp_norm = RmsNorm();
  Layer moe = dense;
  // Shared experts are MLPs like those of dense layers; routed ones have no biases.
  const bool bias = !v3 && config.Flag("mlp_bias", false);
  if (first > 0 || step > 1 || config.Has("mlp_layer_types")) {
    dense.mlp = ReadGatedMlp(config);
    dense.mlp->up_bias = dense.mlp->down_bias = bias;
  }
  moe.moe = ReadExperts(config, v3);
  moe.moe->shared.up_bias = moe.moe->shared.down_bias = bias;
  Stack& stack = model->stacks.emplace_back();
  const std::optional<std::vector<std::string>> kinds = config.Texts("mlp_layer_types");
  for (int64_t i = 0; i < layers; ++i) {
    const bool sparse = kinds.has_value() && i < std::ssize(*kinds) ? (*kinds)[i] == "sparse"
                                                                    : i >= first && i % step == 0;
    AppendLayer(stack, sparse ? moe : dense);
  }
  stack.final_norm = RmsNorm();
  model->mtp.modules = config.CountOrZero("num_nextn_predict_layers|num_mtp_layers", kMaxLayers, 0);
  model->mtp.kind = stack.layers.back();
}

}  // namespace meshwright::transformer
