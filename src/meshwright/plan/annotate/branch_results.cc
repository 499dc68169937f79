#include "meshwright/plan/annotate/branch_results.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

// Appends to a branch what moves its results, leaf by leaf.
class BranchMover {
 public:
  // `made`, `kept`: by leaf of the root, as the branch has it and as the conditional does.
  BranchMover(const Mesh& mesh, std::vector<Sharding> made, std::vector<Sharding> kept,
              Computation* branch)
      : mesh_(mesh), made_(std::move(made)), kept_(std::move(kept)), branch_(*branch) {}

  // `sharding`: of the conditional, which the new root has too.
  void Run(const std::string& sharding) {
    const InstructionId root = Moved(branch_.root);
    branch_[branch_.root].is_root = false;
    branch_[root].is_root = true;
    branch_[root].sharding = sharding;
    branch_.root = root;
  }

 private:
  // What stands for `value` once it is moved. Leaves are met in their order.
  InstructionId Moved(InstructionId value) {
    const Shape shape = branch_[value].shape;  // instructions are appended
    if (!shape.is_tuple()) {
      const size_t leaf = next_leaf_++;
      if (made_[leaf] == kept_[leaf]) return value;
      return Append(Opcode::kReshape, shape, {value}, ToHloShardingText(kept_[leaf], mesh_));
    }
    std::vector<InstructionId> elements = branch_[value].operands;
    if (branch_[value].opcode != Opcode::kTuple) {
      elements.clear();
      for (size_t i = 0; i < shape.tuple.size(); ++i) {
        elements.push_back(Append(Opcode::kGetTupleElement, shape.tuple[i], {value}, ""));
        branch_[elements.back()].tuple_index = static_cast<int64_t>(i);
      }
    }
    for (InstructionId& element : elements) element = Moved(element);
    return Append(Opcode::kTuple, shape, std::move(elements), "");
  }

  InstructionId Append(Opcode opcode, const Shape& shape, std::vector<InstructionId> operands,
                       std::string sharding) {
    Instruction instruction;
    instruction.name = StrCat(branch_[branch_.root].name, ".handed_on", added_++);
    instruction.opcode = opcode;
    instruction.shape = shape;
    instruction.operands = std::move(operands);
    instruction.metadata = branch_[branch_.root].metadata;
    instruction.sharding = std::move(sharding);
    branch_.instructions.push_back(std::move(instruction));
    return InstructionId(branch_.instructions.size() - 1);
  }

  const Mesh& mesh_;
  const std::vector<Sharding> made_, kept_;
  Computation& branch_;
  size_t next_leaf_ = 0;
  int added_ = 0;
};

}  // namespace

void MoveBranchResults(const Graph& graph, const LeafFinder& finder, const Mesh& mesh,
                       const std::vector<Sharding>& values, Module* module) {
  // The shardings of the leaves of a value of `shape`; dead ones are replicated.
  const auto shardings = [&values](const LeafFinder::Leaves& leaves, const Shape& shape) {
    std::vector<Sharding> found;
    ForEachLeaf(shape, [&](const std::vector<int64_t>&, const Shape& array) {
      const ValueId leaf = leaves[found.size()];
      found.push_back(leaf.valid() ? values[leaf.index()] : Sharding::Replicated(array.rank()));
    });
    return found;
  };
  const Module& source = *graph.module;
  for (size_t c = 0; c < source.computations.size(); ++c) {
    const std::vector<LeafFinder::Leaves>& leaves = finder.leaves(ComputationId(c));
    for (size_t i = 0; i < leaves.size(); ++i) {
      const Instruction& conditional = source.computations[c].instructions[i];
      if (conditional.opcode != Opcode::kConditional) continue;
      const std::vector<Sharding> kept = shardings(leaves[i], conditional.shape);
      for (const ComputationId called : conditional.called) {
        const std::vector<LeafFinder::Leaves>& inside = finder.leaves(called);
        if (inside.empty()) continue;
        const std::vector<Sharding> made =
            shardings(inside[source[called].root.index()], conditional.shape);
        if (made == kept || made.size() != kept.size()) continue;
        const std::string& sharding = module->computations[c].instructions[i].sharding;
        BranchMover(mesh, made, kept, &module->computations[called.index()]).Run(sharding);
      }
    }
  }
}

}  // namespace meshwright
