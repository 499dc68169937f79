#include "meshwright/hlo/graph.h"

#include <algorithm>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph_builder.h"

namespace meshwright {

absl::StatusOr<Graph> BuildGraph(const Module& module) { return GraphBuilder(module).Build(); }

bool IsShardingRequest(const Op& op) {
  return op.kind == OpKind::kInstruction && op.instruction->opcode == Opcode::kCustomCall &&
         op.operands.size() == 1 && op.results.size() == 1 &&
         (op.instruction->custom_call_target == "Sharding" ||
          op.instruction->custom_call_target == "xla.sdy.FuncResultSharding");
}

std::string FindBoundedSize(const Graph& graph) {
  for (const Value& value : graph.values) {
    const std::vector<bool>& dynamic = value.shape.dynamic;
    if (std::find(dynamic.begin(), dynamic.end(), true) == dynamic.end()) continue;
    return StrCat("\"", graph[value.producer].name, "\" ",
                  value.shape.ToString(/*with_layout=*/false));
  }
  return "";
}

}  // namespace meshwright
