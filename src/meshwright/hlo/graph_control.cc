#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "meshwright/base/status.h"
#include "meshwright/hlo/async.h"
#include "meshwright/hlo/graph_builder.h"
#include "meshwright/hlo/opcode.h"
#include "meshwright/hlo/trip_count.h"

// Instructions that run computations (call, fusion, while, conditional) and asynchronous pairs.

namespace meshwright {
namespace {

// The tuple of an asynchronous start: its elements are what the operation reads, what it writes
// and, for some, opaque contexts. `done` hands on some of the elements.
struct AsyncForm {
  Opcode start, done;
  int64_t result;   // element that is the operation's result; -1: the value is no such tuple
  int64_t operand;  // element that repeats the operands
  absl::InlinedVector<int64_t, 2> done_elements;  // empty: all
};

const AsyncForm kAsyncForms[] = {
    {Opcode::kAsyncStart, Opcode::kAsyncDone, 1, 0, {1}},
    {Opcode::kAllGatherStart, Opcode::kAllGatherDone, 1, 0, {1}},
    {Opcode::kCollectivePermuteStart, Opcode::kCollectivePermuteDone, 1, 0, {1}},
    {Opcode::kCopyStart, Opcode::kCopyDone, 0, 1, {0}},
    {Opcode::kAllReduceStart, Opcode::kAllReduceDone, -1, -1, {}},
    {Opcode::kRecv, Opcode::kRecvDone, -1, -1, {0, 2}},  // (data, context, token)
    {Opcode::kSend, Opcode::kSendDone, -1, -1, {2}},     // (data, context, token)
};

const AsyncForm* FindAsyncForm(Opcode opcode) {
  for (const AsyncForm& form : kAsyncForms) {
    if (form.start == opcode || form.done == opcode) return &form;
  }
  return nullptr;
}

// Newer versions of XLA give every start the shape ((operands), results), also those of all-reduce,
// whose own form is just its results.
bool HasGenericAsyncShape(const Shape& shape) {
  return shape.is_tuple() && shape.tuple.size() >= 2 && shape.tuple[0].is_tuple();
}

// The form of a start with this opcode and shape, or of the done that takes it.
const AsyncForm& FormOf(Opcode opcode, const Shape& start_shape) {
  const AsyncForm& own = *FindAsyncForm(opcode);
  const bool generic = own.start == Opcode::kAllReduceStart && HasGenericAsyncShape(start_shape);
  return generic ? *FindAsyncForm(Opcode::kAsyncStart) : own;
}

bool HasElements(const Shape& shape, absl::Span<const int64_t> elements) {
  return shape.is_tuple() && std::all_of(elements.begin(), elements.end(), [&](int64_t i) {
           return i < static_cast<int64_t>(shape.tuple.size());
         });
}

}  // namespace

absl::StatusOr<GraphBuilder::View> GraphBuilder::Call(const Frame& frame,
                                                      const Instruction& instruction) {
  if (instruction.called.size() != 1) {
    return absl::InvalidArgumentError(absl::StrFormat("\"%s\" calls %d computations instead of one",
                                                      instruction.name, instruction.called.size()));
  }
  std::vector<View> arguments;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    arguments.push_back(OperandView(frame, instruction, i));
  }
  return Enter(frame, instruction, instruction.called[0], std::move(arguments), frame.multiplicity,
               frame.loop, frame.branch);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::While(const Frame& frame,
                                                       const Instruction& instruction) {
  if (instruction.called.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" lacks its condition or its body", instruction.name));
  }
  const View init = OperandView(frame, instruction, 0);
  if (init.count != LeafCount(instruction.shape)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" has another shape than its operand", instruction.name));
  }
  const int32_t index = static_cast<int32_t>(graph_.loops.size());
  const std::string name = absl::StrCat(frame.prefix, instruction.name);
  const std::optional<int64_t> trip_count = TripCount(module_, instruction, *frame.computation);
  Loop loop;
  loop.name = name;
  loop.parent = frame.loop;
  loop.trip_count = trip_count.has_value() ? static_cast<double>(*trip_count) : 1.0;
  loop.trip_count_known = trip_count.has_value();
  loop.begin = OpId(graph_.ops.size());
  graph_.loops.push_back(loop);

  Frame inside;
  inside.computation = frame.computation;
  inside.multiplicity = frame.multiplicity * loop.trip_count;
  inside.loop = index;
  inside.branch = frame.branch;
  std::vector<ValueId> carried;
  ForEachLeaf(instruction.shape, [&](const std::vector<int64_t>& path, const Shape& leaf) {
    Op& op = AddOp(OpKind::kLoopParameter, inside, instruction,
                   absl::StrCat(name, "/carry", LeafPathText(path)));
    op.leaf_number = static_cast<int32_t>(carried.size());
    carried.push_back(AddResult(op, leaf));
  });
  const View parameter = AddView(carried);
  // The condition comes first, as it does at run time.
  MW_ASSIGN_OR_RETURN(const View condition,
                      Enter(frame, instruction, instruction.called[0], {parameter},
                            inside.multiplicity, index, frame.branch));
  if (condition.count != 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the condition of \"%s\" is not one value", instruction.name));
  }
  graph_.loops[static_cast<size_t>(index)].condition = Leaves(condition)[0];
  MW_ASSIGN_OR_RETURN(const View next, Enter(frame, instruction, instruction.called[1], {parameter},
                                             inside.multiplicity, index, frame.branch));
  if (next.count != init.count) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the body of \"%s\" returns another shape than it takes", instruction.name));
  }
  graph_.loops[static_cast<size_t>(index)].end = OpId(graph_.ops.size());

  std::vector<ValueId> exits;
  ForEachLeaf(instruction.shape, [&](const std::vector<int64_t>& path, const Shape& leaf) {
    Op& op = AddOp(OpKind::kLoopExit, frame, instruction, absl::StrCat(name, LeafPathText(path)));
    op.leaf_number = static_cast<int32_t>(exits.size());
    exits.push_back(AddResult(op, leaf));
  });
  for (size_t i = 0; i < exits.size(); ++i) {
    Carry& carry = graph_.carries.emplace_back();
    carry.loop = index;
    carry.init = Leaves(init)[i];
    carry.parameter = carried[i];
    carry.next = Leaves(next)[i];
    carry.exit = exits[i];
    carry.invariant = carry.next == carry.parameter;
  }
  return AddView(exits);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::Conditional(const Frame& frame,
                                                             const Instruction& instruction) {
  const size_t branches = instruction.called.size();
  if (branches == 0 || instruction.operands.size() != branches + 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" has %d branches and %d operands; it needs one operand a branch "
                        "after the one that chooses",
                        instruction.name, branches, instruction.operands.size()));
  }
  const View predicate = OperandView(frame, instruction, 0);
  if (predicate.count != 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("what decides \"%s\" is not one value", instruction.name));
  }
  struct Conditional conditional;  // of the graph, not this function
  conditional.instruction = &instruction;
  conditional.predicate = Leaves(predicate)[0];
  conditional.begin = OpId(graph_.ops.size());
  std::vector<View> results;
  for (size_t i = 0; i < branches; ++i) {
    MW_ASSIGN_OR_RETURN(const View result, Enter(frame, instruction, instruction.called[i],
                                                 {OperandView(frame, instruction, i + 1)},
                                                 frame.multiplicity, frame.loop, branches_++));
    if (result.count != LeafCount(instruction.shape)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "branch %d of \"%s\" returns another shape than it has", i, instruction.name));
    }
    results.push_back(result);
  }
  const std::string name = absl::StrCat(frame.prefix, instruction.name);
  std::vector<ValueId> leaves;
  ForEachLeaf(instruction.shape, [&](const std::vector<int64_t>& path, const Shape& leaf) {
    Op& op =
        AddOp(OpKind::kSelectBranch, frame, instruction, absl::StrCat(name, LeafPathText(path)));
    const int32_t i = op.leaf_number = static_cast<int32_t>(leaves.size());
    op.predicate = conditional.predicate;
    for (const View& result : results) AddOperands(op, {result.begin + i, 1});
    leaves.push_back(AddResult(op, leaf));
  });
  conditional.end = OpId(graph_.ops.size());
  graph_.conditionals.push_back(conditional);
  return AddView(leaves);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::AsyncStart(const Frame& frame,
                                                            const Instruction& instruction) {
  // Text may leave the wrapped computation out (`all-to-all-start`): the op stands for itself.
  if (!CallsWrappedOperation(instruction)) return StartOp(frame, instruction);
  MW_ASSIGN_OR_RETURN(const View result, Call(frame, instruction));
  return StartView(frame, instruction, result);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::AllReduceStart(const Frame& frame,
                                                                const Instruction& instruction) {
  return HasGenericAsyncShape(instruction.shape) ? StartOp(frame, instruction)
                                                 : MakeOp(frame, instruction);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::StartOp(const Frame& frame,
                                                         const Instruction& instruction) {
  return StartView(frame, instruction, View());
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::StartView(const Frame& frame,
                                                           const Instruction& instruction,
                                                           View result) {
  const Shape& shape = instruction.shape;
  const AsyncForm& form = FormOf(instruction.opcode, shape);
  if (!HasElements(shape, {form.result, form.operand})) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" should have a tuple of operands and results as its shape, not %s",
                        instruction.name, shape.ToString(/*with_layout=*/false)));
  }
  std::vector<ValueId> operands;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const absl::Span<const ValueId> leaves = Leaves(OperandView(frame, instruction, i));
    operands.insert(operands.end(), leaves.begin(), leaves.end());
  }
  std::vector<ValueId> results(Leaves(result).begin(), Leaves(result).end());

  // The op: the operation itself, unless a called computation already stands for it; contexts,
  // which nothing else produces, are further results of it.
  const bool needs_result = !result.valid();
  std::vector<ValueId> contexts;
  if (needs_result || shape.tuple.size() > 2) {
    Op& op = AddOp(OpKind::kInstruction, frame, instruction,
                   absl::StrCat(frame.prefix, instruction.name));
    const auto add = [&](int64_t element, std::vector<ValueId>& list) {
      ForEachLeaf(shape.tuple[static_cast<size_t>(element)],
                  [&](const std::vector<int64_t>&, const Shape& leaf) {
                    list.push_back(AddResult(op, leaf));
                  });
    };
    if (needs_result) {
      for (size_t i = 0; i < instruction.operands.size(); ++i) {
        AddOperands(op, OperandView(frame, instruction, i));
      }
      add(form.result, results);
    }
    for (size_t i = 2; i < shape.tuple.size(); ++i) add(static_cast<int64_t>(i), contexts);
  }

  std::vector<ValueId>& first = form.operand == 0 ? operands : results;
  const std::vector<ValueId>& second = form.operand == 0 ? results : operands;
  const bool fits = static_cast<int64_t>(first.size()) == LeafCount(shape.tuple[0]) &&
                    static_cast<int64_t>(second.size()) == LeafCount(shape.tuple[1]);
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the shape %s of \"%s\" does not repeat its operands and results",
                        shape.ToString(/*with_layout=*/false), instruction.name));
  }
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), contexts.begin(), contexts.end());
  return AddView(first);
}

absl::StatusOr<GraphBuilder::View> GraphBuilder::Done(const Frame& frame,
                                                      const Instruction& instruction) {
  const Shape& shape = (*frame.computation)[instruction.operands[0]].shape;
  const AsyncForm& form = FormOf(instruction.opcode, shape);
  const View start = OperandView(frame, instruction, 0);
  if (form.done_elements.empty()) return start;
  if (!HasElements(shape, form.done_elements)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the operand of \"%s\" is no asynchronous start; its shape is %s",
                        instruction.name, shape.ToString(/*with_layout=*/false)));
  }
  std::vector<ValueId> leaves;
  for (int64_t element : form.done_elements) {
    const absl::Span<const ValueId> part = Leaves(ElementView(shape, start, element));
    leaves.insert(leaves.end(), part.begin(), part.end());
  }
  return AddView(leaves);
}

}  // namespace meshwright
