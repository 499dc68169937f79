#include "meshwright/transformer/model_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/transformer/builtin_models.h"
#include "meshwright/transformer/model_reader.h"
#include "meshwright/transformer/tensors.h"

namespace meshwright::transformer {
namespace {

// "8,030,261,248".
std::string Grouped(int64_t number) {
  std::string text = absl::StrCat(number);
  for (int64_t i = std::ssize(text) - 3; i > 0; i -= 3) text.insert(static_cast<size_t>(i), 1, ',');
  return text;
}

const char* ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return "gelu";
    case Activation::kRelu:
      return "relu";
    case Activation::kSilu:
      return "silu";
    case Activation::kSquaredRelu:
      return "squared relu";
  }
  return "";
}

const char* PositionName(PositionKind position) {
  switch (position) {
    case PositionKind::kNone:
      return "";
    case PositionKind::kRope:
      return ", rope";
    case PositionKind::kAlibi:
      return ", alibi";
    case PositionKind::kRelativeBias:
      return ", relative bias";
  }
  return "";
}

std::string MlpText(const Mlp& mlp) {
  return absl::StrCat(mlp.gated ? "gated " : "", ActivationName(mlp.activation), " MLP of ",
                      mlp.ffn);
}

std::string StackText(const Stack& stack) {
  std::string text;
  const char* const role = stack.role == StackRole::kEncoder ? "encoder" : "decoder";
  for (size_t k = 0; k < stack.kinds.size(); ++k) {
    const Layer& layer = stack.kinds[k];
    absl::StrAppendFormat(&text, "  %-8s %4d x %-14s %s\n", k == 0 ? role : "",
                          stack.CountOf(static_cast<int32_t>(k)), layer.name,
                          AttentionText(layer.attention));
    const std::string more =
        absl::StrCat(layer.cross_attention.has_value() ? "attention to the encoder's output, " : "",
                     FeedforwardText(layer), layer.parallel ? ", beside attention" : "");
    absl::StrAppendFormat(&text, "  %30s %s\n", "", more);
  }
  return text;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Tensors of one name and shape, over all kinds of layers.
struct TensorRow {
  const Tensor* tensor;
  int64_t count = 0;
  int64_t elements = 0;
};

std::string TensorsText(const std::vector<Tensor>& tensors) {
  std::array<std::vector<TensorRow>, static_cast<size_t>(PartGroup::kGroups)> groups;
  for (const Tensor& tensor : tensors) {
    std::vector<TensorRow>& rows = groups[static_cast<size_t>(GroupOf(tensor.part))];
    auto row = std::find_if(rows.begin(), rows.end(), [&](const TensorRow& r) {
      return r.tensor->name == tensor.name && r.tensor->shape == tensor.shape;
    });
    if (row == rows.end()) row = rows.insert(rows.end(), {.tensor = &tensor});
    row->count += tensor.count;
    row->elements += tensor.elements();
  }
  std::string text =
      absl::StrFormat("%-66s %-20s %7s %19s\n", "tensor", "shape", "count", "parameters");
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) continue;
    int64_t sum = 0;
    for (const TensorRow& row : groups[g]) sum += row.elements;
    absl::StrAppendFormat(&text, "%-95s %19s\n", GroupName(static_cast<PartGroup>(g)),
                          Grouped(sum));
    for (const TensorRow& row : groups[g]) {
      absl::StrAppendFormat(&text, "  %-64s %-20s %7d %19s\n", row.tensor->name,
                            ShapeText(row.tensor->shape), row.count, Grouped(row.elements));
    }
  }
  return text;
}

std::string ParametersText(const Model& model, const ParameterCounts& counts) {
  std::string text = absl::StrCat(Grouped(counts.total), " parameters, exact: counted per tensor");
  if (counts.active != counts.total) {
    absl::StrAppend(&text, "; ", Grouped(counts.active), " active per token");
  }
  absl::StrAppend(&text, "; ", Grouped(counts.embedding), " of them in tables of embeddings");
  if (model.head.tied) absl::StrAppend(&text, " (the head is tied to it)");
  if (counts.untrained > 0) {
    absl::StrAppend(&text, "\n", Grouped(counts.untrained), " more that gradients do not train");
  }
  if (counts.mtp > 0) {
    absl::StrAppend(&text, "\n", Grouped(counts.mtp), " more for multi-token prediction");
  }
  return text + "\n";
}

std::string FlopRow(const char* name, const FlopCounts& flops, double tokens) {
  return absl::StrFormat("%-22s %14.6g %14.6g %14.6g %14.6g\n", name, flops.forward / tokens,
                         flops.backward / tokens, flops.dense_forward / tokens,
                         flops.dense_backward / tokens);
}

std::string FlopsText(const Model& model, const Batch& batch) {
  const ModelFlops flops = CountModelFlops(model, batch);
  const auto tokens = static_cast<double>(TokensOf(model, batch));
  std::string text = absl::StrFormat("flops per token        %14s %14s %14s %14s\n", "forward",
                                     "backward", "dense forward", "backward");
  if (flops.embedding.forward > 0)
    absl::StrAppend(&text, FlopRow("  embedding", flops.embedding, tokens));
  absl::StrAppend(&text, FlopRow("  layers' weights", flops.weights, tokens),
                  FlopRow("  attention", flops.attention, tokens),
                  FlopRow("  head", flops.head, tokens), FlopRow("total", flops.total(), tokens));
  if (flops.mtp.forward > 0) {
    absl::StrAppend(&text, FlopRow("multi-token prediction", flops.mtp, tokens));
  }
  absl::StrAppend(&text, "Sequences of ", batch.tokens, " tokens");
  if (model.stacks.size() > 1) {
    absl::StrAppend(&text, " from ", batch.source_tokens > 0 ? batch.source_tokens : batch.tokens,
                    ", per token of both");
  }
  absl::StrAppend(&text,
                  "; matrix products only, two flops per multiply-add. dense: every pair of "
                  "tokens\ncomputed, also those that masks and windows leave out.\n");
  return text;
}

}  // namespace

std::string AttentionText(const Attention& a) {
  std::string text = absl::StrCat(a.heads, " heads");
  if (a.latent.has_value()) {
    const LatentAttention& latent = *a.latent;
    absl::StrAppend(&text, " of ", latent.nope_head_dim, " + ", latent.rope_head_dim, " and ",
                    a.v_head_dim, " elements from ranks ");
    if (latent.q_rank > 0) absl::StrAppend(&text, latent.q_rank, " and ");
    absl::StrAppend(&text, latent.kv_rank);
  } else {
    if (a.kv_heads != a.heads) absl::StrAppend(&text, ", ", a.kv_heads, " of keys and values,");
    absl::StrAppend(&text, " of ", a.qk_head_dim, " elements");
  }
  absl::StrAppend(&text, PositionName(a.position));
  if (a.qk_norm != QkNorm::kNone) absl::StrAppend(&text, ", normed");
  if (a.sinks) absl::StrAppend(&text, ", sinks");
  absl::StrAppend(&text, a.causal ? ", causal" : ", both ways");
  if (a.window > 0) absl::StrAppend(&text, ", window of ", a.window);
  if (a.chunk > 0) absl::StrAppend(&text, ", chunks of ", a.chunk);
  return text;
}

std::string FeedforwardText(const Layer& layer) {
  if (layer.mlp.has_value()) return MlpText(*layer.mlp);
  const Moe& moe = *layer.moe;
  std::string text = absl::StrCat(moe.experts, " experts, ", moe.top_k, " per token, each a ",
                                  MlpText(moe.expert));
  if (moe.shared.ffn > 0) absl::StrAppend(&text, ", and one of ", moe.shared.ffn, " for all");
  return text;
}

std::string ModelTable(const Model& model, const Batch& batch) {
  std::string text =
      absl::StrCat(model.name, ": hidden ", model.hidden, ", ", model.layers(), " layers");
  if (model.embedding.vocabulary > 0) {
    absl::StrAppend(&text, ", vocabulary ", model.embedding.vocabulary);
  }
  if (model.max_sequence > 0) {
    absl::StrAppend(&text, ", sequences of up to ", model.max_sequence, " tokens");
  }
  if (!model.family.empty()) absl::StrAppend(&text, " (", model.family, ")");
  absl::StrAppend(&text, "\n");
  for (const Stack& stack : model.stacks) absl::StrAppend(&text, StackText(stack));
  if (model.mtp.modules > 0) {
    absl::StrAppend(&text, "  ", model.mtp.modules, " module", model.mtp.modules > 1 ? "s" : "",
                    " for multi-token prediction, each with a layer of kind ",
                    model.stacks.back().kinds[model.mtp.kind].name, "\n");
  }
  for (const std::string& note : model.notes) absl::StrAppend(&text, "  ", note, "\n");
  const std::vector<Tensor> tensors = Tensors(model);
  absl::StrAppend(&text, "\n", TensorsText(tensors), "\n",
                  ParametersText(model, CountParameters(tensors)), "\n", FlopsText(model, batch));
  return text;
}

std::string BuiltinModelTable() {
  std::string text =
      absl::StrFormat("%-18s %-12s %20s  %s\n", "model", "family", "parameters", "source");
  for (const BuiltinModel& builtin : BuiltinModels()) {
    const absl::StatusOr<Model> model = LoadModel(builtin.name);
    if (!model.ok()) continue;  // tests read every one
    absl::StrAppendFormat(&text, "%-18s %-12s %20s  %s\n", builtin.name, model->family,
                          Grouped(CountParameters(Tensors(*model)).total), builtin.source);
  }
  return text;
}

}  // namespace meshwright::transformer
