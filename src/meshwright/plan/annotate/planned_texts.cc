#include "meshwright/plan/annotate/planned_texts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/plan/annotate/leaf_finder.h"
#include "meshwright/plan/annotate/loop_carries.h"
#include "meshwright/sharding/call_table.h"
#include "meshwright/sharding/rule_builders.h"
#include "meshwright/sharding/sdy_sharding.h"

namespace meshwright {
namespace {

// Whether the operator calls a kernel that XLA's partitioner gathers all operands for: all but
// marks, and but calls that bring a partitioner of their own.
bool IsCallOfParts(const Op& op) {
  if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kCustomCall)
    return false;
  const std::string& target = op.instruction->custom_call_target;
  const CallRow* const row = FindCall(target);
  return target != "CustomSPMDPartitioning" && (row == nullptr || row->build != &rules::Forward);
}

}  // namespace

PlannedTexts::PlannedTexts(const StablehloSource& source, const Graph& graph, const Mesh& mesh,
                           const std::vector<Sharding>& values, const Movements& movements,
                           bool marks_calls, std::string mesh_name)
    : source_(source),
      graph_(graph),
      free_(AnalyzeFusion(graph).free),
      mesh_(mesh),
      values_(values),
      movements_(movements),
      marks_calls_(marks_calls),
      mesh_name_(std::move(mesh_name)),
      seen_(values) {
  for (const OpId id : graph.parameters) {
    const ValueId value = graph[id].results[0];
    if (const auto& shared = movements.shared[id.index()]; shared.has_value())
      seen_[value.index()] = *shared;
  }
  for (const Carry& carry : graph.carries) seen_[carry.parameter.index()] = Carried(carry);
  FindPending();
}

std::string PlannedTexts::Text(const Sharding& sharding) const {
  return SdyShardingText(sharding, mesh_, mesh_name_);
}

// `sharding` with partial sums along `axes`, of those that cut no dimension.
std::string PlannedTexts::PartialText(Sharding sharding, const AxisList& axes) const {
  for (const AxisIndex axis : axes) {
    const bool cuts = std::any_of(
        sharding.dims.begin(), sharding.dims.end(),
        [&](const AxisList& dim) { return std::find(dim.begin(), dim.end(), axis) != dim.end(); });
    if (!cuts) sharding.unreduced.push_back(axis);
  }
  if (!sharding.unreduced.empty()) sharding.reduction = Reduction::kSum;
  return Text(sharding);
}

// How a loop carries a value from round to round; what its body uses may be moved.
const Sharding& PlannedTexts::Carried(const Carry& carry) const {
  const auto& computed = movements_.computed[graph_[carry.parameter].producer.index()];
  return computed.empty() ? values_[carry.parameter.index()] : computed[0];
}

std::string PlannedTexts::SeenText(ValueId value) const {
  return PartialText(seen_[value.index()], KeptPartial(graph_, pending_, value));
}

std::vector<std::string> PlannedTexts::PathTexts(const std::vector<Movements::Path>& paths,
                                                 size_t k) const {
  std::vector<std::string> texts;
  if (k >= paths.size()) return texts;
  for (const Sharding& step : paths[k]) texts.push_back(Text(step));
  return texts;
}

// Finds the additions of partial sums that the text can say: XLA must not be told that a sum is
// partial unless it is also told how to take the operands of what makes it.
void PlannedTexts::FindPending() {
  std::vector<int32_t> operation_of(graph_.ops.size(), -1);  // -1: none, -2: several
  const LeafFinder finder(graph_);
  for (const StablehloSource::Result& result : source_.results) {
    const std::vector<LeafFinder::Leaves>& leaves = finder.leaves(result.computation);
    if (leaves.empty()) continue;
    const LeafFinder::Leaves& leaf = leaves[result.instruction.index()];
    if (leaf.size() != 1 || !leaf[0].valid()) continue;
    int32_t& operation = operation_of[graph_[leaf[0]].producer.index()];
    operation = operation == -1 ? result.operation : -2;
  }
  const auto makes_partial = [&](OpId id) {
    const Op& op = graph_[id];
    const int32_t number = operation_of[id.index()];
    if (number < 0 || op.kind != OpKind::kInstruction) return false;
    const StablehloSource::Operation& operation = source_.operations[static_cast<size_t>(number)];
    if (operation.is_constraint || !operation.anchor.shardings.empty()) return false;
    if (!movements_.pending[id.index()].empty()) return true;
    const Opcode opcode = op.instruction->opcode;
    if (opcode != Opcode::kDot && opcode != Opcode::kConvolution && opcode != Opcode::kReduce) {
      return false;
    }
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const Shape& shape = graph_[op.operands[k]].shape;
      if (shape.rank() == 0) continue;
      if (k >= operation.operands.size() || operation.operand_types[k] != shape ||
          free_[op.operands[k].index()]) {
        return false;
      }
    }
    return operation.operands.size() == op.operands.size();
  };
  pending_ = WithPartialOperands(graph_, movements_.pending, [&](OpId op, size_t operand) {
    return makes_partial(op) && makes_partial(graph_[graph_[op].operands[operand]].producer);
  });
}

// What an operand goes through. A loop would carry a value as its body first wants it; that the
// value is seen otherwise before keeps Shardy from spreading what is wanted to the loop.
std::vector<std::string> PlannedTexts::Steps(ValueId value, const Sharding& needed,
                                             const std::vector<Movements::Path>& paths,
                                             size_t k) const {
  std::vector<std::string> steps = PathTexts(paths, k);
  const bool carried = graph_[graph_[value].producer].kind == OpKind::kLoopParameter;
  if (carried && needed != seen_[value.index()]) steps.insert(steps.begin(), SeenText(value));
  steps.push_back(Text(needed));
  return steps;
}

std::optional<PlannedTexts::Operand> PlannedTexts::OperandTo(
    ValueId value, const Sharding& needed, const std::vector<Movements::Path>& paths,
    size_t k) const {
  if (needed == seen_[value.index()] || free_[value.index()]) return std::nullopt;
  return Operand{value, Steps(value, needed, paths, k)};
}

// Whether the text's result is one that `op` makes, not one that it hands on.
bool PlannedTexts::MakesResult(const Op& op, const StablehloSource::Result& result) const {
  if (op.kind != OpKind::kInstruction || result.handed_on) return false;
  const Computation& computation = (*graph_.module)[result.computation];
  const Instruction& instruction = computation[result.instruction];
  if (op.instruction == &instruction) return true;
  return instruction.opcode == Opcode::kGetTupleElement &&
         op.instruction == &computation[instruction.operands[0]];
}

// How the operator takes operand `k`, but for what it moves on the way.
const Sharding& PlannedTexts::Needed(OpId op, size_t k) const {
  const std::vector<Sharding>& needed = movements_.needed[op.index()];
  return needed.empty() ? values_[graph_[op].operands[k].index()] : needed[k];
}

// What marks a call that can be computed shard by shard; empty: it cannot, or need not.
std::string PlannedTexts::Mark(OpId id) const {
  const Op& op = graph_[id];
  if (!marks_calls_ || !IsCallOfParts(op)) return "";
  bool cut = false;
  for (size_t k = 0; k < op.operands.size(); ++k)
    cut = cut || Needed(id, k) != Sharding::Replicated(graph_[op.operands[k]].shape.rank());
  if (!cut) return "";
  const AxisList& reduced = movements_.reduced[id.index()];
  const Rule rule = RuleFor(graph_, op);
  for (const Factor& factor : rule.factors) {
    // Sums can be made behind the call; and a device with heads of several groups would have to
    // pick their keys.
    const bool other = factor.reduction != Reduction::kNone && factor.reduction != Reduction::kSum;
    if ((other && !reduced.empty()) || (factor.joint && CutsJointly(rule, id))) return "";
  }
  return StrCat(" {meshwright_by_shard = \"",
                absl::StrJoin(reduced, ",",
                              [&](std::string* out, AxisIndex axis) {
                                StrAppend(out, mesh_.axes[static_cast<size_t>(axis)].name);
                              }),
                "\"}");
}

// Whether a dimension that has a joint factor is cut where what has only its major one is not.
bool PlannedTexts::CutsJointly(const Rule& rule, OpId id) const {
  for (const TensorFactors& tensor : rule.operands) {
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const auto& dim = tensor.dims[d];
      if (dim.empty() || !rule.factors[dim.back()].joint) continue;
      const size_t k = static_cast<size_t>(&tensor - rule.operands.data());
      if (Needed(id, k).dims[d].empty()) continue;
      for (size_t other = 0; other < rule.operands.size(); ++other) {
        const TensorFactors& with = rule.operands[other];
        for (size_t e = 0; e < with.dims.size(); ++e) {
          if (with.dims[e].size() == 1 && with.dims[e][0] == dim[0] &&
              Needed(id, other).dims[e].empty())
            return true;
        }
      }
    }
  }
  return false;
}

PlannedTexts::Texts PlannedTexts::FindTexts() const {
  Texts texts;
  for (const StablehloSource::Operation& operation : source_.operations) {
    texts.results.emplace_back(operation.types.size());
  }
  texts.joins.resize(source_.operations.size());
  texts.operands.resize(source_.operations.size());
  texts.marks.resize(source_.operations.size());
  texts.values.resize(source_.operations.size());
  const LeafFinder finder(graph_);
  const LoopCarries carries(graph_, source_, finder);
  for (const StablehloSource::Result& result : source_.results) {
    const std::vector<LeafFinder::Leaves>& leaves = finder.leaves(result.computation);
    if (leaves.empty()) continue;
    const LeafFinder::Leaves& leaf = leaves[result.instruction.index()];
    if (leaf.size() != 1 || !leaf[0].valid()) continue;
    const Value& value = graph_[leaf[0]];
    if (free_[leaf[0].index()]) continue;
    const auto number = static_cast<size_t>(result.operation);
    std::vector<std::string>& shardings = texts.results[number][static_cast<size_t>(result.result)];
    const OpId op = value.producer;
    if (graph_[op].kind == OpKind::kSelectBranch && !result.handed_on) {
      texts.joins[number].resize(texts.results[number].size());
      texts.joins[number][static_cast<size_t>(result.result)] = op;
      if (const auto& computed = movements_.computed[op.index()]; !computed.empty())
        shardings.push_back(Text(computed[0]));
      for (std::string& step : PathTexts(movements_.result_paths[op.index()], 0))
        shardings.push_back(std::move(step));
    }
    std::vector<std::optional<Operand>>& operands = texts.operands[number];
    if (const Carry* carry = carries.Find(result, leaf[0]); carry != nullptr) {
      operands.resize(texts.results[number].size());
      operands[static_cast<size_t>(result.result)] =
          OperandTo(carry->init, Carried(*carry),
                    movements_.operand_paths[graph_[carry->parameter].producer.index()], 0);
      if (leaf[0] == carry->exit && !movements_.computed[op.index()].empty()) {
        shardings.push_back(Text(movements_.computed[op.index()][0]));
        for (std::string& step : PathTexts(movements_.result_paths[op.index()], 0))
          shardings.push_back(std::move(step));
      }
    } else if (MakesResult(graph_[op], result)) {
      if (result.result == 0) texts.values[number] = leaf[0];
      const auto& computed = movements_.computed[op.index()];
      const AxisList& pending = pending_[op.index()];
      const auto r = static_cast<size_t>(value.result);
      if (!computed.empty() || !pending.empty()) {
        shardings.push_back(
            PartialText(computed.empty() ? values_[leaf[0].index()] : computed[r], pending));
      }
      for (std::string& step : PathTexts(movements_.result_paths[op.index()], r))
        shardings.push_back(std::move(step));
      operands.clear();
      texts.marks[number] = Mark(op);
      const bool constrains_all =
          !texts.marks[number].empty() ||
          (pending.empty() && !KeptPartial(graph_, pending_, leaf[0]).empty());
      for (size_t k = 0; k < graph_[op].operands.size(); ++k) {
        const ValueId operand = graph_[op].operands[k];
        const Sharding& wanted = Needed(op, k);
        const auto& paths = movements_.operand_paths[op.index()];
        if (constrains_all && graph_[operand].shape.rank() > 0) {
          operands.push_back(Operand{operand, Steps(operand, wanted, paths, k)});
        } else if (pending.empty()) {
          operands.push_back(OperandTo(operand, wanted, paths, k));
        } else {
          operands.emplace_back();
        }
      }
    }
    // A number is kept everywhere, but what it is made of may have to be moved.
    if (value.shape.rank() == 0) {
      shardings.clear();
      continue;
    }
    std::string seen = SeenText(leaf[0]);
    if (shardings.empty() || shardings.back() != seen) shardings.push_back(std::move(seen));
  }
  return texts;
}

}  // namespace meshwright
