#include "meshwright/plan/annotate/output_shardings.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace meshwright {
namespace {

Sharding OutputSharding(const Graph& graph, const Mesh& mesh, const IntraPlan& intra, OpId output,
                        int32_t tied) {
  if (tied >= 0) {
    const OpId parameter = graph.parameters[static_cast<size_t>(tied)];
    return intra.shardings[graph[parameter].result().index()];
  }
  const PlannedOp& planned = intra.ops[output.index()];
  if (!planned.rule.operands.empty()) {
    std::optional<Sharding> sharding = OperandSharding(planned.rule, planned.strategy, 0, mesh);
    if (sharding.has_value()) return *std::move(sharding);
  }
  return intra.shardings[graph[output].operands[0].index()];
}

}  // namespace

std::vector<Sharding> OutputShardings(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                      const std::vector<int32_t>& tied) {
  std::vector<Sharding> shardings;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const int32_t parameter = i < tied.size() ? tied[i] : -1;
    shardings.push_back(OutputSharding(graph, mesh, intra, graph.outputs[i], parameter));
  }
  return shardings;
}

}  // namespace meshwright
