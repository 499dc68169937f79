#include "meshwright/model/model_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/model/tensors.h"

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
    case Activation::kXielu:
      return "xielu";
  }
  return "";
}

const char* RecurrenceName(RecurrenceKind kind) {
  switch (kind) {
    case RecurrenceKind::kSelective:
      return "selective state space";
    case RecurrenceKind::kStateSpaceDual:
      return "state space in chunks";
    case RecurrenceKind::kGatedDelta:
      return "gated delta rule";
    case RecurrenceKind::kGatedUnit:
      return "gated linear unit";
    case RecurrenceKind::kConvolution:
      return "gated convolution";
    case RecurrenceKind::kLightning:
      return "lightning attention";
    case RecurrenceKind::kWeightedSum:
      return "weighted sum of values";
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
  constexpr size_t kIndent = 6;
  const std::string margin(kIndent, ' ');
  std::string text;
  const char* const role = stack.role == StackRole::kEncoder ? "encoder" : "decoder";
  for (size_t k = 0; k < stack.kinds.size(); ++k) {
    const Layer& layer = stack.kinds[k];
    const std::string more =
        absl::StrCat(layer.cross_attention.has_value() ? "attention to the encoder's output, " : "",
                     FeedforwardText(layer), layer.parallel ? ", beside attention" : "");
    absl::StrAppendFormat(&text, "  %-8s %4d x %s\n", k == 0 ? role : "",
                          stack.CountOf(static_cast<int32_t>(k)), Fit(layer.name, 60));
    const std::string along = layer.attends()                ? AttentionText(layer.attention)
                              : layer.recurrence.has_value() ? RecurrenceText(*layer.recurrence)
                                                             : "";
    for (const std::string& line : {along, more}) {
      if (!line.empty()) StrAppend(&text, WrapWords(margin + line, kIndent + 2));
    }
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

// Names are what users look for: where they do not fit beside the figures, these stand below them.
std::string TensorColumns(std::vector<std::vector<std::string>> rows) {
  const std::vector<bool> right = {false, false, true, true};
  if (ColumnsWidth(rows) < kColumns) return Columns(std::move(rows), right);
  std::string text;
  std::vector<std::string> names;
  for (auto& row : rows) {
    names.push_back(std::move(row[0]));
    row[0] = "    ";
  }
  const std::string figures = Columns(rows, right);
  size_t begin = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t end = figures.find('\n', begin) + 1;
    std::string line = StrCat("  ", Fit(names[i], kColumns - 2));
    std::string beside = figures.substr(begin, end - begin);
    // Where there is nothing but a sum, it stands beside the name.
    const bool sum_only = rows[i][1].empty() && line.size() < beside.find_first_not_of(' ');
    if (sum_only) {
      beside.replace(0, line.size(), line);
      StrAppend(&text, beside);
    } else {
      StrAppend(&text, line, "\n", beside);
    }
    begin = end;
  }
  return text;
}

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
  std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "count", "parameters"}};
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) continue;
    int64_t sum = 0;
    for (const TensorRow& row : groups[g]) sum += row.elements;
    rows.push_back({std::string(GroupName(static_cast<PartGroup>(g))), "", "", Grouped(sum)});
    for (const TensorRow& row : groups[g]) {
      rows.push_back({StrCat("  ", row.tensor->name), ShapeText(row.tensor->shape),
                      absl::StrCat(row.count), Grouped(row.elements)});
    }
  }
  return TensorColumns(std::move(rows));
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
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    StrAppend(&lines, WrapWords(FromAbsl(line), 2));
  return lines;
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
  std::string note = absl::StrCat("Sequences of ", batch.tokens, " tokens");
  if (model.stacks.size() > 1) {
    absl::StrAppend(&note, " from ", batch.source_tokens > 0 ? batch.source_tokens : batch.tokens,
                    ", per token of both");
  }
  absl::StrAppend(&note,
                  "; matmuls only, two flops per multiply-add. dense: every pair of "
                  "tokens computed, also those that masks and windows leave out.");
  return absl::StrCat(text, WrapWords(note, 0));
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
  if (a.index.has_value()) absl::StrAppend(&text, ", to ", a.index->top_k, " chosen tokens");
  if (a.shares_keys) absl::StrAppend(&text, ", keys of an earlier layer");
  return text;
}

std::string RecurrenceText(const Recurrence& r) {
  std::string text = RecurrenceName(r.kind);
  if (r.heads > 1) StrAppend(&text, ", ", r.heads, " heads of ", r.head_dim, " channels");
  if (r.heads == 1) StrAppend(&text, ", ", r.head_dim, " channels");
  if (r.state > 0) StrAppend(&text, ", states of ", r.state);
  if (r.groups > 1) StrAppend(&text, " in ", r.groups, " groups");
  if (r.taps > 0) StrAppend(&text, ", convolution of ", r.taps, " tokens");
  return text;
}

std::string FeedforwardText(const Layer& layer) {
  if (!layer.feeds_forward()) return "";
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
  text = WrapWords(text, 2);
  for (const Stack& stack : model.stacks) absl::StrAppend(&text, StackText(stack));
  if (model.mtp.modules > 0) {
    absl::StrAppend(&text, "  ", model.mtp.modules, " module", model.mtp.modules > 1 ? "s" : "",
                    " for multi-token prediction, each with a layer of kind ",
                    Fit(model.stacks.back().kinds[model.mtp.kind].name, 20), "\n");
  }
  for (const std::string& note : model.notes)
    absl::StrAppend(&text, WrapWords(absl::StrCat("  ", note), 4));
  const std::vector<Tensor> tensors = Tensors(model);
  absl::StrAppend(&text, "\n", TensorsText(tensors), "\n",
                  ParametersText(model, CountParameters(tensors)), "\n", FlopsText(model, batch));
  return text;
}

std::string BuiltinModelTable() {
  constexpr size_t kSourceIndent = 4;
  std::string text =
      absl::StrFormat("%-22s %-16s %20s\n    source\n", "model", "family", "parameters");
  for (const BuiltinModel& builtin : BuiltinModels()) {
    const absl::StatusOr<Model> model = LoadModel(builtin.name);
    if (!model.ok()) continue;  // tests read every one
    absl::StrAppend(
        &text,
        absl::StrFormat("%-22s %-16s %20s\n", builtin.name, model->family,
                        Grouped(CountParameters(Tensors(*model)).total)),
        WrapWords(StrCat(std::string(kSourceIndent, ' '), builtin.source), kSourceIndent + 2));
  }
  return text;
}

}  // namespace meshwright::transformer
