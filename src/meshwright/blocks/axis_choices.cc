#include "meshwright/blocks/axis_choices.h"

#include <optional>
#include <utility>

namespace meshwright {
namespace {

// A mesh of one axis. What links it has plays no part here.
Mesh OneAxis(int64_t size) {
  Mesh mesh;
  mesh.axes.push_back({.name = "x", .size = size});
  return mesh;
}

// nullopt: the sharding cannot be expressed.
std::optional<Cut> CutOf(const std::optional<Sharding>& sharding) {
  if (!sharding.has_value()) return std::nullopt;
  if (!sharding->unreduced.empty()) return kPartial;
  for (size_t d = 0; d < sharding->dims.size(); ++d) {
    if (!sharding->dims[d].empty()) return static_cast<Cut>(d);
  }
  return kUncut;
}

}  // namespace

AxisChoices::AxisChoices(const Graph& graph, int64_t size)
    : graph_(graph),
      mesh_(OneAxis(size)),
      fingerprints_(graph),
      of_op_(graph.ops.size(), nullptr) {}

const std::vector<AxisChoice>& AxisChoices::Of(OpId op) {
  const std::vector<AxisChoice>*& known = of_op_[op.index()];
  if (known != nullptr) return *known;
  const auto [entry, is_new] = by_fingerprint_.try_emplace(fingerprints_.Of(op));
  if (is_new) entry->second = Make(op);
  known = &entry->second;
  return *known;
}

std::vector<AxisChoice> AxisChoices::Make(OpId id) const {
  const Op& op = graph_[id];
  const Rule rule = RuleFor(graph_, op);
  std::vector<AxisChoice> choices;
  for (const Strategy& strategy : EnumerateStrategies(rule, mesh_)) {
    AxisChoice choice;
    choice.factor = strategy[0];
    if (choice.factor != kNoFactor && rule.factors[choice.factor].kind == FactorKind::kPending)
      continue;
    bool expressible = true;
    for (size_t i = 0; expressible && i < op.operands.size(); ++i) {
      const std::optional<Cut> cut = CutOf(OperandSharding(rule, strategy, i, mesh_));
      expressible = cut.has_value();
      choice.operands.push_back(cut.value_or(kUncut));
    }
    for (size_t i = 0; expressible && i < op.results.size(); ++i) {
      const std::optional<Cut> cut = CutOf(ResultSharding(rule, strategy, i, mesh_));
      expressible = cut.has_value();
      choice.results.push_back(cut.value_or(kUncut));
    }
    if (expressible) choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace meshwright
