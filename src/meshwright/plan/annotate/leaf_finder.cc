#include "meshwright/plan/annotate/leaf_finder.h"

#include <utility>

#include "meshwright/hlo/async.h"
#include "meshwright/hlo/identity.h"

// The graph's ops are in the order in which its builder walked the module; the same walk, taking
// the ops up one by one, meets every instruction with its values. Where the two part
// (asynchronous pairs of compiled programs), leaves stay unknown.

namespace meshwright {
namespace {

using Leaves = LeafFinder::Leaves;

// Instructions whose callees have a place of their own in the program, unlike the bodies of fusions
// and reductions.
bool RunsCallees(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kWhile || opcode == Opcode::kConditional;
}

// Whether the value of an instruction without an op is that of its first operand.
bool HandsOn(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kOptimizationBarrier:
    case Opcode::kAddDependency:
    case Opcode::kDomain:
    case Opcode::kAfterAll:
    case Opcode::kAsyncUpdate:
    case Opcode::kCustomCall:  // "Sharding" and the like, or a dead one
      return !instruction.operands.empty();
    default:
      return false;
  }
}

Leaves Unknown(const Instruction& instruction) {
  return Leaves(static_cast<size_t>(LeafCount(instruction.shape)));
}

std::vector<Leaves> Operands(const Instruction& instruction, const std::vector<Leaves>& views) {
  std::vector<Leaves> operands;
  for (InstructionId operand : instruction.operands) operands.push_back(views[operand.index()]);
  return operands;
}

}  // namespace

LeafFinder::LeafFinder(const Graph& graph) : graph_(graph), module_(*graph.module) {
  FindSinglePlaces();
  leaves_.resize(module_.computations.size());
  std::vector<Leaves> arguments(module_.entry_computation().parameters.size());
  for (OpId parameter : graph_.parameters) {
    const Op& op = graph_[parameter];
    arguments[static_cast<size_t>(op.parameter)].push_back(op.result());
  }
  next_op_ = graph_.parameters.size();
  Visit(module_.entry, arguments);
}

void LeafFinder::FindSinglePlaces() {
  std::vector<int> references(module_.computations.size(), 0);
  for (const Computation& computation : module_.computations) {
    for (const Instruction& instruction : computation.instructions) {
      for (ComputationId called : instruction.called) ++references[called.index()];
    }
  }
  single_.assign(module_.computations.size(), false);
  std::vector<ComputationId> work = {module_.entry};
  while (!work.empty()) {
    const ComputationId c = work.back();
    work.pop_back();
    single_[c.index()] = true;
    for (const Instruction& instruction : module_[c].instructions) {
      if (!RunsCallees(instruction.opcode)) continue;
      for (ComputationId called : instruction.called) {
        if (references[called.index()] == 1) work.push_back(called);
      }
    }
  }
}

LeafFinder::Leaves LeafFinder::Visit(ComputationId c, const std::vector<Leaves>& arguments,
                                     const Instruction* call, const CallSite* caller) {
  const Computation& computation = module_[c];
  const CallSite site = {&computation, call, caller};
  std::vector<Leaves> views;
  views.reserve(computation.instructions.size());
  for (const Instruction& instruction : computation.instructions) {
    views.push_back(Translate(site, instruction, arguments, views));
    views.back().resize(static_cast<size_t>(LeafCount(instruction.shape)));
  }
  Leaves root = views[computation.root.index()];
  if (single_[c.index()]) leaves_[c.index()] = std::move(views);
  return root;
}

LeafFinder::Leaves LeafFinder::Translate(const CallSite& site, const Instruction& instruction,
                                         const std::vector<Leaves>& arguments,
                                         const std::vector<Leaves>& views) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
      return arguments[static_cast<size_t>(instruction.parameter_number)];
    case Opcode::kTuple: {
      Leaves leaves;
      for (InstructionId operand : instruction.operands) {
        const Leaves& part = views[operand.index()];
        leaves.insert(leaves.end(), part.begin(), part.end());
      }
      return leaves;
    }
    case Opcode::kGetTupleElement: {
      const InstructionId operand = instruction.operands[0];
      const LeafOffsets::Range range =
          offsets_.Element((*site.computation)[operand].shape, instruction.tuple_index);
      const auto begin = views[operand.index()].begin() + range.begin;
      return Leaves(begin, begin + range.count);
    }
    case Opcode::kCall:
    case Opcode::kFusion:
      return Visit(instruction.called[0], Operands(instruction, views), &instruction, &site);
    case Opcode::kAsyncStart:
      if (CallsWrappedOperation(instruction)) {
        Visit(instruction.called[0], Operands(instruction, views));
      }
      TakeOp(OpKind::kInstruction, instruction);
      return Unknown(instruction);
    case Opcode::kWhile: {
      const Leaves carried = TakeLeaves(OpKind::kLoopParameter, instruction);
      for (ComputationId called : instruction.called) Visit(called, {carried});
      return TakeLeaves(OpKind::kLoopExit, instruction);
    }
    case Opcode::kConditional:
      for (size_t b = 0; b < instruction.called.size(); ++b) {
        Visit(instruction.called[b], {views[instruction.operands[b + 1].index()]});
      }
      return TakeLeaves(OpKind::kSelectBranch, instruction);
    default:
      break;
  }
  if (const Op* op = TakeOp(OpKind::kInstruction, instruction)) {
    return Leaves(op->results.begin(), op->results.end());
  }
  if (const int operand = IdentityOperand(module_, site, instruction); operand >= 0) {
    return views[instruction.operands[static_cast<size_t>(operand)].index()];
  }
  if (HandsOn(instruction)) return views[instruction.operands[0].index()];
  return Unknown(instruction);  // dead
}

const Op* LeafFinder::TakeOp(OpKind kind, const Instruction& instruction) {
  if (next_op_ >= graph_.ops.size()) return nullptr;
  const Op& op = graph_.ops[next_op_];
  if (op.kind != kind || op.instruction != &instruction) return nullptr;
  ++next_op_;
  return &op;
}

LeafFinder::Leaves LeafFinder::TakeLeaves(OpKind kind, const Instruction& instruction) {
  Leaves leaves = Unknown(instruction);
  for (ValueId& leaf : leaves) {
    const auto number = static_cast<int32_t>(&leaf - leaves.data());
    if (next_op_ >= graph_.ops.size() || graph_.ops[next_op_].leaf_number != number) continue;
    if (const Op* op = TakeOp(kind, instruction)) leaf = op->result();
  }
  return leaves;
}

}  // namespace meshwright
