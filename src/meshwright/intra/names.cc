#include "meshwright/intra/names.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/base/strings.h"
#include "meshwright/intra/planner.h"

namespace meshwright {
namespace {

std::string LeafSuffix(const std::vector<int64_t>& leaf) {
  std::string suffix;
  for (int64_t index : leaf) StrAppend(&suffix, "[", index, "]");
  return suffix;
}

// Operators looked at to decide whether an output updates a parameter; optimizers need a few dozen.
constexpr size_t kMaxUpdateOps = 1000;

// The carry of every loop parameter and loop exit.
using CarryOfOp = absl::flat_hash_map<OpId, const Carry*>;

CarryOfOp CarriesByOp(const Graph& graph) {
  CarryOfOp carries;
  for (const Carry& carry : graph.carries) {
    carries[graph[carry.parameter].producer] = &carry;
    if (carry.exit.valid()) carries[graph[carry.exit].producer] = &carry;
  }
  return carries;
}

// Whether `value` is computed from `parameter` by elementwise operators over its dimensions, also
// once every iteration of a loop.
bool IsUpdate(const Graph& graph, const CarryOfOp& carries, ValueId value, OpId parameter) {
  const std::vector<int64_t>& dims = graph[value].shape.dims;
  std::vector<ValueId> open = {value};
  absl::flat_hash_set<ValueId> seen = {value};
  const auto visit = [&](ValueId v) {
    if (graph[v].shape.dims == dims && seen.insert(v).second) open.push_back(v);
  };
  while (!open.empty() && seen.size() < kMaxUpdateOps) {
    const OpId producer = graph[open.back()].producer;
    const Op& op = graph[producer];
    open.pop_back();
    if (producer == parameter) return true;
    if (const auto carry = carries.find(producer); carry != carries.end()) {
      visit(carry->second->init);
      visit(carry->second->next);
    } else if (op.kind == OpKind::kInstruction && IsElementwise(op.instruction->opcode)) {
      for (ValueId operand : op.operands) visit(operand);
    }
  }
  return false;
}

}  // namespace

std::string ParameterName(const Graph& graph, OpId parameter) {
  const Op& op = graph[parameter];
  const std::string& op_name = op.instruction->metadata.op_name;
  return StrCat(op_name.empty() ? op.instruction->name : op_name, LeafSuffix(op.leaf));
}

std::string OutputName(const Graph& graph, OpId output) {
  return StrCat("output", LeafSuffix(graph[output].leaf));
}

std::vector<int32_t> TiedParameters(const Graph& graph, bool by_position) {
  std::vector<int32_t> tied = graph.output_alias;
  tied.resize(graph.outputs.size(), -1);
  const bool donates = std::any_of(tied.begin(), tied.end(), [](int32_t p) { return p >= 0; });
  if (donates || !by_position) return tied;
  const CarryOfOp carries = CarriesByOp(graph);
  for (size_t i = 0; i < std::min(tied.size(), graph.parameters.size()); ++i) {
    const Shape& output = graph[graph[graph.outputs[i]].operands[0]].shape;
    const Shape& parameter = graph[graph[graph.parameters[i]].result()].shape;
    if (!output.SameType(parameter)) break;
    if (!IsUpdate(graph, carries, graph[graph.outputs[i]].operands[0], graph.parameters[i])) break;
    tied[i] = static_cast<int32_t>(i);
  }
  return tied;
}

}  // namespace meshwright
