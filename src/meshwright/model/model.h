#ifndef MESHWRIGHT_MODEL_MODEL_H_
#define MESHWRIGHT_MODEL_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// A transformer as its configuration describes it: what is in each layer and which layer is of
// which kind. Sizes are numbers of elements, counts are numbers of things; nothing here depends on
// batch, sequence length, data type or how the model is distributed. tensors.h lists the parameters
// that follow from it, matmuls.h the arithmetic.

namespace meshwright::transformer {

// Most layers of all stacks together, and largest values of single sizes, that a valid Model has
// (see CheckModel in check_model.h). They keep every count of parameters and operations within 63
// bits.
inline constexpr int64_t kMaxLayers = 4096;
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;       // hidden size, head size, ranks
inline constexpr int64_t kMaxProjection = int64_t{1} << 22;  // heads x head size
inline constexpr int64_t kMaxFfn = int64_t{1} << 24;         // inner size of an MLP
inline constexpr int64_t kMaxVocabulary = int64_t{1} << 28;  // also positions and classes
inline constexpr int64_t kMaxExperts = int64_t{1} << 16;
inline constexpr int64_t kMaxParameters = 1'000'000'000'000'000;
inline constexpr int64_t kMaxSequence = int64_t{1} << 24;

enum class Part : int;  // tensors.h

// A weight, and whether a bias with as many elements as its first extent comes with it.
struct WeightShape {
  Part part = {};
  std::vector<int64_t> shape;  // [out, in] of a matrix that tokens are multiplied with
  bool bias = false;
  bool matrix = false;  // it is such a matrix; of one with three extents, a block for each head

  friend bool operator==(const WeightShape&, const WeightShape&) = default;
};

enum class NormKind {
  kNone,   // there is no norm at this place
  kLayer,  // LayerNorm: mean and variance
  kRms,    // RMSNorm: root mean square
};

struct Norm {
  NormKind kind = NormKind::kNone;
  bool weight = true;  // has a scale per element
  bool bias = false;   // has a shift per element

  bool present() const { return kind != NormKind::kNone; }
  friend bool operator==(const Norm&, const Norm&) = default;
};

// How attention learns where tokens are.
enum class PositionKind {
  kNone,          // not at all in this layer (NoPE), or by embeddings of positions before it
  kRope,          // rotation of queries and keys
  kAlibi,         // linear bias on the scores, no parameters
  kRelativeBias,  // T5: a learned bias per head and bucket of distance
};

// Which norm queries and keys pass between projection and scores.
enum class QkNorm {
  kNone,
  kPerHead,      // over the elements of each head, one weight per element of a head, shared by the
                 // heads
  kNoWeight,     // the same without a weight (Llama 4)
  kPerHeadBias,  // with a weight and a bias per element of a head (Phi)
  kAllHeads,     // over all heads, or each, with a weight per element of all heads (OLMo, Cohere)
};

// Multi-head latent attention (DeepSeek V2, arXiv:2405.04434, section 2.1): queries and keys+values
// are projected down to a rank, normed, and up again to the heads. Keys are nope_head_dim elements
// per head of that plus rope_head_dim elements that all heads share.
struct LatentAttention {
  int64_t q_rank = 0;  // 0: queries are projected directly
  int64_t kv_rank = 0;
  int64_t nope_head_dim = 0;
  int64_t rope_head_dim = 0;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

// DeepSeek V3.2's sparse attention: small queries and keys of an indexer of their own score all
// tokens, and attention sees those that score most. The keys are normed, with a bias.
struct AttentionIndex {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t top_k = 0;  // tokens that attention sees

  friend bool operator==(const AttentionIndex&, const AttentionIndex&) = default;
};

// Queries of `heads` heads attend to keys and values of `kv_heads` heads; heads is a multiple of
// kv_heads. 1 kv head is MQA, heads kv heads are MHA, between them GQA.
struct Attention {
  int64_t heads = 0;
  int64_t kv_heads = 0;  // = heads with latent attention
  int64_t qk_head_dim =
      0;  // elements of a head in queries and keys; nope + rope with latent attention
  int64_t v_head_dim = 0;  // elements of a head in values and in what the heads give
  bool q_bias = false;     // with latent attention: of the projections down
  bool k_bias = false;
  bool v_bias = false;
  bool o_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  PositionKind position = PositionKind::kRope;
  int64_t relative_buckets =
      0;  // rows of the table of biases that this layer owns (T5: the first only)
  bool causal = true;
  // A token attends to the last `window` tokens, itself among them; 0: to all. Windows that are not
  // causal reach window - 1 tokens to both sides.
  int64_t window = 0;
  // Tokens attend within their own chunk of this many tokens; 0: the sequence is one chunk.
  int64_t chunk = 0;
  // The projection of queries gives as much again, by which what the heads give is gated (Qwen 3
  // Next).
  bool output_gate = false;
  bool sinks = false;        // a learned logit per head that takes part in the softmax (GPT-OSS)
  bool fused_qkv = false;    // checkpoints hold the projections of q, k and v as one tensor
  bool shares_keys = false;  // keys and values are those of an earlier layer (Gemma 3n)
  std::optional<LatentAttention> latent = std::nullopt;
  std::optional<AttentionIndex> index = std::nullopt;  // of latent attention with a rank of queries

  friend bool operator==(const Attention&, const Attention&) = default;
};

// What runs along the sequence in place of attention: a state that each token decays and adds to.
enum class RecurrenceKind {
  kSelective,       // Mamba: a state a channel, whose step, input and output the token chooses
  kStateSpaceDual,  // Mamba-2: a matrix a head, scanned in chunks, which are matmuls
  kGatedDelta,      // Gated DeltaNet: the same, and what a key had added is taken away first
  kGatedUnit,       // RG-LRU: a number a channel
  kLightning,       // MiniMax: a matrix a head that decays at a fixed rate, scanned in chunks
  kWeightedSum,     // RWKV 4: a weighted mean of values a channel
  kConvolution,     // no state: a short convolution between two gates
};

// Sources and what follows from these sizes: recurrence.h.
struct Recurrence {
  RecurrenceKind kind = RecurrenceKind::kSelective;
  int64_t heads = 0;     // that have a decay of their own each
  int64_t head_dim = 0;  // channels of a head
  int64_t groups = 0;    // of heads that share keys and queries (B and C); 0: there are none
  int64_t state = 0;     // elements of a channel's state; 0: one, or none
  int64_t rank = 0;      // from which steps are made (kSelective)
  int64_t taps = 0;      // of the convolution along the sequence, before the state
  int64_t chunk = 0;     // tokens that are scanned at once; 0: in turn
  bool bias = false;     // of the projections in and out
  bool convolution_bias = false;
  bool norms = false;  // of step, input and output of the state (Jamba)

  int64_t channels() const { return heads * head_dim; }
  friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

enum class Activation { kGelu, kRelu, kSilu, kSquaredRelu, kXielu };  // xIELU has two parameters

// down(act(up(x))), or down(act(gate(x)) * up(x)) if gated.
struct Mlp {
  int64_t ffn = 0;  // inner size
  bool gated = false;
  bool up_bias = false;  // also of the gate
  bool down_bias = false;
  bool fused_gate_up = false;  // checkpoints hold gate and up as one tensor
  Activation activation = Activation::kGelu;

  friend bool operator==(const Mlp&, const Mlp&) = default;
};

// A router sends each token to `top_k` of `experts` MLPs; the shared expert sees every token.
struct Moe {
  int64_t experts = 0;
  int64_t top_k = 0;
  Mlp expert;
  bool router_bias = false;   // added to the router's logits, trained by gradients
  bool balance_bias = false;  // DeepSeek V3: correction per expert, used for selection only
  // The MLP that checkpoints hold (several parallel shared experts have the sum of their inner
  // sizes); ffn 0: none.
  Mlp shared;
  bool shared_gate = false;    // Qwen2-MoE: the shared expert's result is scaled by sigmoid(w x)
  bool fused_experts = false;  // checkpoints hold the experts of a layer as one tensor

  friend bool operator==(const Moe&, const Moe&) = default;
};

// Residual layer: attention or a recurrence, optionally attention to the encoder's output, then MLP
// or MoE. In a sequential layer with norms before: x += attention(norm(x)); x += mlp(norm(x)). A
// layer may have one of the two halves alone.
struct Layer {
  std::string name;     // of the kind, unique in its stack: "dense", "sliding", ...
  Attention attention;  // no heads: there is none
  std::optional<Recurrence> recurrence;      // in place of attention
  std::optional<Attention> cross_attention;  // keys and values from the encoder's output
  std::optional<Mlp> mlp;                    // at most one of mlp and moe
  std::optional<Moe> moe;

  bool attends() const { return attention.heads > 0; }
  bool feeds_forward() const { return mlp.has_value() || moe.has_value(); }

  // Attention and MLP read the same x and are added together. If mlp_norm is absent they share
  // attention_norm.
  bool parallel = false;
  // Norms stand after the residual sum (original transformer, BERT) instead of before.
  bool post_norm = false;
  Norm attention_norm;
  Norm cross_attention_norm;
  Norm mlp_norm;
  Norm attention_output_norm;  // Gemma 2 and 3: between attention and the residual sum
  Norm mlp_output_norm;
  std::vector<WeightShape> beside;  // what tokens pass beside all of these

  friend bool operator==(const Layer&, const Layer&) = default;
};

enum class StackRole { kEncoder, kDecoder };

// Layers in sequence. `layers[i]` is the kind of the i-th layer, an index into `kinds`.
struct Stack {
  StackRole role = StackRole::kDecoder;
  std::vector<Layer> kinds = {};
  std::vector<int32_t> layers = {};
  Norm final_norm = {};

  const Layer& layer(int64_t i) const { return kinds[layers[i]]; }
  // How many layers are of kind `kind`.
  int64_t CountOf(int32_t kind) const;

  friend bool operator==(const Stack&, const Stack&) = default;
};

// Images cut into patches (ViT); zeros for text.
struct PatchEmbedding {
  int64_t image = 0;  // pixels of a side
  int64_t patch = 0;  // pixels of a side
  int64_t channels = 0;
  bool bias = true;
  bool class_token = true;

  int64_t side() const { return image / patch; }  // patches of a side

  friend bool operator==(const PatchEmbedding&, const PatchEmbedding&) = default;
};

inline constexpr int64_t kSoundTaps = 3;

// Sound as spectra (Whisper): two convolutions of kSoundTaps, of which the second halves what the
// encoder sees.
struct SoundEmbedding {
  int64_t channels = 0;   // of a spectrum
  int64_t positions = 0;  // tokens of the encoder, whose positions are fixed

  friend bool operator==(const SoundEmbedding&, const SoundEmbedding&) = default;
};

// The part that turns tokens into vectors of `hidden` elements.
struct Embedding {
  int64_t vocabulary = 0;  // rows of the table of tokens as stored, padding included; 0 for images
  int64_t dim = 0;  // elements of a row; where it is not `hidden`, a projection follows (OPT-350m)
  int64_t positions = 0;    // rows of a learned table of positions; 0: none
  int64_t token_types = 0;  // rows of a table of segments (BERT); 0: none
  Norm norm = {};
  std::optional<PatchEmbedding> patches = std::nullopt;
  std::optional<SoundEmbedding> sound =
      std::nullopt;                      // of the encoder, beside the decoder's tokens
  std::vector<WeightShape> beside = {};  // in the order of execution

  friend bool operator==(const Embedding&, const Embedding&) = default;
};

// The part behind the last stack.
struct Head {
  int64_t outputs = 0;      // vocabulary or number of classes; 0: the model ends without one
  bool tied = false;        // the weight is the embedding's table
  bool bias = false;        // of the outputs
  bool every_token = true;  // logits of every token; false: of one per sequence (classifiers)
  bool transform =
      false;           // BERT's MLM: dense hidden x hidden, activation and norm before the outputs
  int64_t pooler = 0;  // outputs of a dense layer on the first token; 0: none
  int64_t pooled_outputs = 0;  // classes of a second head on the pooler (BERT: next sentence)
  std::vector<WeightShape> beside = {};  // what all tokens pass before it
  std::vector<WeightShape> once = {};    // what one token of a sequence passes before it

  friend bool operator==(const Head&, const Head&) = default;
};

// Multi-token prediction (DeepSeek V3, arXiv:2412.19437, section 2.2): each module norms the last
// hidden state and the next token's embedding, projects both (2 hidden) to hidden, and has one
// layer and a final norm; embedding and head are the main model's.
struct MultiTokenPrediction {
  int64_t modules = 0;
  int32_t kind = 0;  // of the layer, in the last stack's `kinds`

  friend bool operator==(const MultiTokenPrediction&, const MultiTokenPrediction&) = default;
};

struct Model {
  std::string family;  // `model_type` of Hugging Face configurations: "llama"
  std::string name;    // as the user called it: "llama3-8b" or the file's name
  int64_t hidden = 0;  // elements of the residual stream
  // Longest sequence in tokens that it was made for; 0: not stated.
  int64_t max_sequence = 0;
  Embedding embedding;
  std::vector<Stack> stacks;  // in the order of execution: one, or encoder and decoder
  Head head;
  MultiTokenPrediction mtp;
  std::vector<std::string> notes;  // what of the configuration is not described, one sentence each

  int64_t layers() const;  // of all stacks, without those of multi-token prediction

  friend bool operator==(const Model&, const Model&) = default;
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_MODEL_H_
