#include "meshwright/model/tensor_names.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer {
namespace {

struct PartRow {
  Part part;
  const char* name;
  PartGroup group;
  bool in_layer;
  const char* pattern;  // Llama's, or those of the best-known family that has the part
};

constexpr PartGroup kE = PartGroup::kEmbedding;
constexpr PartGroup kA = PartGroup::kAttention;
constexpr PartGroup kM = PartGroup::kMlp;
constexpr PartGroup kR = PartGroup::kRouter;
constexpr PartGroup kX = PartGroup::kExperts;
constexpr PartGroup kN = PartGroup::kNorm;
constexpr PartGroup kH = PartGroup::kHead;

// In the order of the enumeration.
constexpr std::array<PartRow, static_cast<size_t>(Part::kParts)> kRows = {{
    {Part::kTokenEmbedding, "token embedding", kE, false, "model.embed_tokens.*"},
    {Part::kPositionEmbedding, "position embedding", kE, false, "model.embed_positions.*"},
    {Part::kTokenTypeEmbedding, "token type embedding", kE, false, "model.embed_token_types.*"},
    {Part::kPatchEmbedding, "patch embedding", kE, false, "model.patch_embedding.*"},
    {Part::kClassToken, "class token", kE, false, "model.cls_token"},
    {Part::kSoundConvolution, "sound convolution", kE, false, "model.encoder.conv1.*"},
    {Part::kSoundDownsampling, "sound downsampling", kE, false, "model.encoder.conv2.*"},
    {Part::kSoundPosition, "sound position embedding", kE, false,
     "model.encoder.embed_positions.*"},
    {Part::kEmbeddingNorm, "embedding norm", kN, false, "model.embed_norm.*"},
    {Part::kEmbeddingProjection, "embedding projection", kE, false, "model.project_in.*"},
    {Part::kLayerEmbedding, "layers' embedding", kE, false, "model.embed_tokens_per_layer.*"},
    {Part::kLayerInput, "layers' input", kE, false, "model.per_layer_model_projection.*"},
    {Part::kLayerInputNorm, "layers' input norm", kN, false, "model.per_layer_projection_norm.*"},
    {Part::kStreamsIn, "streams in", kE, false, "model.altup_projections.*"},
    {Part::kAttentionNorm, "attention norm", kN, true, "input_layernorm.*"},
    {Part::kQuery, "attention query", kA, true, "self_attn.q_proj.*"},
    {Part::kKey, "attention key", kA, true, "self_attn.k_proj.*"},
    {Part::kValue, "attention value", kA, true, "self_attn.v_proj.*"},
    {Part::kQkv, "attention query, key, value", kA, true, "self_attn.qkv_proj.*"},
    {Part::kAttentionOutput, "attention output", kA, true, "self_attn.o_proj.*"},
    {Part::kQueryNorm, "query norm", kN, true, "self_attn.q_norm.*"},
    {Part::kKeyNorm, "key norm", kN, true, "self_attn.k_norm.*"},
    {Part::kSinks, "attention sinks", kA, true, "self_attn.sinks"},
    {Part::kRelativeBias, "relative position bias", kA, true, "self_attn.relative_bias.*"},
    {Part::kQueryDown, "query down", kA, true, "self_attn.q_a_proj.*"},
    {Part::kQueryDownNorm, "query down norm", kN, true, "self_attn.q_a_layernorm.*"},
    {Part::kQueryUp, "query up", kA, true, "self_attn.q_b_proj.*"},
    {Part::kKeyValueDown, "key, value down", kA, true, "self_attn.kv_a_proj_with_mqa.*"},
    {Part::kKeyValueDownNorm, "key, value down norm", kN, true, "self_attn.kv_a_layernorm.*"},
    {Part::kKeyValueUp, "key, value up", kA, true, "self_attn.kv_b_proj.*"},
    {Part::kIndexQuery, "index query", kA, true, "self_attn.indexer.wq_b.*"},
    {Part::kIndexKey, "index key", kA, true, "self_attn.indexer.wk.*"},
    {Part::kIndexKeyNorm, "index key norm", kN, true, "self_attn.indexer.k_norm.*"},
    {Part::kIndexWeights, "index weights", kA, true, "self_attn.indexer.weights_proj.*"},
    {Part::kAttentionOutputNorm, "attention output norm", kN, true, "attention_output_norm.*"},
    {Part::kTokenMix, "token mix", kA, true, "attention.time_mix"},
    {Part::kReceptance, "receptance", kA, true, "attention.receptance.*"},
    {Part::kRecurrenceInput, "recurrence input", kA, true, "mixer.in_proj.*"},
    {Part::kRecurrenceGate, "recurrence gate", kA, true, "mixer.gate_proj.*"},
    {Part::kConvolution, "convolution", kA, true, "mixer.conv1d.*"},
    {Part::kSelection, "recurrence selection", kA, true, "mixer.x_proj.*"},
    {Part::kTimeStep, "recurrence step", kA, true, "mixer.dt_proj.*"},
    {Part::kTimeStepNorm, "recurrence step norm", kN, true, "mixer.dt_layernorm.*"},
    {Part::kStateInputNorm, "state input norm", kN, true, "mixer.b_layernorm.*"},
    {Part::kStateOutputNorm, "state output norm", kN, true, "mixer.c_layernorm.*"},
    {Part::kTimeStepBias, "recurrence step bias", kA, true, "mixer.dt_bias"},
    {Part::kInputGate, "input gate", kA, true, "mixer.input_gate_weight"},
    {Part::kInputGateBias, "input gate bias", kA, true, "mixer.input_gate_bias"},
    {Part::kDecayGate, "decay gate", kA, true, "mixer.recurrent_gate_weight"},
    {Part::kDecayGateBias, "decay gate bias", kA, true, "mixer.recurrent_gate_bias"},
    {Part::kDecay, "state decay", kA, true, "mixer.A_log"},
    {Part::kSkip, "recurrence skip", kA, true, "mixer.D"},
    {Part::kRecurrenceNorm, "recurrence norm", kN, true, "mixer.norm.*"},
    {Part::kRecurrenceOutput, "recurrence output", kA, true, "mixer.out_proj.*"},
    {Part::kCrossAttentionNorm, "cross-attention norm", kN, true, "cross_attention_norm.*"},
    {Part::kCrossQuery, "cross-attention query", kA, true, "cross_attn.q_proj.*"},
    {Part::kCrossKey, "cross-attention key", kA, true, "cross_attn.k_proj.*"},
    {Part::kCrossValue, "cross-attention value", kA, true, "cross_attn.v_proj.*"},
    {Part::kCrossAttentionOutput, "cross-attention output", kA, true, "cross_attn.o_proj.*"},
    {Part::kMlpNorm, "MLP norm", kN, true, "post_attention_layernorm.*"},
    {Part::kMlpGate, "MLP gate", kM, true, "mlp.gate_proj.*"},
    {Part::kMlpUp, "MLP up", kM, true, "mlp.up_proj.*"},
    {Part::kMlpGateUp, "MLP gate, up", kM, true, "mlp.gate_up_proj.*"},
    {Part::kMlpDown, "MLP down", kM, true, "mlp.down_proj.*"},
    {Part::kActivation, "activation", kM, true, "mlp.act_fn"},
    {Part::kMlpTokenMix, "MLP token mix", kM, true, "feed_forward.time_mix"},
    {Part::kMlpReceptance, "MLP receptance", kM, true, "feed_forward.receptance.*"},
    {Part::kMlpOutputNorm, "MLP output norm", kN, true, "mlp_output_norm.*"},
    {Part::kLowRankDown, "low-rank path down", kM, true, "laurel.linear_left.*"},
    {Part::kLowRankUp, "low-rank path up", kM, true, "laurel.linear_right.*"},
    {Part::kLowRankNorm, "low-rank path norm", kN, true, "laurel.post_laurel_norm.*"},
    {Part::kLayerInputGate, "layer input gate", kM, true, "per_layer_input_gate.*"},
    {Part::kLayerInputUp, "layer input up", kM, true, "per_layer_projection.*"},
    {Part::kLayerInputOutputNorm, "layer input output norm", kN, true,
     "post_per_layer_input_norm.*"},
    {Part::kStreamScale, "stream scale", kM, true, "altup.correct_output_scale"},
    {Part::kStreamCorrection, "stream correction", kM, true, "altup.correction_coefs.*"},
    {Part::kStreamPrediction, "stream prediction", kM, true, "altup.prediction_coefs.*"},
    {Part::kStreamRouter, "stream router", kM, true, "altup.modality_router.*"},
    {Part::kStreamRouterNorm, "stream router norm", kN, true, "altup.router_norm.*"},
    {Part::kRouter, "router", kR, true, "mlp.gate.*"},
    {Part::kBalanceBias, "router balance bias", kR, true, "mlp.gate.e_score_correction_bias"},
    {Part::kExpertGate, "expert gate", kX, true, "mlp.experts.{expert}.gate_proj.*"},
    {Part::kExpertUp, "expert up", kX, true, "mlp.experts.{expert}.up_proj.*"},
    {Part::kExpertGateUp, "expert gate, up", kX, true, "mlp.experts.gate_up_proj"},
    {Part::kExpertDown, "expert down", kX, true, "mlp.experts.{expert}.down_proj.*"},
    {Part::kSharedExpertGate, "shared expert gate", kX, true, "mlp.shared_experts.gate_proj.*"},
    {Part::kSharedExpertUp, "shared expert up", kX, true, "mlp.shared_experts.up_proj.*"},
    {Part::kSharedExpertDown, "shared expert down", kX, true, "mlp.shared_experts.down_proj.*"},
    {Part::kSharedExpertScale, "shared expert scale", kX, true, "mlp.shared_expert_gate.*"},
    {Part::kFinalNorm, "final norm", kN, false, "model.norm.*"},
    {Part::kStreamsOut, "streams out", kH, false, "model.altup_unembed_projections.*"},
    {Part::kPoolingProbe, "pooling probe", kH, false, "head.probe"},
    {Part::kPoolingQuery, "pooling query", kH, false, "head.attention.in_proj.q.*"},
    {Part::kPoolingKeyValue, "pooling key, value", kH, false, "head.attention.in_proj.kv.*"},
    {Part::kPoolingOutput, "pooling output", kH, false, "head.attention.out_proj.*"},
    {Part::kPoolingNorm, "pooling norm", kN, false, "head.layernorm.*"},
    {Part::kPoolingUp, "pooling up", kH, false, "head.mlp.fc1.*"},
    {Part::kPoolingDown, "pooling down", kH, false, "head.mlp.fc2.*"},
    {Part::kHeadProjection, "head projection", kH, false, "model.project_out.*"},
    {Part::kHead, "head", kH, false, "{each_token?lm_head:score}.*"},
    {Part::kHeadTransform, "head transform", kH, false, "head_transform.*"},
    {Part::kHeadTransformNorm, "head transform norm", kN, false, "head_transform_norm.*"},
    {Part::kPooler, "pooler", kH, false, "pooler.dense.*"},
    {Part::kPooledHead, "pooled head", kH, false, "pooled_head.*"},
    {Part::kMtpHiddenNorm, "prediction module's hidden norm", kN, false,
     "model.layers.{module}.hnorm.*"},
    {Part::kMtpEmbeddingNorm, "prediction module's embedding norm", kN, false,
     "model.layers.{module}.enorm.*"},
    {Part::kMtpProjection, "prediction module's projection", kH, false,
     "model.layers.{module}.eh_proj.*"},
    {Part::kMtpFinalNorm, "prediction module's final norm", kN, false,
     "model.layers.{module}.shared_head.norm.*"},
}};

const PartRow& RowOf(Part part) { return kRows[static_cast<size_t>(part)]; }

constexpr std::array<const char*, static_cast<size_t>(PartGroup::kGroups)> kGroupNames = {
    "embedding", "attention", "mlp", "router", "experts", "norms", "head"};

// Replaces "{condition?yes:no}", of which `open` is the beginning up to the question mark.
void Choose(std::string_view open, bool condition, std::string* name) {
  const size_t begin = name->find(open);
  if (begin == std::string::npos) return;
  const size_t yes = begin + open.size();
  const size_t colon = name->find(':', yes);
  const size_t end = name->find('}', colon);
  *name = name->substr(0, begin) +
          (condition ? name->substr(yes, colon - yes) : name->substr(colon + 1, end - colon - 1)) +
          name->substr(end + 1);
}

}  // namespace

std::string_view PartName(Part part) { return RowOf(part).name; }
PartGroup GroupOf(Part part) { return RowOf(part).group; }
std::string_view GroupName(PartGroup group) { return kGroupNames[static_cast<size_t>(group)]; }
bool IsLayerPart(Part part) { return RowOf(part).in_layer; }

std::string NameOf(const TensorLayout& layout, Part part, bool bias, const NameContext& context) {
  const auto own = std::find_if(layout.names.begin(), layout.names.end(),
                                [part](const TensorName& name) { return name.part == part; });
  std::string name = own != layout.names.end() ? own->pattern : RowOf(part).pattern;
  const bool starred = name.find('*') != std::string::npos;
  if (IsLayerPart(part)) name = absl::StrCat(layout.layer_prefix, name);
  Choose("{gated?", context.gated, &name);
  Choose("{bias?", bias, &name);
  Choose("{two_norms?", context.two_norms, &name);
  Choose("{each_token?", context.each_token, &name);
  Choose("{image?", context.image, &name);
  return absl::StrCat(absl::StrReplaceAll(name, {{"*", bias ? "bias" : "weight"},
                                                 {"{stack}", ToAbsl(context.stack)},
                                                 {"{sublayer}", absl::StrCat(context.sublayer)}}),
                      bias && !starred ? "_bias" : "");
}

}  // namespace meshwright::transformer
