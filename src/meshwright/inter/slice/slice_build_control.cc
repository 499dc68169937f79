#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/inter/slice/slice_builder.h"
#include "meshwright/inter/slice/slice_shapes.h"

namespace meshwright {

// Whether the slice has only some iterations of the layer loop that `op` is in.
bool SliceBuilder::InPartOfLoop(const Op& op) const {
  if (op.loop < 0 || c_.stacks.layer_loop[op.loop] < 0) return false;
  return !PartOfLoop(op.loop).whole();
}
LoopPart SliceBuilder::PartOfLoop(int32_t loop) const {
  return PartOf(c_.layers.loops[c_.stacks.layer_loop[loop]], request_.begin, request_.end);
}

// A stack of part of the layers begins at the first of these.
absl::Status SliceBuilder::MoveIndex(Scope& scope, OpId id, int32_t dimension,
                                     std::vector<InstructionId>& leaves) {
  const Op& op = graph_[id];
  if (c_.stacks.dimension[op.operands[0].index()] != dimension) return absl::OkStatus();
  const int32_t entry = PartOfLoop(op.loop).entry;
  if (entry == 0) return absl::OkStatus();
  const size_t first = op.instruction->opcode == Opcode::kDynamicSlice ? 1 : 2;
  InstructionId& index = leaves[first + static_cast<size_t>(dimension)];
  MW_ASSIGN_OR_RETURN(index, Combine(scope, Opcode::kSubtract, index, entry, id));
  return absl::OkStatus();
}

// ---- loops ----

absl::Status SliceBuilder::BuildLoop(Scope& scope, int32_t loop) {
  const OpId exit = c_.structure.first_exit[loop];
  const Instruction& original = *graph_[exit].instruction;
  const Module& from = *graph_.module;
  const std::vector<int32_t> carried = Carried(loop);
  const bool layers = c_.stacks.layer_loop[loop] >= 0;
  const LoopPart part = layers ? PartOfLoop(loop) : kWholeLoop;

  std::vector<InstructionId> init;
  std::vector<Shape> shapes;
  for (int32_t c : carried) {
    MW_ASSIGN_OR_RETURN(const InstructionId id, Init(scope, c, part));
    init.push_back(id);
    shapes.push_back(scope.ShapeOf(id));
  }
  if (numbered_loops_.contains(loop)) {
    MW_ASSIGN_OR_RETURN(const InstructionId id, Lookup(scope, c_.number()));
    init.push_back(id);
    shapes.push_back(scope.ShapeOf(id));
  }
  const Shape shape = Shape::Tuple(shapes);
  Scope body = writer_.Begin(from[original.called[1]]);
  Enter(body, shape, carried);
  MW_RETURN_IF_ERROR(BuildRegion(body, &from[original.called[1]]));
  std::vector<InstructionId> next;
  for (size_t i = 0; i < carried.size(); ++i) {
    MW_ASSIGN_OR_RETURN(const InstructionId id,
                        Resized(body, graph_.carries[carried[i]].next, shapes[i].dims));
    next.push_back(id);
  }
  if (numbered_loops_.contains(loop)) next.push_back(body.values.at(c_.number()));
  Scope condition = writer_.Begin(from[original.called[0]]);
  Enter(condition, shape, carried);
  InstructionId go_on;
  if (part.whole()) {
    MW_RETURN_IF_ERROR(BuildRegion(condition, &from[original.called[0]]));
    MW_ASSIGN_OR_RETURN(go_on, Lookup(condition, c_.structure.condition[loop]));
  } else {
    MW_ASSIGN_OR_RETURN(go_on, CountTo(condition, loop, part));
  }

  Instruction copy = original;
  copy.control_predecessors.clear();
  copy.is_root = false;
  copy.shape = shape;
  copy.sharding.clear();
  if (!part.whole()) copy.backend_config.clear();  // says how often it runs
  copy.operands = {writer_.AddTuple(scope, init)};
  const ComputationId condition_id = writer_.Finish(std::move(condition), go_on);
  copy.called = {condition_id, writer_.Finish(std::move(body), next)};
  const InstructionId built = writer_.Add(scope, std::move(copy));
  std::vector<OpId>& origin = out_.origin[scope.computation[built].name];
  out_.phase[scope.computation[built].name] = selection_.phase[exit.index()];
  for (size_t i = 0; i < carried.size(); ++i) {
    const Carry& carry = graph_.carries[carried[i]];
    origin.push_back(graph_[carry.exit].producer);
    const InstructionId value =
        writer_.AddElement(scope, built, static_cast<int64_t>(i), shapes[i], original);
    border_out_[carried[i]] = value;
    const bool ends = part.has_last || KindOfCarry(c_, carried[i]) == CarryKind::kStack;
    if (ends) scope.values[carry.exit] = LayersOfWhole(scope, value, carry.exit);
  }
  return absl::OkStatus();
}

// What the carry has at the start of the slice's first iteration.
absl::StatusOr<InstructionId> SliceBuilder::Init(Scope& scope, int32_t c, const LoopPart& part) {
  const Carry& carry = graph_.carries[c];
  if (!part.whole()) {
    const CarryKind kind = KindOfCarry(c_, c);
    if (kind == CarryKind::kCount) {
      return writer_.AddNumber(scope, graph_[carry.parameter].shape.type,
                               c_.stacks.counts.at(c)[static_cast<size_t>(part.start)]);
    }
    if (kind == CarryKind::kPlain && !part.has_first) return border_in_.at(c);
  }
  return Resized(scope, carry.init, SliceShape(c_, request_, carry.parameter).dims);
}

void SliceBuilder::Enter(Scope& scope, const Shape& shape, const std::vector<int32_t>& carried) {
  const InstructionId tuple = writer_.AddArgument(scope, shape);
  Instruction of;
  of.name = "carry";
  for (size_t i = 0; i < carried.size(); ++i) {
    scope.values[graph_.carries[carried[i]].parameter] =
        writer_.AddElement(scope, tuple, static_cast<int64_t>(i), shape.tuple[i], of);
  }
  // Behind them the number of the micro-batch, where the loop needs it.
  if (const size_t i = carried.size(); i < shape.tuple.size()) {
    of.name = "micro_batch";
    scope.values[c_.number()] =
        writer_.AddElement(scope, tuple, static_cast<int64_t>(i), shape.tuple[i], of);
  }
}

// Whether the slice's last iteration is still to come.
absl::StatusOr<InstructionId> SliceBuilder::CountTo(Scope& scope, int32_t loop,
                                                    const LoopPart& part) {
  const int32_t counter = c_.stacks.counter[c_.stacks.layer_loop[loop]];
  const std::vector<int64_t>& counts = c_.stacks.counts.at(counter);
  const int64_t end = counts[static_cast<size_t>(part.start + part.high - part.low)];
  MW_ASSIGN_OR_RETURN(const InstructionId count, Lookup(scope, graph_.carries[counter].parameter));
  Instruction compare;
  compare.name = "compare";
  compare.opcode = Opcode::kCompare;
  compare.operands = {count, writer_.AddNumber(scope, scope.ShapeOf(count).type, end)};
  compare.direction = counts.front() < counts.back() ? "LT" : "GT";
  compare.shape = Shape::Array(ElementType::kPred, {});
  compare.shape.has_layout = true;
  return Added(scope, std::move(compare), c_.structure.first_exit[loop]);
}

// ---- conditionals ----

absl::Status SliceBuilder::BuildConditional(Scope& scope, OpId first) {
  const Instruction& original = *graph_[first].instruction;
  std::vector<OpId> leaves;
  for (size_t i = first.index(); i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    if (op.kind != OpKind::kSelectBranch || op.instruction != &original) break;
    if (selection_.op[i]) leaves.emplace_back(i);
  }
  Instruction copy = original;
  copy.control_predecessors.clear();
  copy.is_root = false;
  copy.sharding.clear();
  std::vector<Shape> shapes;
  shapes.reserve(leaves.size());
  for (OpId leaf : leaves) {
    shapes.push_back(MadeShape(request_, graph_[leaf].results[0]));
  }
  copy.shape = Shape::Tuple(shapes);
  MW_ASSIGN_OR_RETURN(const InstructionId which, Lookup(scope, graph_[first].predicate));
  copy.operands = {which};
  for (size_t b = 0; b < original.called.size(); ++b) {
    const Computation& from = (*graph_.module)[original.called[b]];
    Scope branch = writer_.Begin(from);
    branch.outer = &scope;
    writer_.AddArgument(branch, Shape::Tuple({}));
    MW_RETURN_IF_ERROR(BuildRegion(branch, &from));
    std::vector<InstructionId> results;
    for (size_t i = 0; i < leaves.size(); ++i) {
      MW_ASSIGN_OR_RETURN(const InstructionId result,
                          Resized(branch, graph_[leaves[i]].operands[b], shapes[i].dims));
      results.push_back(result);
    }
    std::vector<InstructionId> captured;
    for (ValueId v : branch.captured) {
      MW_ASSIGN_OR_RETURN(const InstructionId outside, Lookup(scope, v));
      captured.push_back(outside);
    }
    copy.operands.push_back(writer_.AddTuple(scope, captured));
    branch.computation.instructions[0].shape = scope.ShapeOf(copy.operands.back());
    copy.called[b] = writer_.Finish(std::move(branch), results);
  }
  const InstructionId built = writer_.Add(scope, std::move(copy));
  out_.origin[scope.computation[built].name] = leaves;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const InstructionId value =
        writer_.AddElement(scope, built, static_cast<int64_t>(i), shapes[i], original);
    const ValueId v = graph_[leaves[i]].results[0];
    scope.values[v] = LayersOfWhole(scope, value, v);
  }
  return absl::OkStatus();
}

}  // namespace meshwright
