#ifndef MESHWRIGHT_MODEL_TENSORS_H_
#define MESHWRIGHT_MODEL_TENSORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/model/model.h"

// The parameters of a model, tensor by tensor, as checkpoints hold them.

namespace meshwright::transformer {

// The function of a tensor. Weights and biases of the same thing are of the same part.
enum class Part : int {
  kTokenEmbedding,
  kPositionEmbedding,
  kTokenTypeEmbedding,
  kPatchEmbedding,
  kClassToken,
  kSoundConvolution,
  kSoundDownsampling,
  kSoundPosition,
  kEmbeddingNorm,
  kEmbeddingProjection,  // where rows of the table are not as long as the residual stream
  kLayerEmbedding,       // Gemma 3n: a table of tokens with a row for each layer
  kLayerInput,           // ... and a projection of the embedding that is added
  kLayerInputNorm,
  kStreamsIn,  // AltUp (arXiv:2301.13310): to the further residual streams
  kAttentionNorm,
  kQuery,
  kKey,
  kValue,
  kQkv,  // query, key and value in one tensor
  kAttentionOutput,
  kQueryNorm,
  kKeyNorm,
  kSinks,
  kRelativeBias,
  kQueryDown,  // latent attention: to the rank
  kQueryDownNorm,
  kQueryUp,       // ... and to the heads
  kKeyValueDown,  // to the rank and to the elements of the key that all heads share
  kKeyValueDownNorm,
  kKeyValueUp,
  kIndexQuery,  // sparse attention: what chooses the tokens that are seen
  kIndexKey,
  kIndexKeyNorm,
  kIndexWeights,
  kAttentionOutputNorm,
  kTokenMix,         // RWKV: how much of the token before enters keys, values and receptance
  kReceptance,       // ... a gate
  kRecurrenceInput,  // of a recurrence: projection in
  kRecurrenceGate,   // ... of what gates it
  kConvolution,
  kSelection,  // ... of step, input and output of the state, from the channels
  kTimeStep,
  kTimeStepNorm,
  kStateInputNorm,
  kStateOutputNorm,
  kTimeStepBias,
  kInputGate,
  kInputGateBias,
  kDecayGate,
  kDecayGateBias,
  kDecay,
  kSkip,
  kRecurrenceNorm,
  kRecurrenceOutput,
  kCrossAttentionNorm,
  kCrossQuery,
  kCrossKey,
  kCrossValue,
  kCrossAttentionOutput,
  kMlpNorm,
  kMlpGate,
  kMlpUp,
  kMlpGateUp,  // gate and up in one tensor
  kMlpDown,
  kActivation,  // of the activation function
  kMlpTokenMix,
  kMlpReceptance,
  kMlpOutputNorm,
  kLowRankDown,  // Gemma 3n: of a residual path of low rank
  kLowRankUp,
  kLowRankNorm,
  kLayerInputGate,  // ... of the layer's own input
  kLayerInputUp,
  kLayerInputOutputNorm,
  kStreamScale,  // ... of AltUp, within a layer
  kStreamCorrection,
  kStreamPrediction,
  kStreamRouter,
  kStreamRouterNorm,
  kRouter,
  kBalanceBias,
  kExpertGate,
  kExpertUp,
  kExpertGateUp,
  kExpertDown,
  kSharedExpertGate,
  kSharedExpertUp,
  kSharedExpertDown,
  kSharedExpertScale,
  kFinalNorm,
  kStreamsOut,    // AltUp: of the further residual streams, before they are added up
  kPoolingProbe,  // SigLIP: a query that attends to all tokens
  kPoolingQuery,
  kPoolingKeyValue,
  kPoolingOutput,
  kPoolingNorm,
  kPoolingUp,
  kPoolingDown,
  kHeadProjection,  // the way back of kEmbeddingProjection
  kHead,
  kHeadTransform,
  kHeadTransformNorm,
  kPooler,
  kPooledHead,
  kMtpHiddenNorm,  // multi-token prediction: of the last hidden state
  kMtpEmbeddingNorm,
  kMtpProjection,
  kMtpFinalNorm,
  kParts,
};

std::string_view PartName(Part part);  // "attention query"

// For tables: what a part belongs to.
enum class PartGroup { kEmbedding, kAttention, kMlp, kRouter, kExperts, kNorm, kHead, kGroups };
PartGroup GroupOf(Part part);
std::string_view GroupName(PartGroup group);  // "embedding"

struct Tensor {
  // As in Hugging Face checkpoints of the family, with {layer}, {expert} and {module} where a
  // number stands: "model.layers.{layer}.self_attn.q_proj.weight".
  std::string name;
  Part part = Part::kTokenEmbedding;
  std::vector<int64_t> shape;
  int64_t count = 1;  // tensors of this name and shape, over layers and experts
  // Those of `elements()` that take part for one token: all, but only top_k of the experts.
  int64_t active_elements = 0;
  int32_t stack = -1;       // index into Model::stacks; -1: outside of them
  int32_t layer_kind = -1;  // index into Stack::kinds; -1: of no layer
  bool mtp = false;         // of multi-token prediction, used in training only
  bool trained = true;      // false: set by other means than gradients (DeepSeek V3's balance bias)

  int64_t elements() const;  // of all `count`
};

// Every tensor once: a head tied to the embedding is not listed. In the order of execution, equal
// layers together. Assumes a valid model (check_model.h).
std::vector<Tensor> Tensors(const Model& model);

// Sums over Tensors(model).
struct ParameterCounts {
  int64_t total = 0;   // trained, without multi-token prediction
  int64_t active = 0;  // of these, those that take part for one token
  int64_t embedding =
      0;  // of these, tables of tokens, positions and token types; a tied head's too
  int64_t untrained = 0;  // beside them
  int64_t mtp = 0;        // of multi-token prediction, without what it shares with the model
};
ParameterCounts CountParameters(const std::vector<Tensor>& tensors);

// The tensors of one layer of a kind: `count` is per layer.
std::vector<Tensor> LayerTensors(const Model& model, const Stack& stack, const Layer& layer);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_TENSORS_H_
