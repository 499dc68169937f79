#include "meshwright/sharding/rule.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// Adds `axis` to the axes along which `sharding` is unreduced. False if it is unreduced by another
// reduction already.
bool AddUnreduced(AxisIndex axis, Reduction reduction, Sharding& sharding) {
  if (!sharding.unreduced.empty() && sharding.reduction != reduction) return false;
  sharding.unreduced.push_back(axis);
  sharding.reduction = reduction;
  return true;
}

// Lays the axes of each dimension's factors out, major to minor.
std::optional<Sharding> DimensionSharding(const Rule& rule, const Strategy& strategy,
                                          const TensorFactors& tensor, const Mesh& mesh) {
  Sharding sharding = Sharding::Replicated(static_cast<int64_t>(tensor.dims.size()));
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    bool majors_cut_completely = true;
    for (FactorIndex f : tensor.dims[d]) {
      AxisList axes = AxesOf(f, strategy, mesh);
      int64_t pieces = mesh.Size(axes);
      int64_t size = rule.factors[f].size;
      if (rule.factors[f].joint) {
        if (pieces > 1 && (!sharding.dims[d].empty() || size % pieces != 0)) return std::nullopt;
        sharding.dims[d].insert(sharding.dims[d].end(), axes.begin(), axes.end());
        continue;
      }
      const bool divides = size % pieces == 0 || rule.factors[f].uneven;
      if (pieces > 1 && (!majors_cut_completely || size < pieces || !divides)) return std::nullopt;
      majors_cut_completely = majors_cut_completely && pieces == size;
      sharding.dims[d].insert(sharding.dims[d].end(), axes.begin(), axes.end());
    }
  }
  return sharding;
}

std::string FactorText(const Rule& rule, FactorIndex f, bool sizes) {
  const Factor& factor = rule.factors[f];
  std::string text = factor.label == '?' ? StrCat("#", f) : std::string(1, factor.label);
  if (sizes && factor.size > 1) StrAppend(&text, "=", factor.size);
  return factor.joint ? StrCat("(", text, ")") : text;
}

std::string TensorText(const Rule& rule, const TensorFactors& tensor, bool sizes) {
  return StrCat(
      "[",
      absl::StrJoin(tensor.dims, ",",
                    [&](std::string* out, const auto& dim) {
                      if (dim.empty()) return StrAppend(out, "1");
                      StrAppend(out, absl::StrJoin(dim, " ", [&](std::string* s, FactorIndex f) {
                                  StrAppend(s, FactorText(rule, f, sizes));
                                }));
                    }),
      "]", tensor.pending ? "+" : "");
}

std::string TensorsText(const Rule& rule, const std::vector<TensorFactors>& tensors, bool sizes) {
  return absl::StrJoin(tensors, ",", [&](std::string* out, const TensorFactors& tensor) {
    StrAppend(out, TensorText(rule, tensor, sizes));
  });
}

}  // namespace

std::string_view KernelClassName(KernelClass kernel) {
  switch (kernel) {
    case KernelClass::kLoop:
      return "loop";
    case KernelClass::kAtomic:
      return "atomic";
    case KernelClass::kSort:
      return "sort";
    case KernelClass::kTopK:
      return "top_k";
    case KernelClass::kScan:
      return "scan";
    case KernelClass::kMatmul:
      return "matmul";
    case KernelClass::kAttention:
      return "attention";
    case KernelClass::kAttentionBackward:
      return "attention_backward";
  }
  return "";
}

bool HasFactor(const TensorFactors& tensor, FactorIndex factor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(), [factor](const auto& dim) {
    return std::find(dim.begin(), dim.end(), factor) != dim.end();
  });
}

std::string Rule::ToString(bool sizes) const {
  std::string text = StrCat("(", TensorsText(*this, operands, sizes), ")->");
  std::string outs = TensorsText(*this, results, sizes);
  StrAppend(&text, results.size() == 1 ? outs : StrCat("(", outs, ")"));
  for (size_t f = 0; f < factors.size(); ++f) {
    std::string note;
    if (factors[f].kind == FactorKind::kReduction) note = ReductionName(factors[f].reduction);
    if (factors[f].kind == FactorKind::kPending) {
      note = StrCat("pending ", ReductionName(factors[f].reduction));
    }
    if (factors[f].kind == FactorKind::kWhole) note = "whole";
    if (!note.empty()) {
      StrAppend(&text, " ", FactorText(*this, static_cast<FactorIndex>(f), false), ":", note);
    }
  }
  if (!supported) StrAppend(&text, " (no rule)");
  return text;
}

std::optional<Sharding> OperandSharding(const Rule& rule, const Strategy& strategy, size_t i,
                                        const Mesh& mesh) {
  const TensorFactors& tensor = rule.operands[i];
  std::optional<Sharding> sharding = DimensionSharding(rule, strategy, tensor, mesh);
  if (!sharding || !tensor.pending) return sharding;
  for (size_t a = 0; a < strategy.size(); ++a) {
    if (strategy[a] == kNoFactor || mesh.axes[a].size == 1) continue;
    const Factor& factor = rule.factors[strategy[a]];
    if (factor.kind == FactorKind::kPending &&
        !AddUnreduced(static_cast<AxisIndex>(a), factor.reduction, *sharding)) {
      return std::nullopt;
    }
  }
  return sharding;
}

std::optional<Sharding> ResultSharding(const Rule& rule, const Strategy& strategy, size_t i,
                                       const Mesh& mesh) {
  const TensorFactors& tensor = rule.results[i];
  std::optional<Sharding> sharding = DimensionSharding(rule, strategy, tensor, mesh);
  if (!sharding) return sharding;
  for (size_t a = 0; a < strategy.size(); ++a) {
    if (strategy[a] == kNoFactor || mesh.axes[a].size == 1) continue;
    const Factor& factor = rule.factors[strategy[a]];
    bool partial = (factor.kind == FactorKind::kPending && tensor.pending) ||
                   (factor.kind == FactorKind::kReduction && tensor.unreduced &&
                    !HasFactor(tensor, strategy[a]));
    if (partial && !AddUnreduced(static_cast<AxisIndex>(a), factor.reduction, *sharding)) {
      return std::nullopt;
    }
  }
  return sharding;
}

std::string StrategyText(const Rule& rule, const Strategy& strategy, const Mesh& mesh) {
  std::vector<std::string> parts;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    AxisList axes = AxesOf(static_cast<FactorIndex>(f), strategy, mesh);
    if (axes.empty()) continue;
    std::string names = absl::StrJoin(
        axes, ",", [&](std::string* out, AxisIndex axis) { StrAppend(out, mesh.axes[axis].name); });
    if (axes.size() > 1) names = StrCat("(", names, ")");
    parts.push_back(StrCat(FactorText(rule, static_cast<FactorIndex>(f), false), "=", names));
  }
  return parts.empty() ? "replicated" : absl::StrJoin(parts, ", ");
}

AxisList AxesOf(FactorIndex factor, const Strategy& strategy, const Mesh& mesh) {
  AxisList axes;
  for (AxisIndex axis : strategy.order()) {
    if (strategy[axis] == factor) axes.push_back(axis);
  }
  if (!axes.empty()) return axes;
  for (size_t a = 0; a < strategy.size(); ++a) {
    if (strategy[a] == factor && mesh.axes[a].size > 1) axes.push_back(static_cast<AxisIndex>(a));
  }
  return axes;
}

Strategy OrderedAs(const Rule& rule, const TensorFactors& tensor, const Sharding& sharding,
                   Strategy strategy, const Mesh& mesh) {
  AxisList order;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const auto factor = static_cast<FactorIndex>(f);
    AxisList axes = AxesOf(factor, strategy, mesh);
    if (axes.size() < 2) continue;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const auto& dim = tensor.dims[d];
      if (std::find(dim.begin(), dim.end(), factor) == dim.end()) continue;
      AxisList given;
      for (AxisIndex axis : sharding.dims[d]) {
        if (mesh.axes[axis].size > 1 && strategy[axis] == factor) given.push_back(axis);
      }
      if (given.size() == axes.size()) axes = std::move(given);
    }
    if (!std::is_sorted(axes.begin(), axes.end()))
      order.insert(order.end(), axes.begin(), axes.end());
  }
  strategy.set_order(std::move(order));
  return strategy;
}

void AllowUneven(absl::FunctionRef<bool(int64_t size)> allowed, Rule* rule) {
  std::vector<bool> part(rule->factors.size(), false);  // stands in a dimension with others
  for (const std::vector<TensorFactors>* tensors : {&rule->operands, &rule->results}) {
    for (const TensorFactors& tensor : *tensors) {
      for (const auto& dim : tensor.dims) {
        for (FactorIndex f : dim) part[f] = part[f] || dim.size() > 1;
      }
    }
  }
  for (size_t f = 0; f < rule->factors.size(); ++f) {
    Factor& factor = rule->factors[f];
    const bool dimension =
        factor.kind == FactorKind::kParallel || factor.kind == FactorKind::kReduction;
    factor.uneven = dimension && !part[f] && !factor.exchanges && allowed(factor.size);
  }
}

double Padding(const Rule& rule, const Strategy& strategy, const TensorFactors* tensor,
               const Mesh& mesh) {
  double padding = 1;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const Factor& factor = rule.factors[f];
    if (!factor.uneven) continue;
    if (tensor != nullptr && !HasFactor(*tensor, static_cast<FactorIndex>(f))) continue;
    const int64_t pieces = mesh.Size(AxesOf(static_cast<FactorIndex>(f), strategy, mesh));
    const int64_t held = (factor.size + pieces - 1) / pieces * pieces;
    padding *= static_cast<double>(held) / static_cast<double>(factor.size);
  }
  return padding;
}

int64_t ComputeShards(const Rule& rule, const Strategy& strategy, const Mesh& mesh) {
  int64_t shards = 1;
  for (size_t a = 0; a < strategy.size(); ++a) {
    if (strategy[a] == kNoFactor) continue;
    if (rule.factors[strategy[a]].kind != FactorKind::kPending) shards *= mesh.axes[a].size;
  }
  return shards;
}

}  // namespace meshwright
