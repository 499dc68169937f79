#include "meshwright/inter/layers/whole_batch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/unique_names.h"
#include "meshwright/intra/planner.h"

namespace meshwright {
namespace {

// On the parameters that were added: the position of the data input.
constexpr std::string_view kWholeBatchAttribute = "meshwright.whole_batch_of";

// Operators that cost no more than reading their operands.
bool IsCheap(const Graph& graph, const Op& op) {
  switch (op.instruction->opcode) {
    case Opcode::kBitcast:
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kConstant:
    case Opcode::kCopy:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
    case Opcode::kIota:
    case Opcode::kPad:
    case Opcode::kReduce:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kScatter:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return true;
    case Opcode::kDot:  // of two vectors
      return graph[op.result()].shape.elements() == 1;
    default:
      return IsElementwise(op.instruction->opcode);
  }
}

class WholeBatchWriter {
 public:
  WholeBatchWriter(const Graph& graph, const BatchSplit& batch)
      : graph_(graph),
        batch_(batch),
        repeatable_(graph.ops.size()),
        repeated_(graph.ops.size()),
        border_(graph.ops.size()) {}

  Module Write() {
    FindRepeatable();
    bool any = false;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!repeatable_[i] || !IsBorder(graph_.ops[i])) continue;
      Repeat(OpId(i));
      any = true;
    }
    Module module = *graph_.module;
    if (!any) return module;
    for (const Computation& computation : module.computations) {
      for (const Instruction& instruction : computation.instructions) names_.Take(instruction.name);
    }
    Rewrite(&module);
    return module;
  }

 private:
  BatchRole Role(ValueId v) const { return batch_.roles[v.index()]; }

  // Stands in the entry computation itself, and makes one array.
  bool IsPlain(const Op& op) const {
    return op.kind == OpKind::kInstruction && op.results.size() == 1 && op.loop < 0 &&
           op.branch < 0 && op.computation == &graph_.module->entry_computation() &&
           !op.instruction->shape.is_tuple() &&
           op.operands.size() == op.instruction->operands.size();
  }

  // What can be made of the whole batch: data inputs, what is the same for all micro-batches
  // anyway, and what cheap operators make of those.
  void FindRepeatable() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.parameter >= 0) {
        repeatable_[i] = Role(op.result()) == BatchRole::kConstant
                             ? !op.instruction->shape.is_tuple()
                             : IsData(OpId(i));
        continue;
      }
      repeatable_[i] = IsPlain(op) && (Role(op.result()) == BatchRole::kConstant ||
                                       (IsCheap(graph_, op) && OperandsAreRepeatable(op)));
    }
  }
  bool OperandsAreRepeatable(const Op& op) const {
    return std::all_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return repeatable_[graph_[v].producer.index()]; });
  }
  bool IsData(OpId parameter) const {
    return std::find(batch_.data.begin(), batch_.data.end(), parameter) != batch_.data.end();
  }

  // Combines samples to what samples need, or in a way in which the micro-batches' own cannot be
  // added up.
  bool IsBorder(const Op& op) const {
    if (op.parameter >= 0) return false;
    const BatchRole role = Role(op.result());
    return (role == BatchRole::kStatistic || role == BatchRole::kAfter) &&
           std::any_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return Role(v) == BatchRole::kSplit; });
  }

  // Marks `border` and what it is computed from.
  void Repeat(OpId border) {
    border_[border.index()] = true;
    std::vector<OpId> open = {border};
    while (!open.empty()) {
      const OpId id = open.back();
      open.pop_back();
      if (repeated_[id.index()]) continue;
      repeated_[id.index()] = true;
      for (ValueId v : graph_[id].operands) {
        if (Role(v) != BatchRole::kConstant) open.push_back(graph_[v].producer);
      }
    }
  }

  void Rewrite(Module* module) {
    const Computation& from = graph_.module->entry_computation();
    Computation& to = (*module)[module->entry];
    to.instructions.clear();
    absl::flat_hash_map<const Instruction*, std::vector<OpId>> repeated;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (repeated_[i]) repeated[graph_.ops[i].instruction].emplace_back(i);
    }
    std::vector<InstructionId> added;
    const auto add = [&](Instruction instruction) {
      instruction.is_root = false;
      to.instructions.push_back(std::move(instruction));
      return InstructionId(to.instructions.size() - 1);
    };
    for (const Instruction& instruction : from.instructions) {
      Instruction copy = instruction;
      Move(copy.operands);
      Move(copy.control_predecessors);
      moved_.push_back(add(std::move(copy)));
      const auto found = repeated.find(&instruction);
      if (found == repeated.end()) continue;
      for (OpId id : found->second) {
        const bool input = graph_[id].parameter >= 0;
        const auto number = static_cast<int64_t>(from.parameters.size() + added.size());
        const InstructionId whole = add(input ? WholeInput(id, number) : OfWholeBatch(id));
        whole_[id] = whole;
        if (input) added.push_back(whole);
        if (border_[id.index()]) moved_.back() = whole;  // for all that read it
      }
    }
    Move(to.parameters);
    if (!module->entry_parameter_layouts.empty()) {
      for (InstructionId id : added) module->entry_parameter_layouts.push_back(to[id].shape);
    }
    to.parameters.insert(to.parameters.end(), added.begin(), added.end());
    to.root = moved_[from.root.index()];
    to[to.root].is_root = true;
  }

  void Move(std::vector<InstructionId>& ids) const {
    for (InstructionId& id : ids) id = moved_[id.index()];
  }

  Instruction WholeInput(OpId data, int64_t number) {
    const auto at = std::find(graph_.parameters.begin(), graph_.parameters.end(), data);
    Instruction input;
    input.opcode = Opcode::kParameter;
    input.name = names_.Take(StrCat(graph_[data].instruction->name, ".whole"));
    input.shape = graph_[graph_[data].result()].shape;
    input.parameter_number = number;
    input.frontend_attributes = {
        {std::string(kWholeBatchAttribute), StrCat(at - graph_.parameters.begin())}};
    input.metadata.op_name = StrCat(ParameterName(graph_, data), " of all samples");
    return input;
  }

  Instruction OfWholeBatch(OpId id) {
    const Op& op = graph_[id];
    Instruction copy = *op.instruction;
    copy.name = names_.Take(StrCat(copy.name, ".whole"));
    copy.control_predecessors.clear();
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const OpId operand = graph_[op.operands[i]].producer;
      const auto whole = whole_.find(operand);
      copy.operands[i] = whole != whole_.end() ? whole->second : moved_[PositionOf(operand)];
    }
    return copy;
  }

  // Of the instruction that an op stands for, in the entry computation.
  size_t PositionOf(OpId id) const {
    return static_cast<size_t>(graph_[id].instruction -
                               graph_.module->entry_computation().instructions.data());
  }

  const Graph& graph_;
  const BatchSplit& batch_;
  // By OpId: can be made of the whole batch; is; and stands for what it is a repetition of.
  std::vector<bool> repeatable_, repeated_, border_;
  UniqueNames names_;
  std::vector<InstructionId> moved_;  // by instruction of the entry: what stands for it
  absl::flat_hash_map<OpId, InstructionId> whole_;
};

}  // namespace

Module WithWholeBatchValues(const Graph& graph, const BatchSplit& batch) {
  return WholeBatchWriter(graph, batch).Write();
}

std::optional<int32_t> WholeBatchOf(const Graph& graph, OpId parameter) {
  for (const auto& [name, value] : graph[parameter].instruction->frontend_attributes) {
    int32_t position = 0;
    if (name == kWholeBatchAttribute && absl::SimpleAtoi(value, &position) && position >= 0 &&
        position < static_cast<int32_t>(graph.parameters.size()))
      return position;
  }
  return std::nullopt;
}

}  // namespace meshwright
