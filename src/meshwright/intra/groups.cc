#include "meshwright/intra/groups.h"

namespace meshwright {
namespace {

bool IsFreeOp(const Op& op, const FusionInfo& fusion) {
  if (op.results.empty()) return false;
  for (ValueId v : op.results) {
    if (!fusion.free[v.index()]) return false;
  }
  return true;
}

bool IsElementwiseOp(const Op& op) {
  return op.kind == OpKind::kInstruction && op.results.size() == 1 &&
         IsElementwise(op.instruction->opcode);
}

// The only operand of `op` that is not free, or invalid if there are none or several different
// ones.
ValueId OnlyPlannedOperand(const Op& op, const FusionInfo& fusion) {
  ValueId only;
  for (ValueId v : op.operands) {
    if (fusion.free[v.index()]) continue;
    if (only.valid()) return ValueId();
    only = v;
  }
  return only;
}

}  // namespace

Groups FormGroups(const Graph& graph, const FusionInfo& fusion, const std::vector<bool>& pinned) {
  Groups groups;
  groups.leader.resize(graph.ops.size());
  groups.followers.resize(graph.ops.size());
  groups.operands.resize(graph.ops.size());

  // Users come after their operands, so walking backwards finds every user's leader first.
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const OpId id(i);
    const Op& op = graph[id];
    if (IsFreeOp(op, fusion)) continue;
    groups.leader[i] = id;
    if (!IsElementwiseOp(op)) continue;
    const Value& result = graph[op.result()];
    const OpId only_user = result.only_user();
    if (!only_user.valid() || pinned[op.result().index()]) continue;
    const ValueId operand = OnlyPlannedOperand(op, fusion);
    if (!operand.valid()) continue;
    const Op& user = graph[only_user];
    if (!IsElementwiseOp(user) || user.loop != op.loop) continue;
    const Shape& shape = result.shape;
    if (graph[operand].shape.dims != shape.dims || graph[user.result()].shape.dims != shape.dims)
      continue;
    if (ElementBits(graph[operand].shape.type) > ElementBits(shape.type)) continue;
    groups.leader[i] = groups.leader[only_user.index()];
  }

  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const OpId id(i);
    if (!groups.leader[i].valid()) continue;
    if (!groups.is_leader(id)) {
      groups.followers[groups.leader[i].index()].push_back(id);
      continue;
    }
    for (ValueId v : graph[id].operands) {
      for (;;) {
        const OpId producer = graph[v].producer;
        if (fusion.free[v.index()] || groups.is_leader(producer)) break;
        v = OnlyPlannedOperand(graph[producer], fusion);
      }
      groups.operands[i].push_back(v);
    }
  }
  return groups;
}

}  // namespace meshwright
