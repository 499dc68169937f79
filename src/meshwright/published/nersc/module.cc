#include "meshwright/published/nersc/module.h"

#include <string>

#include "meshwright/base/strings.h"

namespace meshwright::transformer::nersc {
namespace {

struct Name {
  Module module;
  const char* name;
};
constexpr Name kNames[] = {
    {Module::kMlp1d, "mlp_1d"},
    {Module::kMlpSumma, "mlp_2d"},
    {Module::kMlpSequence, "mlp_seqp"},
    {Module::kAttention1d, "sa_1d"},
    {Module::kAttentionSumma, "sa_2d"},
    {Module::kAttentionSummaSequence, "sa_2d_seqp"},
    {Module::kAttentionSequence, "sa_seqp"},
};

double Elements(int64_t batch, int64_t rows, int64_t columns) {
  return static_cast<double>(batch * rows) * static_cast<double>(columns);
}

// The dimensions of one module under its degrees.
struct Sizes {
  Sizes(const Model& model, const System& system, const ModuleOptions& options)
      : system(system),
        options(options),
        b(options.batch),
        tp1(options.tp1),
        tp2(options.tp2),
        l(model.sequence),
        e(model.embedding),
        f(model.hidden),
        h(model.heads) {}

  const System& system;
  const ModuleOptions& options;
  int64_t b, tp1, tp2;
  int64_t l, e, f, h;
};

std::vector<Operator> Mlp1d(const Sizes& n) {
  const System& system = n.system;
  const double inner = Elements(n.b, n.l, n.f / n.tp1);
  return {Linear(system, "fc1", n.b, n.l, n.e, n.f, 1, n.tp1),
          Bias(system, "fc1-bias", n.b, n.l, n.f / n.tp1), Gelu(system, "act1", inner),
          DropOut(system, "dpr1", inner, /*recomputed=*/false),
          Linear(system, "fc2", n.b, n.l, n.f, n.e, n.tp1, 1),
          // As published: on all tokens, though they are scattered over tp1 by then.
          Bias(system, "fc2-bias", n.b, n.l, n.e),
          DropOut(system, "dpr2", Elements(n.b, n.l / n.tp1, n.e), /*recomputed=*/false),
          LayerNorm(system, "ln1", n.b, n.l, n.e, n.tp1)};
}

std::vector<Operator> MlpSumma(const Sizes& n) {
  const System& system = n.system;
  const int64_t panels = n.options.panels, rows = n.l / n.tp2;
  const double inner = Elements(n.b, rows, n.f / n.tp1);
  return {LinearSumma(system, "fc1", n.b, n.l, n.e, n.f, n.tp1, n.tp2, panels),
          Bias(system, "fc1-bias", n.b, rows, n.f / n.tp1),
          Gelu(system, "act1", inner),
          DropOut(system, "dpr1", inner, /*recomputed=*/false),
          LinearSumma(system, "fc2", n.b, n.l, n.f, n.e, n.tp1, n.tp2, panels),
          Bias(system, "fc2-bias", n.b, rows, n.e / n.tp1),
          DropOut(system, "dpr2", Elements(n.b, rows, n.e / n.tp1), /*recomputed=*/false),
          LayerNormSumma(system, "ln1", n.b, n.l, n.e, n.tp1, n.tp2)};
}

std::vector<Operator> MlpSequence(const Sizes& n) {
  const System& system = n.system;
  const int64_t rows = n.l / n.tp2;
  const double inner = Elements(n.b, rows, n.f / n.tp1);
  return {Linear(system, "fc1", n.b, rows, n.e, n.f, 1, n.tp1),
          Bias(system, "fc1-bias", n.b, rows, n.f / n.tp1),
          Gelu(system, "act1", inner),
          DropOut(system, "dpr1", inner, /*recomputed=*/false),
          Linear(system, "fc2", n.b, rows, n.f, n.e, n.tp1, 1),
          Bias(system, "fc2-bias", n.b, rows / n.tp1, n.e),
          DropOut(system, "dpr2", Elements(n.b, n.l / (n.tp1 * n.tp2), n.e), /*recomputed=*/false),
          LayerNorm(system, "ln1", n.b, rows, n.e, n.tp1)};
}

// Scores, softmax and their product with the values, on this GPU's heads and queries.
void AppendAttention(const Sizes& n, Gathered gathered, std::vector<Operator>* module) {
  const System& system = n.system;
  const AttentionShape shape{n.b, n.h / n.tp1, n.l / n.tp2, n.l, n.e / n.h};
  if (n.options.flash) {
    module->push_back(FlashAttention(system, shape, gathered, n.tp2));
    return;
  }
  const bool recomputed = n.options.recomputed;
  module->push_back(Logits(system, shape, gathered, n.tp2, recomputed));
  module->push_back(Softmax(system, shape, recomputed));
  module->push_back(
      DropOut(system, "dpr_at", Elements(n.b * shape.heads, shape.rows, n.l), recomputed));
  module->push_back(Attend(system, shape, gathered, n.tp2, recomputed));
}

void AppendSummaAttention(const Sizes& n, std::vector<Operator>* module) {
  const System& system = n.system;
  const AttentionShape whole{n.b, n.h, n.l, n.l, n.e / n.h};
  const bool recomputed = n.options.recomputed;
  const int64_t panels = n.options.panels;
  module->push_back(LogitsSumma(system, whole, n.tp1, n.tp2, panels));
  module->push_back(SoftmaxSumma(system, whole, n.tp1, n.tp2, recomputed));
  module->push_back(
      DropOut(system, "dpr_at", Elements(n.b * n.h, n.l / n.tp2, n.l / n.tp1), recomputed));
  module->push_back(AttendSumma(system, whole, n.tp1, n.tp2, panels, recomputed));
}

std::vector<Operator> Attention1d(const Sizes& n) {
  const System& system = n.system;
  std::vector<Operator> module = {Linear(system, "qkv", n.b, n.l, n.e, 3 * n.e, 1, n.tp1)};
  AppendAttention(n, Gathered::kNo, &module);
  module.push_back(Linear(system, "vproj", n.b, n.l, n.e, n.e, n.tp1, 1));
  // As published: on all tokens, as after the MLP.
  module.push_back(Bias(system, "vproj-bias", n.b, n.l, n.e));
  module.push_back(DropOut(system, "dpr_v", Elements(n.b, n.l / n.tp1, n.e), /*recomputed=*/false));
  module.push_back(LayerNorm(system, "ln2", n.b, n.l, n.e, n.tp1));
  return module;
}

std::vector<Operator> AttentionSumma(const Sizes& n, bool attention_on_grid) {
  const System& system = n.system;
  const int64_t panels = n.options.panels, rows = n.l / n.tp2;
  std::vector<Operator> module = {
      LinearSumma(system, "qkv", n.b, n.l, n.e, 3 * n.e, n.tp1, n.tp2, panels)};
  if (attention_on_grid) {
    AppendSummaAttention(n, &module);
  } else {
    AppendAttention(n, Gathered::kOverTp2, &module);
  }
  module.push_back(LinearSumma(system, "vproj", n.b, n.l, n.e, n.e, n.tp1, n.tp2, panels));
  module.push_back(Bias(system, "vproj-bias", n.b, rows, n.e / n.tp1));
  module.push_back(
      DropOut(system, "dpr_v", Elements(n.b, rows, n.e / n.tp1), /*recomputed=*/false));
  module.push_back(LayerNormSumma(system, "ln2", n.b, n.l, n.e, n.tp1, n.tp2));
  return module;
}

std::vector<Operator> AttentionSequence(const Sizes& n) {
  const System& system = n.system;
  const int64_t rows = n.l / n.tp2;
  std::vector<Operator> module = {Linear(system, "qkv", n.b, rows, n.e, 3 * n.e, 1, n.tp1)};
  AppendAttention(n, Gathered::kOverTp2, &module);
  module.push_back(Linear(system, "vproj", n.b, rows, n.e, n.e, n.tp1, 1));
  // As published: split by columns, where the MLP's is split by tokens.
  module.push_back(Bias(system, "vproj-bias", n.b, rows, n.e / n.tp1));
  module.push_back(DropOut(system, "dpr_v", Elements(n.b, n.l / (n.tp1 * n.tp2), n.e),
                           /*recomputed=*/false));
  module.push_back(LayerNorm(system, "ln2", n.b, rows, n.e, n.tp1));
  return module;
}

}  // namespace

absl::StatusOr<Module> ParseModule(std::string_view name) {
  std::string names;
  for (const Name& one : kNames) {
    if (name == one.name) return one.module;
    StrAppend(&names, names.empty() ? "" : ", ", one.name);
  }
  return absl::InvalidArgumentError(StrCat("unknown module \"", name, "\"; valid are ", names));
}

bool IsMlp(Module module) {
  return module == Module::kMlp1d || module == Module::kMlpSumma || module == Module::kMlpSequence;
}

bool IsSumma(Module module) {
  return module == Module::kMlpSumma || module == Module::kAttentionSumma ||
         module == Module::kAttentionSummaSequence;
}

bool Is1d(Module module) { return module == Module::kMlp1d || module == Module::kAttention1d; }

std::vector<Operator> MakeModule(const Model& model, const System& system, Module module,
                                 const ModuleOptions& options) {
  const Sizes sizes(model, system, options);
  switch (module) {
    case Module::kMlp1d:
      return Mlp1d(sizes);
    case Module::kMlpSumma:
      return MlpSumma(sizes);
    case Module::kMlpSequence:
      return MlpSequence(sizes);
    case Module::kAttention1d:
      return Attention1d(sizes);
    case Module::kAttentionSumma:
      return AttentionSumma(sizes, /*attention_on_grid=*/true);
    case Module::kAttentionSummaSequence:
      return AttentionSumma(sizes, /*attention_on_grid=*/false);
    case Module::kAttentionSequence:
      return AttentionSequence(sizes);
  }
  return {};
}

}  // namespace meshwright::transformer::nersc
