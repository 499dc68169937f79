#include <vector>

#include "meshwright/model/families/common.h"

// The tensors' names of models with recurrences (state_space.cc), as transformers has them.

namespace meshwright::transformer {
namespace {

// With Mamba's names of the parts that only recurrences have.
std::vector<TensorName> MambaNames(std::vector<TensorName> names) {
  const std::vector<TensorName> common = {{Part::kRecurrenceInput, "mamba.in_proj.*"},
                                          {Part::kConvolution, "mamba.conv1d.*"},
                                          {Part::kSelection, "mamba.x_proj.*"},
                                          {Part::kTimeStep, "mamba.dt_proj.*"},
                                          {Part::kTimeStepNorm, "mamba.dt_layernorm.*"},
                                          {Part::kStateInputNorm, "mamba.b_layernorm.*"},
                                          {Part::kStateOutputNorm, "mamba.c_layernorm.*"},
                                          {Part::kTimeStepBias, "mamba.dt_bias"},
                                          {Part::kDecay, "mamba.A_log"},
                                          {Part::kSkip, "mamba.D"},
                                          {Part::kRecurrenceNorm, "mamba.norm.*"},
                                          {Part::kRecurrenceOutput, "mamba.out_proj.*"}};
  names.insert(names.end(), common.begin(), common.end());
  return names;
}

}  // namespace

const TensorLayout& MambaLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "backbone.layers.{layer}.",
                       .names = {{Part::kTokenEmbedding, "backbone.embeddings.*"},
                                 {Part::kAttentionNorm, "norm.*"},
                                 {Part::kFinalNorm, "backbone.norm_f.*"}}};
  return *kLayout;
}

const TensorLayout& BambaLayout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .names = MambaNames({{Part::kMlpNorm, "pre_ff_layernorm.*"},
                           {Part::kMlpGate, "feed_forward.gate_proj.*"},
                           {Part::kMlpUp, "feed_forward.up_proj.*"},
                           {Part::kMlpDown, "feed_forward.down_proj.*"},
                           {Part::kRouter, "feed_forward.router.*"},
                           {Part::kExpertGate, "feed_forward.experts.{expert}.gate_proj.*"},
                           {Part::kExpertUp, "feed_forward.experts.{expert}.up_proj.*"},
                           {Part::kExpertDown, "feed_forward.experts.{expert}.down_proj.*"},
                           {Part::kFinalNorm, "model.final_layernorm.*"}})};
  return *kLayout;
}

const TensorLayout& GraniteHybridLayout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .names = MambaNames({{Part::kMlpGateUp, "shared_mlp.input_linear.*"},
                           {Part::kMlpDown, "shared_mlp.output_linear.*"},
                           {Part::kRouter, "block_sparse_moe.router.layer.*"},
                           {Part::kExpertGateUp, "block_sparse_moe.input_linear.weight"},
                           {Part::kExpertDown, "block_sparse_moe.output_linear.weight"},
                           {Part::kSharedExpertGate, "shared_mlp.gate.*"},
                           {Part::kSharedExpertUp, "shared_mlp.up.*"},
                           {Part::kSharedExpertDown, "shared_mlp.output_linear.*"}})};
  return *kLayout;
}

const TensorLayout& NemotronHLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "backbone.layers.{layer}.",
                       .names = {{Part::kTokenEmbedding, "backbone.embeddings.*"},
                                 {Part::kAttentionNorm, "norm.*"},
                                 {Part::kMlpNorm, "norm.*"},
                                 {Part::kQuery, "mixer.q_proj.*"},
                                 {Part::kKey, "mixer.k_proj.*"},
                                 {Part::kValue, "mixer.v_proj.*"},
                                 {Part::kAttentionOutput, "mixer.o_proj.*"},
                                 {Part::kMlpUp, "mixer.up_proj.*"},
                                 {Part::kMlpDown, "mixer.down_proj.*"},
                                 {Part::kRouter, "mixer.gate.*"},
                                 {Part::kBalanceBias, "mixer.gate.e_score_correction_bias"},
                                 {Part::kExpertUp, "mixer.experts.{expert}.up_proj.*"},
                                 {Part::kExpertDown, "mixer.experts.{expert}.down_proj.*"},
                                 {Part::kSharedExpertUp, "mixer.shared_experts.up_proj.*"},
                                 {Part::kSharedExpertDown, "mixer.shared_experts.down_proj.*"},
                                 {Part::kFinalNorm, "backbone.norm_f.*"}}};
  return *kLayout;
}

const TensorLayout& Qwen3NextLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kRecurrenceInput, "linear_attn.in_proj_qkvz.*"},
                                 {Part::kRecurrenceGate, "linear_attn.in_proj_ba.*"},
                                 {Part::kConvolution, "linear_attn.conv1d.*"},
                                 {Part::kTimeStepBias, "linear_attn.dt_bias"},
                                 {Part::kDecay, "linear_attn.A_log"},
                                 {Part::kRecurrenceNorm, "linear_attn.norm.*"},
                                 {Part::kRecurrenceOutput, "linear_attn.out_proj.*"},
                                 {Part::kSharedExpertGate, "mlp.shared_expert.gate_proj.*"},
                                 {Part::kSharedExpertUp, "mlp.shared_expert.up_proj.*"},
                                 {Part::kSharedExpertDown, "mlp.shared_expert.down_proj.*"}}};
  return *kLayout;
}

const TensorLayout& Lfm2Layout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kAttentionNorm, "operator_norm.*"},
                                 {Part::kMlpNorm, "ffn_norm.*"},
                                 {Part::kQueryNorm, "self_attn.q_layernorm.*"},
                                 {Part::kKeyNorm, "self_attn.k_layernorm.*"},
                                 {Part::kAttentionOutput, "self_attn.out_proj.*"},
                                 {Part::kRecurrenceInput, "conv.in_proj.*"},
                                 {Part::kConvolution, "conv.conv.*"},
                                 {Part::kRecurrenceOutput, "conv.out_proj.*"},
                                 {Part::kMlpGate, "feed_forward.w1.*"},
                                 {Part::kMlpUp, "feed_forward.w3.*"},
                                 {Part::kMlpDown, "feed_forward.w2.*"},
                                 {Part::kFinalNorm, "model.embedding_norm.*"}}};
  return *kLayout;
}

const TensorLayout& RecurrentGemmaLayout() {
  static const TensorLayout* const kLayout = new TensorLayout{
      .names = {{Part::kAttentionNorm, "temporal_pre_norm.*"},
                {Part::kMlpNorm, "channel_pre_norm.*"},
                {Part::kQuery, "temporal_block.q_proj.*"},
                {Part::kKey, "temporal_block.k_proj.*"},
                {Part::kValue, "temporal_block.v_proj.*"},
                {Part::kAttentionOutput, "temporal_block.o_proj.*"},
                {Part::kRecurrenceInput, "temporal_block.linear_x.*"},
                {Part::kRecurrenceGate, "temporal_block.linear_y.*"},
                {Part::kConvolution, "temporal_block.conv_1d.*"},
                {Part::kInputGate, "temporal_block.rg_lru.input_gate_weight"},
                {Part::kInputGateBias, "temporal_block.rg_lru.input_gate_bias"},
                {Part::kDecayGate, "temporal_block.rg_lru.recurrent_gate_weight"},
                {Part::kDecayGateBias, "temporal_block.rg_lru.recurrent_gate_bias"},
                {Part::kDecay, "temporal_block.rg_lru.recurrent_param"},
                {Part::kRecurrenceOutput, "temporal_block.linear_out.*"},
                {Part::kMlpGate, "mlp_block.gate_proj.*"},
                {Part::kMlpUp, "mlp_block.up_proj.*"},
                {Part::kMlpDown, "mlp_block.down_proj.*"},
                {Part::kFinalNorm, "model.final_norm.*"}}};
  return *kLayout;
}

const TensorLayout& MinimaxLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.names = {{Part::kRecurrenceInput, "self_attn.qkv_proj.*"},
                                 {Part::kRecurrenceGate, "self_attn.output_gate.*"},
                                 {Part::kRecurrenceNorm, "self_attn.norm.*"},
                                 {Part::kRecurrenceOutput, "self_attn.out_proj.*"},
                                 {Part::kRouter, "block_sparse_moe.gate.*"},
                                 {Part::kExpertGate, "block_sparse_moe.experts.{expert}.w1.*"},
                                 {Part::kExpertUp, "block_sparse_moe.experts.{expert}.w3.*"},
                                 {Part::kExpertDown, "block_sparse_moe.experts.{expert}.w2.*"}}};
  return *kLayout;
}

const TensorLayout& RwkvLayout() {
  static const TensorLayout* const kLayout =
      new TensorLayout{.layer_prefix = "rwkv.blocks.{layer}.",
                       .names = {{Part::kTokenEmbedding, "rwkv.embeddings.*"},
                                 {Part::kEmbeddingNorm, "rwkv.blocks.0.pre_ln.*"},
                                 {Part::kAttentionNorm, "ln1.*"},
                                 {Part::kMlpNorm, "ln2.*"},
                                 {Part::kKey, "attention.key.*"},
                                 {Part::kValue, "attention.value.*"},
                                 {Part::kDecay, "attention.time_decay"},
                                 {Part::kSkip, "attention.time_first"},
                                 {Part::kRecurrenceOutput, "attention.output.*"},
                                 {Part::kMlpUp, "feed_forward.key.*"},
                                 {Part::kMlpDown, "feed_forward.value.*"},
                                 {Part::kFinalNorm, "rwkv.ln_out.*"},
                                 {Part::kHead, "head.*"}}};
  return *kLayout;
}

}  // namespace meshwright::transformer
