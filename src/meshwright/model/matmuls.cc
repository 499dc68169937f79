#include "meshwright/model/matmuls.h"

#include <algorithm>
#include <utility>

#include "meshwright/model/recurrence.h"

namespace meshwright::transformer {
namespace {

using Wide = __int128;

Wide ExactFlops(const Matmul& matmul, bool dense) {
  switch (matmul.kind) {
    case MatmulKind::kWeight:
    case MatmulKind::kScan:
      return Wide{2} * matmul.batch * matmul.m * matmul.n * matmul.k;
    case MatmulKind::kExperts:
      return Wide{2} * matmul.m * matmul.n * matmul.k;
    case MatmulKind::kScores:  // m queries, n keys, k elements
      return Wide{2} * matmul.batch * matmul.k * (dense ? matmul.m * matmul.n : matmul.pairs);
    case MatmulKind::kValues:  // m queries, n elements, k keys
      return Wide{2} * matmul.batch * matmul.n * (dense ? matmul.m * matmul.k : matmul.pairs);
  }
  return 0;
}

// 1 + 2 + ... + n.
int64_t Triangle(int64_t n) { return n * (n + 1) / 2; }

bool IsSource(const Model& model, const Stack& stack) {
  return stack.role == StackRole::kEncoder && model.stacks.size() > 1;
}

}  // namespace

int64_t TokensOfStack(const Model& model, const Stack& stack, const Batch& batch) {
  return IsSource(model, stack) ? SourceTokens(model, batch) : batch.tokens;
}

namespace {

// Appends matmuls with `rows` rows of activations.
class Lister {
 public:
  Lister(const Model& model, int64_t sequences) : model_(model), sequences_(sequences) {}

  void Weight(Part part, int64_t rows, int64_t out, int64_t in) {
    matmuls_.push_back({.kind = MatmulKind::kWeight, .part = part, .m = rows, .n = out, .k = in});
  }
  void SelfAttention(const Attention& attention, int64_t tokens);
  void CrossAttention(const Attention& attention, int64_t tokens, int64_t source);
  void Scan(const Recurrence& recurrence, int64_t tokens);
  // Those of `weights` that are matrices.
  void Weights(const std::vector<WeightShape>& weights, int64_t rows);
  void Feedforward(const Layer& layer, int64_t rows);

  std::vector<Matmul> Take() { return std::move(matmuls_); }

 private:
  void Index(const Attention& attention, int64_t tokens);
  void Latent(const Attention& attention, int64_t rows);
  void Pairs(const Attention& attention, Part part, int64_t queries, int64_t keys, int64_t pairs);
  void Experts(const Moe& moe, int64_t rows);

  const Model& model_;
  const int64_t sequences_;
  std::vector<Matmul> matmuls_;
};

void Lister::SelfAttention(const Attention& a, int64_t tokens) {
  const int64_t rows = sequences_ * tokens;
  const int64_t q = a.heads * a.qk_head_dim * (a.output_gate ? 2 : 1);
  const int64_t k = a.kv_heads * a.qk_head_dim;
  const int64_t v = a.kv_heads * a.v_head_dim;
  if (a.latent.has_value()) {
    Latent(a, rows);
  } else if (a.fused_qkv) {
    Weight(Part::kQkv, rows, q + k + v, model_.hidden);
  } else {
    Weight(Part::kQuery, rows, q, model_.hidden);
    if (!a.shares_keys) Weight(Part::kKey, rows, k, model_.hidden);
    if (!a.shares_keys) Weight(Part::kValue, rows, v, model_.hidden);
  }
  if (a.index.has_value()) Index(a, tokens);
  Pairs(a, Part::kAttentionOutput, tokens, tokens, AttendedPairs(a, tokens));
  Weight(Part::kAttentionOutput, rows, model_.hidden, a.heads * a.v_head_dim);
}

// The scan stands before the projection out.
void Lister::Scan(const Recurrence& recurrence, int64_t tokens) {
  for (const WeightShape& one : RecurrenceParameters(recurrence, model_.hidden)) {
    if (one.part == Part::kRecurrenceOutput) {
      for (Matmul matmul : ScanMatmuls(recurrence, tokens)) {
        matmul.batch *= sequences_;
        matmuls_.push_back(matmul);
      }
    }
    Weights({one}, sequences_ * tokens);
  }
}

void Lister::Weights(const std::vector<WeightShape>& weights, int64_t rows) {
  for (const WeightShape& one : weights) {
    if (!one.matrix) continue;
    // Of a matrix in blocks every output has the inputs of its block.
    const bool blocks = one.shape.size() > 2;
    Weight(one.part, rows, blocks ? one.shape[0] * one.shape[1] : one.shape[0], one.shape.back());
  }
}

// Every query of the indexer meets every key before it; the loss has no gradients for any of it.
void Lister::Index(const Attention& a, int64_t tokens) {
  const AttentionIndex& index = *a.index;
  const int64_t rows = sequences_ * tokens, first = std::ssize(matmuls_);
  Weight(Part::kIndexQuery, rows, index.heads * index.head_dim, a.latent->q_rank);
  Weight(Part::kIndexKey, rows, index.head_dim, model_.hidden);
  Weight(Part::kIndexWeights, rows, index.heads, model_.hidden);
  matmuls_.push_back({.kind = MatmulKind::kScan,
                      .part = Part::kIndexQuery,
                      .m = tokens,
                      .n = (tokens + 1) / 2,  // that are not after it, on average
                      .k = index.head_dim,
                      .batch = sequences_ * index.heads});
  for (int64_t i = first; i < std::ssize(matmuls_); ++i) matmuls_[i].backward_matmuls = 0;
}

void Lister::Latent(const Attention& a, int64_t rows) {
  const LatentAttention& latent = *a.latent;
  if (latent.q_rank > 0) {
    Weight(Part::kQueryDown, rows, latent.q_rank, model_.hidden);
    Weight(Part::kQueryUp, rows, a.heads * a.qk_head_dim, latent.q_rank);
  } else {
    Weight(Part::kQuery, rows, a.heads * a.qk_head_dim, model_.hidden);
  }
  Weight(Part::kKeyValueDown, rows, latent.kv_rank + latent.rope_head_dim, model_.hidden);
  Weight(Part::kKeyValueUp, rows, a.heads * (latent.nope_head_dim + a.v_head_dim), latent.kv_rank);
}

void Lister::CrossAttention(const Attention& a, int64_t tokens, int64_t source) {
  const int64_t rows = sequences_ * tokens;
  const int64_t source_rows = sequences_ * source;
  Weight(Part::kCrossQuery, rows, a.heads * a.qk_head_dim, model_.hidden);
  const int64_t k = a.kv_heads * a.qk_head_dim, v = a.kv_heads * a.v_head_dim;
  Weight(Part::kCrossKey, source_rows, a.fused_qkv ? k + v : k, model_.hidden);
  if (!a.fused_qkv) Weight(Part::kCrossValue, source_rows, v, model_.hidden);
  Pairs(a, Part::kCrossAttentionOutput, tokens, source, tokens * source);
  Weight(Part::kCrossAttentionOutput, rows, model_.hidden, a.heads * a.v_head_dim);
}

void Lister::Pairs(const Attention& a, Part part, int64_t queries, int64_t keys, int64_t pairs) {
  matmuls_.push_back({.kind = MatmulKind::kScores,
                      .part = part,
                      .m = queries,
                      .n = keys,
                      .k = a.qk_head_dim,
                      .batch = sequences_ * a.heads,
                      .pairs = pairs});
  matmuls_.push_back({.kind = MatmulKind::kValues,
                      .part = part,
                      .m = queries,
                      .n = a.v_head_dim,
                      .k = keys,
                      .batch = sequences_ * a.heads,
                      .pairs = pairs});
}

void Lister::Feedforward(const Layer& layer, int64_t rows) {
  if (layer.moe.has_value()) return Experts(*layer.moe, rows);
  const Mlp& mlp = *layer.mlp;
  if (mlp.gated && mlp.fused_gate_up) {
    Weight(Part::kMlpGateUp, rows, 2 * mlp.ffn, model_.hidden);
  } else {
    if (mlp.gated) Weight(Part::kMlpGate, rows, mlp.ffn, model_.hidden);
    Weight(Part::kMlpUp, rows, mlp.ffn, model_.hidden);
  }
  Weight(Part::kMlpDown, rows, model_.hidden, mlp.ffn);
}

void Lister::Experts(const Moe& moe, int64_t rows) {
  const auto expert = [&](Part part, int64_t out, int64_t in) {
    matmuls_.push_back({.kind = MatmulKind::kExperts,
                        .part = part,
                        .m = rows * moe.top_k,
                        .n = out,
                        .k = in,
                        .batch = moe.experts});
  };
  const int64_t ffn = moe.expert.ffn;
  Weight(Part::kRouter, rows, moe.experts, model_.hidden);
  if (moe.expert.gated && moe.fused_experts) {
    expert(Part::kExpertGateUp, 2 * ffn, model_.hidden);
  } else {
    if (moe.expert.gated) expert(Part::kExpertGate, ffn, model_.hidden);
    expert(Part::kExpertUp, ffn, model_.hidden);
  }
  expert(Part::kExpertDown, model_.hidden, ffn);
  if (moe.shared.ffn == 0) return;
  if (moe.shared.gated) Weight(Part::kSharedExpertGate, rows, moe.shared.ffn, model_.hidden);
  Weight(Part::kSharedExpertUp, rows, moe.shared.ffn, model_.hidden);
  Weight(Part::kSharedExpertDown, rows, model_.hidden, moe.shared.ffn);
  if (moe.shared_gate) Weight(Part::kSharedExpertScale, rows, 1, model_.hidden);
}

bool IsAttention(const Matmul& matmul) {
  return matmul.kind == MatmulKind::kScores || matmul.kind == MatmulKind::kValues ||
         matmul.kind == MatmulKind::kScan;
}

}  // namespace

int64_t SourceTokens(const Model& model, const Batch& batch) {
  if (model.embedding.sound.has_value()) return model.embedding.sound->positions;
  return batch.source_tokens > 0 ? batch.source_tokens : batch.tokens;
}

double Matmul::Flops(bool dense) const { return static_cast<double>(ExactFlops(*this, dense)); }

int64_t AttendedPairs(const Attention& attention, int64_t tokens) {
  if (attention.chunk > 0 && attention.chunk < tokens) {
    Attention inside = attention;
    inside.chunk = 0;
    return tokens / attention.chunk * AttendedPairs(inside, attention.chunk) +
           AttendedPairs(inside, tokens % attention.chunk);
  }
  if (attention.index.has_value() && attention.index->top_k < tokens) {
    Attention some = attention;
    some.window = some.index->top_k;  // as many tokens, if not those
    some.index.reset();
    return AttendedPairs(some, tokens);
  }
  const int64_t reach =
      attention.window > 0 ? std::min(attention.window, tokens) : tokens;  // itself included
  // A query sees itself and up to reach - 1 tokens before it; the first ones have fewer.
  const int64_t before = Triangle(reach) + (tokens - reach) * reach;
  return attention.causal ? before : 2 * before - tokens;
}

std::vector<Matmul> LayerMatmuls(const Model& model, const Stack& stack, const Layer& layer,
                                 const Batch& batch) {
  const int64_t tokens = TokensOfStack(model, stack, batch);
  Lister lister(model, batch.sequences);
  if (layer.attends()) lister.SelfAttention(layer.attention, tokens);
  if (layer.recurrence.has_value()) lister.Scan(*layer.recurrence, tokens);
  if (layer.cross_attention.has_value()) {
    lister.CrossAttention(*layer.cross_attention, tokens, SourceTokens(model, batch));
  }
  if (layer.feeds_forward()) lister.Feedforward(layer, batch.sequences * tokens);
  lister.Weights(layer.beside, batch.sequences * tokens);
  return lister.Take();
}

std::vector<Matmul> EmbeddingMatmuls(const Model& model, const Batch& batch) {
  Lister lister(model, batch.sequences);
  const Embedding& embedding = model.embedding;
  if (embedding.patches.has_value()) {
    const PatchEmbedding& patches = *embedding.patches;
    lister.Weight(Part::kPatchEmbedding, batch.sequences * patches.side() * patches.side(),
                  model.hidden, patches.channels * patches.patch * patches.patch);
  } else if (embedding.dim != model.hidden) {
    lister.Weight(Part::kEmbeddingProjection, TokensOf(model, batch), model.hidden, embedding.dim);
  }
  if (embedding.sound.has_value()) {
    const int64_t rows = batch.sequences * embedding.sound->positions;
    lister.Weight(Part::kSoundConvolution, 2 * rows, model.hidden,
                  kSoundTaps * embedding.sound->channels);
    lister.Weight(Part::kSoundDownsampling, rows, model.hidden, kSoundTaps * model.hidden);
  }
  lister.Weights(embedding.beside, batch.sequences * batch.tokens);
  std::vector<Matmul> matmuls = lister.Take();
  for (Matmul& matmul : matmuls) {
    if (matmul.part == Part::kPatchEmbedding || matmul.part == Part::kSoundConvolution)
      matmul.backward_matmuls = 1;
  }
  return matmuls;
}

std::vector<Matmul> HeadMatmuls(const Model& model, const Batch& batch) {
  Lister lister(model, batch.sequences);
  const Head& head = model.head;
  const int64_t rows = head.every_token ? batch.sequences * batch.tokens : batch.sequences;
  const int64_t dim = model.embedding.dim > 0 ? model.embedding.dim : model.hidden;
  lister.Weights(head.beside, batch.sequences * batch.tokens);
  lister.Weights(head.once, batch.sequences);
  if (dim != model.hidden) lister.Weight(Part::kHeadProjection, rows, dim, model.hidden);
  if (head.pooler > 0) lister.Weight(Part::kPooler, batch.sequences, head.pooler, model.hidden);
  if (head.transform) lister.Weight(Part::kHeadTransform, rows, model.hidden, model.hidden);
  if (head.outputs > 0) lister.Weight(Part::kHead, rows, head.outputs, dim);
  if (head.pooled_outputs > 0) {
    lister.Weight(Part::kPooledHead, batch.sequences, head.pooled_outputs, head.pooler);
  }
  return lister.Take();
}

std::vector<Matmul> MtpMatmuls(const Model& model, const Batch& batch) {
  std::vector<Matmul> all;
  const Stack& stack = model.stacks.back();
  for (int64_t i = 0; i < model.mtp.modules; ++i) {
    Lister lister(model, batch.sequences);
    lister.Weight(Part::kMtpProjection, batch.sequences * batch.tokens, model.hidden,
                  2 * model.hidden);
    for (const std::vector<Matmul>& matmuls :
         {lister.Take(), LayerMatmuls(model, stack, stack.kinds[model.mtp.kind], batch),
          HeadMatmuls(model, batch)}) {
      all.insert(all.end(), matmuls.begin(), matmuls.end());
    }
  }
  return all;
}

FlopCounts CountFlops(const std::vector<Matmul>& matmuls, int64_t times) {
  Wide forward = 0, backward = 0, dense_forward = 0, dense_backward = 0;
  for (const Matmul& matmul : matmuls) {
    const Wide attended = times * ExactFlops(matmul, false);
    const Wide dense = times * ExactFlops(matmul, true);
    forward += attended;
    backward += matmul.backward_matmuls * attended;
    dense_forward += dense;
    dense_backward += matmul.backward_matmuls * dense;
  }
  return {static_cast<double>(forward), static_cast<double>(backward),
          static_cast<double>(dense_forward), static_cast<double>(dense_backward)};
}

FlopCounts operator+(const FlopCounts& a, const FlopCounts& b) {
  return {a.forward + b.forward, a.backward + b.backward, a.dense_forward + b.dense_forward,
          a.dense_backward + b.dense_backward};
}

ModelFlops CountModelFlops(const Model& model, const Batch& batch) {
  ModelFlops flops;
  flops.embedding = CountFlops(EmbeddingMatmuls(model, batch));
  for (const Stack& stack : model.stacks) {
    for (size_t kind = 0; kind < stack.kinds.size(); ++kind) {
      std::vector<Matmul> weights = LayerMatmuls(model, stack, stack.kinds[kind], batch);
      const auto middle = std::stable_partition(weights.begin(), weights.end(),
                                                [](const Matmul& m) { return !IsAttention(m); });
      const std::vector<Matmul> attention(middle, weights.end());
      weights.erase(middle, weights.end());
      const int64_t layers = stack.CountOf(static_cast<int32_t>(kind));
      flops.weights = flops.weights + CountFlops(weights, layers);
      flops.attention = flops.attention + CountFlops(attention, layers);
    }
  }
  flops.head = CountFlops(HeadMatmuls(model, batch));
  flops.mtp = CountFlops(MtpMatmuls(model, batch));
  return flops;
}

int64_t TokensOf(const Model& model, const Batch& batch) {
  int64_t tokens = 0;
  for (const Stack& stack : model.stacks) tokens += TokensOfStack(model, stack, batch);
  return batch.sequences * tokens;
}

}  // namespace meshwright::transformer
