#ifndef MESHWRIGHT_MODEL_FAMILIES_COMMON_H_
#define MESHWRIGHT_MODEL_FAMILIES_COMMON_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/model/families.h"

// Common parts of the readers of families.

namespace meshwright::transformer {

inline Norm LayerNorm() { return {.kind = NormKind::kLayer, .weight = true, .bias = true}; }
inline Norm RmsNorm() { return {.kind = NormKind::kRms, .weight = true, .bias = false}; }

// Names of fields, and defaults where the family has some; without a default a field must be there.
struct ModelFields {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view vocabulary = "vocab_size";
  std::string_view positions = "max_position_embeddings";
  std::optional<int64_t> default_vocabulary = std::nullopt;
  std::optional<int64_t> default_layers = std::nullopt;
  int64_t default_positions = 0;
  bool tied = false;
};

// Reads residual stream, embedding and head of a decoder that ends in a language model or in
// classes of sequences; returns the number of layers, 0 after an error.
int64_t StartDecoder(const FamilyInput& input, const ModelFields& fields, Model* model);

struct AttentionFields {
  std::string_view heads = "num_attention_heads";
  std::string_view kv_heads = "num_key_value_heads";
  std::string_view head_dim = "head_dim";  // empty: always hidden / heads
  std::optional<int64_t> default_heads = std::nullopt;
  int64_t default_kv_heads = 0;  // 0: as many as heads
  int64_t default_head_dim = 0;  // 0: hidden / heads
};

// Heads and their size; errors where they do not divide say what would.
Attention ReadHeads(const Config& config, int64_t hidden, const AttentionFields& fields);

// Patches of an image (`image_size`, `patch_size`, `num_channels`) as the embedding, with a
// position for each and for the class token. Returns false, and fails, where there are none or too
// many.
bool ReadPatches(const Config& config, const PatchEmbedding& unless, Model* model);

void SetBiases(Attention& attention, bool qkv, bool output);

// "gelu_new" and so on.
Activation ReadActivation(const Config& config, std::string_view field, std::string_view fallback);

// Llama's: gated, silu.
Mlp ReadGatedMlp(const Config& config, std::string_view ffn = "intermediate_size");

// Which tokens the attention of a layer sees.
enum class Span { kFull, kSliding, kChunked };

// One per layer: `layer_types` if it is there, else by `usual`.
std::vector<Span> ReadSpans(const Config& config, int64_t layers,
                            const std::function<Span(int64_t layer)>& usual);

// `field` as a window, 0 if it is null or absent (then `fallback`).
int64_t ReadWindow(const Config& config, std::string_view field, int64_t fallback);

// Appends a layer, as one of the stack's kinds if it has an equal one.
void AppendLayer(Stack& stack, Layer layer);
// `layers` times the same, in a decoder.
Stack EqualLayers(const Layer& layer, int64_t layers, const Norm& final_norm);

// "dense" or "moe", and the span where a stack has several: "moe-sliding".
std::string LayerName(const Layer& layer);

// `top_k` is at most `experts`, else an error at `field`.
void CheckTopK(const Config& config, std::string_view field, const Moe& moe);

// All divisors of `n`, or the few nearest to `wanted` if there are many: "1, 2, 4, 8".
std::string DivisorsText(int64_t n, int64_t wanted);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_MODEL_FAMILIES_COMMON_H_
