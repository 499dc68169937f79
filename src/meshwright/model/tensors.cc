#include "meshwright/model/tensors.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/families.h"
#include "meshwright/model/recurrence.h"
#include "meshwright/model/tensor_names.h"

namespace meshwright::transformer {
namespace {

// Saturating, so that CheckModel can add up models that are too large.
int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t Product(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product = Times(product, extent);
  return product;
}

// Appends tensors to a list.
class TensorLister {
 public:
  explicit TensorLister(const Model& model) : model_(model), layout_(LayoutOf(model.family)) {
    names_.image = model.embedding.patches.has_value();
  }

  void AddEmbedding();
  void AddLayer(const Stack& stack, const Layer& layer);
  void AddFinalNorm(const Stack& stack) {
    names_.stack = StackName(stack);
    AddNorm(Part::kFinalNorm, stack.final_norm, model_.hidden);
  }
  void AddHead();
  void AddMtp();

  std::vector<Tensor> Take() { return std::move(tensors_); }

 private:
  static std::string_view StackName(const Stack& stack) {
    return stack.role == StackRole::kEncoder ? "encoder" : "decoder";
  }

  Tensor& Add(Part part, std::vector<int64_t> shape, bool bias = false) {
    Tensor tensor;
    tensor.name = NameOf(layout_, part, bias, names_);
    tensor.part = part;
    tensor.active_elements = Product(shape);
    tensor.shape = std::move(shape);
    return tensors_.emplace_back(std::move(tensor));
  }
  // A product with a weight of `out` rows and `in` columns.
  void AddMatrix(Part part, int64_t out, int64_t in, bool bias) {
    Add(part, layout_.weights_in_first ? std::vector{in, out} : std::vector{out, in});
    if (bias) Add(part, {out}, true);
  }
  void AddNorm(Part part, const Norm& norm, int64_t size) {
    if (!norm.present()) return;
    if (norm.weight) Add(part, {size});
    if (norm.bias) Add(part, {size}, true);
  }
  void AddWeights(const std::vector<WeightShape>& weights);
  void AddSelfAttention(const Attention& attention);
  void AddLatentAttention(const Attention& attention);
  void AddQkNorm(const Attention& attention);
  void AddCrossAttention(const Attention& attention);
  void AddMlp(const Mlp& mlp);
  void AddMoe(const Moe& moe);
  void AddExperts(const Moe& moe);
  void AddFusedExperts(const Moe& moe);

  const Model& model_;
  const TensorLayout& layout_;
  NameContext names_;
  std::vector<Tensor> tensors_;
};

void TensorLister::AddWeights(const std::vector<WeightShape>& weights) {
  for (const WeightShape& one : weights) {
    Add(one.part, one.shape);
    if (one.bias) Add(one.part, {one.shape.front()}, true);
  }
}

void TensorLister::AddEmbedding() {
  const Embedding& embedding = model_.embedding;
  const int64_t hidden = model_.hidden;
  if (embedding.vocabulary > 0) {
    Add(Part::kTokenEmbedding, {embedding.vocabulary, embedding.dim});
    if (embedding.dim != hidden)
      AddMatrix(Part::kEmbeddingProjection, hidden, embedding.dim, false);
  }
  if (embedding.patches.has_value()) {
    const PatchEmbedding& patches = *embedding.patches;
    if (patches.class_token) Add(Part::kClassToken, {1, 1, hidden});
    Add(Part::kPatchEmbedding, {hidden, patches.channels, patches.patch, patches.patch});
    if (patches.bias) Add(Part::kPatchEmbedding, {hidden}, true);
  }
  if (embedding.positions > 0) {
    Add(Part::kPositionEmbedding, embedding.patches.has_value()
                                      ? std::vector<int64_t>{1, embedding.positions, hidden}
                                      : std::vector<int64_t>{embedding.positions, hidden});
  }
  if (embedding.sound.has_value()) {
    const SoundEmbedding& sound = *embedding.sound;
    for (const auto& [part, channels] :
         {std::pair{Part::kSoundConvolution, sound.channels}, {Part::kSoundDownsampling, hidden}}) {
      Add(part, {hidden, channels, kSoundTaps});
      Add(part, {hidden}, true);
    }
    Add(Part::kSoundPosition, {sound.positions, hidden}).trained = false;
  }
  AddWeights(embedding.beside);
  if (embedding.token_types > 0) Add(Part::kTokenTypeEmbedding, {embedding.token_types, hidden});
  AddNorm(Part::kEmbeddingNorm, embedding.norm, hidden);
}

void TensorLister::AddLayer(const Stack& stack, const Layer& layer) {
  names_ = {.stack = StackName(stack),
            .sublayer = layer.cross_attention.has_value() ? 2 : 1,
            .gated = layer.mlp.has_value() && layer.mlp->gated,
            .two_norms = layer.parallel && layer.mlp_norm.present()};
  const int64_t hidden = model_.hidden;
  AddNorm(Part::kAttentionNorm, layer.attention_norm, hidden);
  if (layer.attends()) AddSelfAttention(layer.attention);
  if (layer.recurrence.has_value())
    AddWeights(RecurrenceParameters(*layer.recurrence, model_.hidden));
  AddNorm(Part::kAttentionOutputNorm, layer.attention_output_norm, hidden);
  if (layer.cross_attention.has_value()) {
    AddNorm(Part::kCrossAttentionNorm, layer.cross_attention_norm, hidden);
    AddCrossAttention(*layer.cross_attention);
  }
  AddNorm(Part::kMlpNorm, layer.mlp_norm, hidden);
  if (layer.mlp.has_value()) AddMlp(*layer.mlp);
  if (layer.moe.has_value()) AddMoe(*layer.moe);
  AddNorm(Part::kMlpOutputNorm, layer.mlp_output_norm, hidden);
  AddWeights(layer.beside);
}

void TensorLister::AddSelfAttention(const Attention& a) {
  const int64_t hidden = model_.hidden;
  if (a.latent.has_value()) return AddLatentAttention(a);
  const int64_t q = a.heads * a.qk_head_dim * (a.output_gate ? 2 : 1);
  const int64_t k = a.kv_heads * a.qk_head_dim;
  const int64_t v = a.kv_heads * a.v_head_dim;
  if (a.fused_qkv) {
    AddMatrix(Part::kQkv, q + k + v, hidden, a.q_bias);
  } else {
    AddMatrix(Part::kQuery, q, hidden, a.q_bias);
    if (!a.shares_keys) AddMatrix(Part::kKey, k, hidden, a.k_bias);
    if (!a.shares_keys) AddMatrix(Part::kValue, v, hidden, a.v_bias);
  }
  AddQkNorm(a);
  if (a.sinks) Add(Part::kSinks, {a.heads});
  if (a.relative_buckets > 0) Add(Part::kRelativeBias, {a.relative_buckets, a.heads});
  AddMatrix(Part::kAttentionOutput, hidden, a.heads * a.v_head_dim, a.o_bias);
}

void TensorLister::AddLatentAttention(const Attention& a) {
  const int64_t hidden = model_.hidden;
  const LatentAttention& latent = *a.latent;
  const Norm rms = {.kind = NormKind::kRms};
  if (latent.q_rank > 0) {
    AddMatrix(Part::kQueryDown, latent.q_rank, hidden, a.q_bias);
    AddNorm(Part::kQueryDownNorm, rms, latent.q_rank);
    AddMatrix(Part::kQueryUp, a.heads * a.qk_head_dim, latent.q_rank, false);
  } else {
    AddMatrix(Part::kQuery, a.heads * a.qk_head_dim, hidden, false);
  }
  AddMatrix(Part::kKeyValueDown, latent.kv_rank + latent.rope_head_dim, hidden, a.k_bias);
  AddNorm(Part::kKeyValueDownNorm, rms, latent.kv_rank);
  AddMatrix(Part::kKeyValueUp, a.heads * (latent.nope_head_dim + a.v_head_dim), latent.kv_rank,
            false);
  if (a.index.has_value()) {
    const AttentionIndex& index = *a.index;
    AddMatrix(Part::kIndexQuery, index.heads * index.head_dim, latent.q_rank, false);
    AddMatrix(Part::kIndexKey, index.head_dim, hidden, false);
    AddNorm(Part::kIndexKeyNorm, {.kind = NormKind::kLayer, .bias = true}, index.head_dim);
    AddMatrix(Part::kIndexWeights, index.heads, hidden, false);
  }
  AddMatrix(Part::kAttentionOutput, hidden, a.heads * a.v_head_dim, a.o_bias);
}

void TensorLister::AddQkNorm(const Attention& a) {
  if (a.qk_norm == QkNorm::kNone || a.qk_norm == QkNorm::kNoWeight) return;
  const bool all = a.qk_norm == QkNorm::kAllHeads;
  for (const auto& [part, heads] :
       {std::pair{Part::kQueryNorm, a.heads}, {Part::kKeyNorm, a.kv_heads}}) {
    if (part == Part::kKeyNorm && a.shares_keys) continue;
    Add(part, {all ? heads * a.qk_head_dim : a.qk_head_dim});
    if (a.qk_norm == QkNorm::kPerHeadBias) Add(part, {a.qk_head_dim}, true);
  }
}

void TensorLister::AddCrossAttention(const Attention& a) {
  const int64_t hidden = model_.hidden;
  AddMatrix(Part::kCrossQuery, a.heads * a.qk_head_dim, hidden, a.q_bias);
  const int64_t k = a.kv_heads * a.qk_head_dim, v = a.kv_heads * a.v_head_dim;
  AddMatrix(Part::kCrossKey, a.fused_qkv ? k + v : k, hidden, a.k_bias);
  if (!a.fused_qkv) AddMatrix(Part::kCrossValue, v, hidden, a.v_bias);
  AddMatrix(Part::kCrossAttentionOutput, hidden, a.heads * a.v_head_dim, a.o_bias);
}

void TensorLister::AddMlp(const Mlp& mlp) {
  const int64_t hidden = model_.hidden;
  if (mlp.gated && mlp.fused_gate_up) {
    AddMatrix(Part::kMlpGateUp, 2 * mlp.ffn, hidden, mlp.up_bias);
  } else {
    if (mlp.gated) AddMatrix(Part::kMlpGate, mlp.ffn, hidden, mlp.up_bias);
    AddMatrix(Part::kMlpUp, mlp.ffn, hidden, mlp.up_bias);
  }
  if (mlp.activation == Activation::kXielu) Add(Part::kActivation, {2});
  AddMatrix(Part::kMlpDown, hidden, mlp.ffn, mlp.down_bias);
}

void TensorLister::AddMoe(const Moe& moe) {
  const int64_t hidden = model_.hidden;
  AddMatrix(Part::kRouter, moe.experts, hidden, moe.router_bias);
  if (moe.balance_bias) Add(Part::kBalanceBias, {moe.experts}).trained = false;
  if (moe.fused_experts) {
    AddFusedExperts(moe);
  } else {
    AddExperts(moe);
  }
  if (moe.shared.ffn == 0) return;
  if (moe.shared.gated) {
    AddMatrix(Part::kSharedExpertGate, moe.shared.ffn, hidden, moe.shared.up_bias);
  }
  AddMatrix(Part::kSharedExpertUp, moe.shared.ffn, hidden, moe.shared.up_bias);
  AddMatrix(Part::kSharedExpertDown, hidden, moe.shared.ffn, moe.shared.down_bias);
  if (moe.shared_gate) AddMatrix(Part::kSharedExpertScale, 1, hidden, false);
}

void TensorLister::AddExperts(const Moe& moe) {
  const size_t first = tensors_.size();
  const Mlp& expert = moe.expert;
  if (expert.gated) AddMatrix(Part::kExpertGate, expert.ffn, model_.hidden, expert.up_bias);
  AddMatrix(Part::kExpertUp, expert.ffn, model_.hidden, expert.up_bias);
  AddMatrix(Part::kExpertDown, model_.hidden, expert.ffn, expert.down_bias);
  for (size_t i = first; i < tensors_.size(); ++i) {
    tensors_[i].count = moe.experts;
    tensors_[i].active_elements = Times(tensors_[i].active_elements, moe.top_k);
  }
}

void TensorLister::AddFusedExperts(const Moe& moe) {
  const size_t first = tensors_.size();
  const Mlp& expert = moe.expert;
  const Part up = expert.gated ? Part::kExpertGateUp : Part::kExpertUp;
  const int64_t ups = expert.gated ? 2 * expert.ffn : expert.ffn;
  Add(up, {moe.experts, model_.hidden, ups});
  if (expert.up_bias) Add(up, {moe.experts, ups}, true);
  Add(Part::kExpertDown, {moe.experts, expert.ffn, model_.hidden});
  if (expert.down_bias) Add(Part::kExpertDown, {moe.experts, model_.hidden}, true);
  for (size_t i = first; i < tensors_.size(); ++i) {
    const std::vector<int64_t>& shape = tensors_[i].shape;
    tensors_[i].active_elements = Times(Product({shape.begin() + 1, shape.end()}), moe.top_k);
  }
}

void TensorLister::AddHead() {
  const Head& head = model_.head;
  names_.each_token = head.every_token;
  const int64_t hidden = model_.hidden;
  const int64_t dim = model_.embedding.dim > 0 ? model_.embedding.dim : hidden;
  AddWeights(head.beside);
  AddWeights(head.once);
  if (dim != hidden) AddMatrix(Part::kHeadProjection, dim, hidden, false);
  if (head.pooler > 0) AddMatrix(Part::kPooler, head.pooler, hidden, true);
  if (head.transform) {
    AddMatrix(Part::kHeadTransform, hidden, hidden, true);
    AddNorm(Part::kHeadTransformNorm, {.kind = NormKind::kLayer, .bias = true}, hidden);
  }
  if (head.outputs > 0) {
    // Tables are never transposed, and a head may share one.
    if (!head.tied) Add(Part::kHead, {head.outputs, dim});
    if (head.bias) Add(Part::kHead, {head.outputs}, true);
  }
  if (head.pooled_outputs > 0) AddMatrix(Part::kPooledHead, head.pooled_outputs, head.pooler, true);
}

void TensorLister::AddMtp() {
  const int64_t hidden = model_.hidden;
  const Stack& stack = model_.stacks.back();
  AddNorm(Part::kMtpEmbeddingNorm, stack.final_norm, hidden);
  AddNorm(Part::kMtpHiddenNorm, stack.final_norm, hidden);
  AddMatrix(Part::kMtpProjection, hidden, 2 * hidden, false);
  AddLayer(stack, stack.kinds[model_.mtp.kind]);
  AddNorm(Part::kMtpFinalNorm, stack.final_norm, hidden);
}

void Repeat(Tensor& tensor, int64_t times) {
  tensor.count = Times(tensor.count, times);
  tensor.active_elements = Times(tensor.active_elements, times);
}

void Append(std::vector<Tensor>& all, std::vector<Tensor> more) {
  for (Tensor& tensor : more) all.push_back(std::move(tensor));
}

}  // namespace

int64_t Tensor::elements() const { return Times(Product(shape), count); }

std::vector<Tensor> LayerTensors(const Model& model, const Stack& stack, const Layer& layer) {
  TensorLister lister(model);
  lister.AddLayer(stack, layer);
  return lister.Take();
}

std::vector<Tensor> Tensors(const Model& model) {
  TensorLister start(model);
  start.AddEmbedding();
  std::vector<Tensor> all = start.Take();
  for (size_t s = 0; s < model.stacks.size(); ++s) {
    const Stack& stack = model.stacks[s];
    for (size_t k = 0; k < stack.kinds.size(); ++k) {
      std::vector<Tensor> layer = LayerTensors(model, stack, stack.kinds[k]);
      const int64_t layers = stack.CountOf(static_cast<int32_t>(k));
      for (Tensor& tensor : layer) {
        Repeat(tensor, layers);
        tensor.stack = static_cast<int32_t>(s);
        tensor.layer_kind = static_cast<int32_t>(k);
      }
      if (layers > 0) Append(all, std::move(layer));
    }
    TensorLister end(model);
    end.AddFinalNorm(stack);
    Append(all, end.Take());
    for (Tensor& tensor : all) {
      if (tensor.part == Part::kFinalNorm && tensor.stack < 0)
        tensor.stack = static_cast<int32_t>(s);
    }
  }
  TensorLister head(model);
  head.AddHead();
  Append(all, head.Take());
  if (model.mtp.modules > 0) {
    TensorLister mtp(model);
    mtp.AddMtp();
    std::vector<Tensor> tensors = mtp.Take();
    for (Tensor& tensor : tensors) {
      Repeat(tensor, model.mtp.modules);
      tensor.mtp = true;
      tensor.name = absl::StrReplaceAll(tensor.name, {{"{layer}", "{module}"}});
    }
    Append(all, std::move(tensors));
  }
  return all;
}

ParameterCounts CountParameters(const std::vector<Tensor>& tensors) {
  ParameterCounts counts;
  for (const Tensor& tensor : tensors) {
    const int64_t elements = tensor.elements();
    if (tensor.mtp) {
      counts.mtp = Plus(counts.mtp, elements);
    } else if (!tensor.trained) {
      counts.untrained = Plus(counts.untrained, elements);
    } else {
      counts.total = Plus(counts.total, elements);
      counts.active = Plus(counts.active, tensor.active_elements);
      const bool table =
          tensor.part == Part::kTokenEmbedding || tensor.part == Part::kPositionEmbedding ||
          tensor.part == Part::kTokenTypeEmbedding || tensor.part == Part::kLayerEmbedding;
      if (table) counts.embedding = Plus(counts.embedding, elements);
    }
  }
  return counts;
}

}  // namespace meshwright::transformer
