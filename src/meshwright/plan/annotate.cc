#include "meshwright/plan/annotate.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/plan/output_shardings.h"
#include "meshwright/sharding/hlo_sharding.h"

// The graph has no tuples and no calls, the module has. So the work is to find for each instruction
// which values of the graph its leaves are. The graph's ops are in the order in which its builder
// walked the module; the same walk, taking the ops up one by one, meets every instruction with its
// values at hand. Where the two part (asynchronous pairs of compiled programs), instructions stay
// unannotated.

namespace meshwright {
namespace {

// The graph's values that an instruction's leaves are; an invalid id where that is not known.
using Leaves = std::vector<ValueId>;

// Instructions whose callees have a place of their own in the program, unlike the bodies of fusions
// and reductions.
bool RunsCallees(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kWhile || opcode == Opcode::kConditional;
}

Leaves Unknown(const Instruction& instruction) {
  return Leaves(static_cast<size_t>(LeafCount(instruction.shape)));
}

class LeafFinder {
 public:
  explicit LeafFinder(const Graph& graph) : graph_(graph), module_(*graph.module) {
    FindSinglePlaces();
    leaves_.resize(module_.computations.size());
    std::vector<Leaves> arguments(module_.entry_computation().parameters.size());
    for (OpId parameter : graph_.parameters) {
      const Op& op = graph_[parameter];
      arguments[static_cast<size_t>(op.parameter)].push_back(op.results[0]);
    }
    next_op_ = graph_.parameters.size();
    Visit(module_.entry, arguments);
  }

  // By instruction, for computations that run in one place only; empty for the others.
  const std::vector<Leaves>& leaves(ComputationId c) const { return leaves_[c.index()]; }

 private:
  void FindSinglePlaces() {
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

  // Walks one computation; returns the leaves of its root.
  Leaves Visit(ComputationId c, const std::vector<Leaves>& arguments) {
    const Computation& computation = module_[c];
    std::vector<Leaves> views;
    views.reserve(computation.instructions.size());
    for (const Instruction& instruction : computation.instructions) {
      views.push_back(Translate(computation, instruction, arguments, views));
      views.back().resize(static_cast<size_t>(LeafCount(instruction.shape)));
    }
    Leaves root = views[computation.root.index()];
    if (single_[c.index()]) leaves_[c.index()] = std::move(views);
    return root;
  }

  Leaves Translate(const Computation& computation, const Instruction& instruction,
                   const std::vector<Leaves>& arguments, const std::vector<Leaves>& views) {
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
            offsets_.Element(computation[operand].shape, instruction.tuple_index);
        const auto begin = views[operand.index()].begin() + range.begin;
        return Leaves(begin, begin + range.count);
      }
      case Opcode::kCall:
      case Opcode::kFusion:
        return Visit(instruction.called[0], Operands(instruction, views));
      case Opcode::kAsyncStart:
        for (ComputationId called : instruction.called) Visit(called, Operands(instruction, views));
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
    Leaves leaves;
    if (const Op* op = TakeOp(OpKind::kInstruction, instruction)) {
      leaves.assign(op->results.begin(), op->results.end());
    } else if (!instruction.operands.empty()) {
      leaves =
          views[instruction.operands[0].index()];  // hands its operand on: a barrier or the like
    }
    return leaves;
  }

  static std::vector<Leaves> Operands(const Instruction& instruction,
                                      const std::vector<Leaves>& views) {
    std::vector<Leaves> operands;
    for (InstructionId operand : instruction.operands) operands.push_back(views[operand.index()]);
    return operands;
  }

  // The next op, if it stands for `instruction`; else nullptr.
  const Op* TakeOp(OpKind kind, const Instruction& instruction) {
    if (next_op_ >= graph_.ops.size()) return nullptr;
    const Op& op = graph_.ops[next_op_];
    if (op.kind != kind || op.instruction != &instruction) return nullptr;
    ++next_op_;
    return &op;
  }

  // The results of the ops that stand for the leaves of `instruction`, one each.
  Leaves TakeLeaves(OpKind kind, const Instruction& instruction) {
    Leaves leaves = Unknown(instruction);
    for (ValueId& leaf : leaves) {
      if (const Op* op = TakeOp(kind, instruction)) leaf = op->results[0];
    }
    return leaves;
  }

  const Graph& graph_;
  const Module& module_;
  std::vector<bool> single_;                 // by computation: it runs in one place only
  std::vector<std::vector<Leaves>> leaves_;  // by computation and instruction
  size_t next_op_ = 0;
  LeafOffsets offsets_;
};

// The `sharding=` text of a value of `shape` whose arrays have the texts `leaves`: the one text of
// an array, or a tuple's list. Empty if a leaf has none.
std::string JoinLeaves(const Shape& shape, const std::vector<std::string>& leaves) {
  if (leaves.empty()) return "";
  if (std::any_of(leaves.begin(), leaves.end(), [](const std::string& s) { return s.empty(); })) {
    return "";
  }
  if (!shape.is_tuple()) return leaves[0];
  return absl::StrCat("{", absl::StrJoin(leaves, ", "), "}");
}

void SetNumPartitions(Module& module, int64_t devices) {
  constexpr const char* kKey = "num_partitions";
  for (auto& [key, value] : module.other) {
    if (key != kKey) continue;
    value = absl::StrCat(devices);
    return;
  }
  module.other.emplace_back(kKey, absl::StrCat(devices));
}

}  // namespace

Module AnnotateModule(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                      const std::vector<int32_t>& tied) {
  const LeafFinder finder(graph);
  Module module = *graph.module;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const std::vector<Leaves>& leaves = finder.leaves(ComputationId(c));
    for (size_t i = 0; i < leaves.size(); ++i) {
      Instruction& instruction = module.computations[c].instructions[i];
      std::vector<std::string> texts;
      for (ValueId leaf : leaves[i]) {
        texts.push_back(leaf.valid() ? ToHloShardingText(intra.shardings[leaf.index()], mesh)
                                     : std::string());
      }
      const std::string text = JoinLeaves(instruction.shape, texts);
      if (!text.empty()) instruction.sharding = text;
    }
  }
  // The outputs leave as the plan says, however their values are kept inside.
  Computation& entry = module.computations[module.entry.index()];
  std::vector<std::string> outputs;
  for (const Sharding& sharding : OutputShardings(graph, mesh, intra, tied)) {
    outputs.push_back(ToHloShardingText(sharding, mesh));
  }
  const std::string text = JoinLeaves(entry[entry.root].shape, outputs);
  if (!text.empty()) entry[entry.root].sharding = text;
  SetNumPartitions(module, mesh.devices());
  return module;
}

}  // namespace meshwright
