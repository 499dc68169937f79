#include "meshwright/plan/movements.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace meshwright {
namespace {

bool LeavesPartialSums(const PlannedOp& planned) {
  return std::any_of(planned.strategy.begin(), planned.strategy.end(), [&](FactorIndex factor) {
    return factor != kNoFactor &&
           planned.rule.factors[static_cast<size_t>(factor)].kind != FactorKind::kParallel;
  });
}

}  // namespace

Movements FindMovements(const Graph& graph, const Mesh& mesh, const IntraPlan& intra) {
  Movements movements;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    movements.needed.push_back(NeededOperands(graph, mesh, intra, OpId(i)));
    movements.computed.push_back(ComputedResults(graph, mesh, intra, OpId(i)));
  }
  return movements;
}

std::vector<Sharding> NeededOperands(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                     OpId op) {
  const PlannedOp& planned = intra.ops[op.index()];
  const auto& operands = graph[op].operands;
  if (planned.free || graph[op].kind != OpKind::kInstruction ||
      planned.rule.operands.size() != operands.size()) {
    return {};
  }
  std::vector<Sharding> needed;
  bool moves = false;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Sharding& kept = intra.shardings[operands[k].index()];
    std::optional<Sharding> wanted = OperandSharding(planned.rule, planned.strategy, k, mesh);
    const bool is_free = intra.ops[graph[operands[k]].producer.index()].free;
    needed.push_back(wanted.has_value() && !is_free ? *wanted : kept);
    moves |= needed.back() != kept;
  }
  return moves ? needed : std::vector<Sharding>();
}

std::vector<Sharding> ComputedResults(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                      OpId op) {
  const PlannedOp& planned = intra.ops[op.index()];
  const auto& results = graph[op].results;
  if (planned.free || graph[op].kind != OpKind::kInstruction ||
      planned.rule.results.size() != results.size() || LeavesPartialSums(planned)) {
    return {};
  }
  std::vector<Sharding> computed;
  bool moves = false;
  for (size_t r = 0; r < results.size(); ++r) {
    const Sharding& kept = intra.shardings[results[r].index()];
    computed.push_back(ResultSharding(planned.rule, planned.strategy, r, mesh).value_or(kept));
    moves |= computed.back() != kept;
  }
  return moves ? computed : std::vector<Sharding>();
}

}  // namespace meshwright
