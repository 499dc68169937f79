#include "meshwright/intra/alpa_space.h"

#include <algorithm>

namespace meshwright {
namespace {

bool OneAxisPerDimension(const Sharding& sharding) {
  return std::all_of(sharding.dims.begin(), sharding.dims.end(),
                     [](const AxisList& axes) { return axes.size() <= 1; });
}

bool Contains(const TensorFactors& tensor, FactorIndex factor) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(), [&](const auto& dim) {
    return std::find(dim.begin(), dim.end(), factor) != dim.end();
  });
}

bool ProductAllowed(const Rule& rule, const Strategy& strategy, const Mesh& mesh) {
  const auto is_batch = [&](FactorIndex f) {
    return Contains(rule.operands[0], f) && Contains(rule.operands[1], f) &&
           Contains(rule.results[0], f);
  };
  int used = 0, batch_used = 0, axes = 0;
  for (size_t a = 0; a < strategy.size(); ++a) {
    if (mesh.axes[a].size == 1) continue;
    ++axes;
    if (strategy[a] == kNoFactor) continue;
    ++used;
    batch_used += is_batch(strategy[a]);
    if (std::count(strategy.begin(), strategy.end(), strategy[a]) > 1) return false;
  }
  int batch_factors = 0;
  for (size_t f = 0; f < rule.factors.size(); ++f)
    batch_factors += is_batch(static_cast<FactorIndex>(f));
  if (batch_factors == 2 && axes == 2) return batch_used == 2 && strategy[0] < strategy[1];
  if (batch_used > 0) return batch_used == 1 && used == 1;
  return used == axes;
}

}  // namespace

Rule PaddedForMesh(Rule rule, const Mesh& mesh) {
  std::vector<bool> part(rule.factors.size(), false);  // stands in a dimension with others
  for (const std::vector<TensorFactors>* tensors : {&rule.operands, &rule.results}) {
    for (const TensorFactors& tensor : *tensors) {
      for (const auto& dim : tensor.dims) {
        for (FactorIndex f : dim) part[f] = part[f] || dim.size() > 1;
      }
    }
  }
  int64_t largest = 1;
  for (const MeshAxis& axis : mesh.axes) largest = std::max(largest, axis.size);
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    int64_t& size = rule.factors[f].size;
    if (part[f] || size < largest) continue;
    size = (size + mesh.devices() - 1) / mesh.devices() * mesh.devices();
  }
  return rule;
}

bool AllowedByAlpa(const Op& op, const Rule& rule, const Strategy& strategy, const Mesh& mesh) {
  for (size_t i = 0; i < rule.operands.size(); ++i) {
    if (!OneAxisPerDimension(*OperandSharding(rule, strategy, i, mesh))) return false;
  }
  for (size_t i = 0; i < rule.results.size(); ++i) {
    if (!OneAxisPerDimension(*ResultSharding(rule, strategy, i, mesh))) return false;
  }
  if (op.kind != OpKind::kInstruction) return true;
  return op.instruction->opcode != Opcode::kDot || ProductAllowed(rule, strategy, mesh);
}

bool ParameterAllowedByAlpa(const Sharding& sharding) {
  size_t axes = 0;
  for (const AxisList& dim : sharding.dims) axes += dim.size();
  return axes <= 1;
}

double ReduceAtOnce(const Shape& shape, const CostModel& cost_model, Sharding* sharding) {
  if (sharding->unreduced.empty()) return 0;
  Sharding reduced = *sharding;
  reduced.unreduced.clear();
  reduced.reduction = Reduction::kNone;
  const double cost = cost_model.Reshard(shape, *sharding, reduced).seconds;
  *sharding = reduced;
  return cost;
}

std::vector<int32_t> FollowedOperands(const Graph& graph) {
  std::vector<int32_t> depth(graph.ops.size(), 0), followed(graph.ops.size(), -1);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    for (size_t j = 0; j < op.operands.size(); ++j) {
      const int32_t d = depth[graph[op.operands[j]].producer.index()] + 1;
      if (d <= depth[i]) continue;
      depth[i] = d;
      followed[i] = static_cast<int32_t>(j);
    }
    const bool decides = op.kind != OpKind::kInstruction ||
                         op.instruction->opcode == Opcode::kDot ||
                         op.instruction->opcode == Opcode::kParameter;
    if (decides) followed[i] = -1;
  }
  return followed;
}

}  // namespace meshwright
