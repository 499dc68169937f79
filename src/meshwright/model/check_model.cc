#include "meshwright/model/check_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/tensors.h"

namespace meshwright::transformer {
namespace {

// Collects the first error.
class Checker {
 public:
  explicit Checker(const Model& model) : model_(model) {}

  template <typename... Pieces>
  void Require(bool condition, const Pieces&... pieces) {
    if (condition || !status_.ok()) return;
    status_ = absl::InvalidArgumentError(StrCat(model_.name, ": ", where_, pieces...));
  }
  void RequireSize(std::string_view what, int64_t value, int64_t least, int64_t most) {
    Require(value >= least && value <= most, what, " is ", value, "; valid are ", least, " to ",
            most);
  }

  absl::Status Run();

 private:
  void CheckEmbeddingAndHead();
  void CheckStack(const Stack& stack);
  void CheckAttention(std::string_view what, const Attention& attention);
  void CheckRecurrence(const Recurrence& r);
  void CheckMlp(const Mlp& mlp);
  void CheckMoe(const Moe& moe);

  const Model& model_;
  std::string where_;
  absl::Status status_;
};

void Checker::CheckEmbeddingAndHead() {
  const Embedding& embedding = model_.embedding;
  RequireSize("hidden", model_.hidden, 1, kMaxWidth);
  RequireSize("vocabulary", embedding.vocabulary, 0, kMaxVocabulary);
  RequireSize("positions", embedding.positions, 0, kMaxVocabulary);
  RequireSize("token types", embedding.token_types, 0, kMaxVocabulary);
  Require(embedding.vocabulary > 0 || embedding.patches.has_value(),
          "an embedding of tokens or of patches is needed");
  RequireSize("embedding dim", embedding.dim, embedding.vocabulary > 0 ? 1 : 0, kMaxWidth);
  if (embedding.patches.has_value()) {
    RequireSize("image", embedding.patches->image, 1, kMaxWidth);
    RequireSize("patch", embedding.patches->patch, 1, embedding.patches->image);
    RequireSize("channels", embedding.patches->channels, 1, kMaxWidth);
  }
  if (embedding.sound.has_value()) {
    RequireSize("the sound's channels", embedding.sound->channels, 1, kMaxWidth);
    RequireSize("the sound's positions", embedding.sound->positions, 1, kMaxVocabulary);
    Require(model_.stacks.size() > 1, "sound is for an encoder before a decoder");
  }
  RequireSize("outputs", model_.head.outputs, 0, kMaxVocabulary);
  RequireSize("pooler", model_.head.pooler, 0, kMaxWidth);
  RequireSize("pooled outputs", model_.head.pooled_outputs, 0, kMaxVocabulary);
  Require(!model_.head.tied || model_.head.outputs == embedding.vocabulary,
          "a head tied to the embedding has its rows");
}

void Checker::CheckAttention(std::string_view what, const Attention& a) {
  RequireSize(StrCat(what, " heads"), a.heads, 1, kMaxWidth);
  RequireSize(StrCat(what, " kv_heads"), a.kv_heads, 1, kMaxWidth);
  RequireSize(StrCat(what, " query head size"), a.qk_head_dim, 1, 2 * kMaxWidth);
  RequireSize(StrCat(what, " value head size"), a.v_head_dim, 1, kMaxWidth);
  if (!status_.ok()) return;
  Require(a.heads % a.kv_heads == 0, what, ": ", a.heads, " heads are no multiple of ", a.kv_heads,
          " kv_heads");
  Require(a.heads * (a.qk_head_dim + a.v_head_dim) <= 2 * kMaxProjection, what,
          ": the heads together have more than ", kMaxProjection, " elements");
  RequireSize(StrCat(what, " window"), a.window, 0, kMaxVocabulary);
  RequireSize(StrCat(what, " chunk"), a.chunk, 0, kMaxVocabulary);
  RequireSize(StrCat(what, " relative buckets"), a.relative_buckets, 0, kMaxVocabulary);
  Require(a.window == 0 || a.chunk == 0, what, " has a window and a chunk; valid is one of them");
  if (a.index.has_value()) {
    RequireSize("the indexer's heads", a.index->heads, 1, kMaxWidth);
    RequireSize("the indexer's head size", a.index->head_dim, 1, kMaxWidth);
    RequireSize("the indexer's top_k", a.index->top_k, 1, kMaxVocabulary);
    Require(a.latent.has_value() && a.latent->q_rank > 0,
            "an indexer needs latent attention with a rank of queries");
  }
  if (!a.latent.has_value()) return;
  RequireSize("q_rank", a.latent->q_rank, 0, kMaxWidth);
  RequireSize("kv_rank", a.latent->kv_rank, 1, kMaxWidth);
  RequireSize("nope_head_dim", a.latent->nope_head_dim, 1, kMaxWidth);
  RequireSize("rope_head_dim", a.latent->rope_head_dim, 1, kMaxWidth);
  Require(a.kv_heads == a.heads, "latent attention has as many kv_heads as heads");
  Require(a.qk_head_dim == a.latent->nope_head_dim + a.latent->rope_head_dim,
          "heads of latent attention are nope_head_dim + rope_head_dim large");
}

void Checker::CheckRecurrence(const Recurrence& r) {
  RequireSize("the recurrence's heads", r.heads, 1, kMaxProjection);
  RequireSize("the recurrence's head_dim", r.head_dim, 1, kMaxProjection);
  RequireSize("the recurrence's channels", r.heads <= kMaxProjection ? r.channels() : 0, 1,
              kMaxProjection);
  RequireSize("the recurrence's groups", r.groups, 0, kMaxWidth);
  RequireSize("the recurrence's state", r.state, 0, kMaxWidth);
  RequireSize("the recurrence's rank", r.rank, 0, kMaxWidth);
  RequireSize("the convolution's taps", r.taps, 0, kMaxWidth);
  RequireSize("the recurrence's chunk", r.chunk, 0, kMaxVocabulary);
}

void Checker::CheckMlp(const Mlp& mlp) { RequireSize("ffn", mlp.ffn, 1, kMaxFfn); }

void Checker::CheckMoe(const Moe& moe) {
  RequireSize("experts", moe.experts, 1, kMaxExperts);
  RequireSize("top_k", moe.top_k, 1, moe.experts);
  CheckMlp(moe.expert);
  RequireSize("shared expert's ffn", moe.shared.ffn, 0, kMaxFfn);
  Require(!moe.shared_gate || moe.shared.ffn > 0, "a shared expert's gate needs a shared expert");
}

void Checker::CheckStack(const Stack& stack) {
  for (const Layer& layer : stack.kinds) {
    where_ = StrCat("layer kind ", layer.name, ": ");
    Require(!layer.attends() || !layer.recurrence.has_value(),
            "there are attention and a recurrence; valid is one of them");
    if (layer.attends()) CheckAttention("attention", layer.attention);
    if (layer.recurrence.has_value()) CheckRecurrence(*layer.recurrence);
    if (layer.cross_attention.has_value()) {
      CheckAttention("cross-attention", *layer.cross_attention);
      Require(!layer.cross_attention->latent.has_value(), "cross-attention cannot be latent");
    }
    Require(!layer.mlp.has_value() || !layer.moe.has_value(),
            "there are an MLP and experts; valid is one of them");
    Require(layer.attends() || layer.recurrence.has_value() || layer.feeds_forward(),
            "it has neither attention nor a recurrence, MLP or experts");
    if (layer.mlp.has_value()) CheckMlp(*layer.mlp);
    if (layer.moe.has_value()) CheckMoe(*layer.moe);
    where_.clear();
  }
  for (const int32_t kind : stack.layers) {
    Require(kind >= 0 && kind < std::ssize(stack.kinds), "a layer is of no kind");
  }
}

absl::Status Checker::Run() {
  CheckEmbeddingAndHead();
  Require(!model_.stacks.empty(), "there is no stack of layers");
  RequireSize("the number of layers", model_.layers(), 1, kMaxLayers);
  for (const Stack& stack : model_.stacks) CheckStack(stack);
  RequireSize("the number of prediction modules", model_.mtp.modules, 0, kMaxLayers);
  if (status_.ok() && model_.mtp.modules > 0) {
    RequireSize("the prediction modules' kind", model_.mtp.kind, 0,
                std::ssize(model_.stacks.back().kinds) - 1);
  }
  MW_RETURN_IF_ERROR(status_);
  const ParameterCounts counts = CountParameters(Tensors(model_));
  Require(counts.total <= kMaxParameters && counts.mtp <= kMaxParameters, "it has more than ",
          kMaxParameters, " parameters, which are too many");
  return status_;
}

}  // namespace

absl::Status CheckModel(const Model& model) { return Checker(model).Run(); }

absl::Status CheckSequence(const Model& model, int64_t tokens) {
  const Embedding& embedding = model.embedding;
  if (embedding.patches.has_value() && tokens != embedding.positions) {
    return absl::InvalidArgumentError(StrCat(model.name, ": an image is a sequence of ",
                                             embedding.positions, " tokens, not of ", tokens));
  }
  // OPT has rows that no token reaches.
  const int64_t most =
      embedding.positions > 0 ? std::min(embedding.positions, model.max_sequence) : kMaxSequence;
  if (tokens < 1 || tokens > std::min(most, kMaxSequence)) {
    return absl::InvalidArgumentError(StrCat(model.name, ": a sequence of ", tokens,
                                             " tokens is not possible; valid are 1 to ",
                                             std::min(most, kMaxSequence)));
  }
  return absl::OkStatus();
}

}  // namespace meshwright::transformer
