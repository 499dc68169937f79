#ifndef MESHWRIGHT_MODEL_MATMULS_H_
#define MESHWRIGHT_MODEL_MATMULS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "meshwright/model/model.h"
#include "meshwright/model/tensors.h"

// The matmuls of a model, from which its floating-point operations (flops) follow: two per
// multiply-add. What is no matmul (norms, softmax, activations, rotations, lookups in tables) is
// not counted, as is usual.

namespace meshwright::transformer {

// The input of a model at once. All sequences are equally long.
struct Batch {
  int64_t sequences = 1;
  int64_t tokens = 0;  // per sequence, of the last stack
  // Per sequence, of the encoder if a decoder follows it; 0: as many as `tokens`. Of sound it is
  // the model that says.
  int64_t source_tokens = 0;
};

enum class MatmulKind {
  kWeight,  // activations times a parameter
  kScores,  // queries times keys
  kValues,  // softmax of the scores times values
  // The rows are split over the experts: `m` are those of all together, top_k per token, and the
  // matmul is `batch` matmuls of m/batch rows on average.
  kExperts,
  kScan,  // of a recurrence: both operands are activations of a chunk, or the state
};

// [m, k] times [k, n], `batch` times.
struct Matmul {
  MatmulKind kind = MatmulKind::kWeight;
  // The parameter; of kScores and kValues kAttentionOutput or kCrossAttentionOutput, which follow;
  // of kScan kDecay.
  Part part = Part::kQuery;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  // For kScores and kValues: pairs of a query and a key that it attends to, per batch element; the
  // matmul as a dense one has all queries x keys.
  int64_t pairs = 0;
  // Matmuls of this size that the backward pass has: gradients of both operands, or of the weight
  // alone where nothing trainable lies before it (patches of images).
  int backward_matmuls = 2;

  // Operations forward, with every pair computed (`dense`) or only those attended to.
  double Flops(bool dense) const;
};

// Tokens of a sequence of the encoder that a decoder follows.
int64_t SourceTokens(const Model& model, const Batch& batch);

// Tokens of a sequence that pass the layers of `stack`.
int64_t TokensOfStack(const Model& model, const Stack& stack, const Batch& batch);

// Pairs (query, key) of a sequence of `tokens` tokens that `attention` sees, exactly; less than
// tokens^2 with causal masks, windows and chunks. tokens: at most kMaxSequence.
int64_t AttendedPairs(const Attention& attention, int64_t tokens);

// The matmuls of one layer of a kind, in the order of execution. Latent attention as in training:
// keys and values of every head are made.
std::vector<Matmul> LayerMatmuls(const Model& model, const Stack& stack, const Layer& layer,
                                 const Batch& batch);

// Those before the first layer (patches, projection of the embedding).
std::vector<Matmul> EmbeddingMatmuls(const Model& model, const Batch& batch);

// Those behind the last layer.
std::vector<Matmul> HeadMatmuls(const Model& model, const Batch& batch);

// Those of all modules of multi-token prediction, heads included.
std::vector<Matmul> MtpMatmuls(const Model& model, const Batch& batch);

// Floating-point operations; each is an exact sum rounded once.
struct FlopCounts {
  double forward = 0;        // attention over the pairs that are attended to
  double backward = 0;       // the same
  double dense_forward = 0;  // as if every token attended to every token
  double dense_backward = 0;
};

// The flops of `times` repetitions of the matmuls.
FlopCounts CountFlops(const std::vector<Matmul>& matmuls, int64_t times = 1);
FlopCounts operator+(const FlopCounts& a, const FlopCounts& b);

// The flops of a batch through the model, by where they are.
struct ModelFlops {
  FlopCounts embedding;
  FlopCounts weights;    // matmuls with parameters in layers
  FlopCounts attention;  // scores and values; scans of recurrences
  FlopCounts head;
  FlopCounts mtp;  // in training only

  // Without multi-token prediction.
  FlopCounts total() const { return embedding + weights + attention + head; }
};
ModelFlops CountModelFlops(const Model& model, const Batch& batch);

// Tokens of all stacks in a batch: what "per token" divides by.
int64_t TokensOf(const Model& model, const Batch& batch);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_MATMULS_H_
