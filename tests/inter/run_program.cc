#include "tests/inter/run_program.h"

#include <cmath>
#include <cstdlib>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/flatten.h"
#include "meshwright/hlo/identity.h"

namespace meshwright {
namespace {

using Leaves = std::vector<Tensor>;

class Runner {
 public:
  Runner(const Module& module, const Graph& graph) : module_(module), graph_(graph) {
    for (const Op& op : graph.ops) {
      if (op.kind == OpKind::kInstruction) op_of_.try_emplace(op.instruction, &op);
    }
  }

  Leaves Run(const Computation& computation, const std::vector<Leaves>& arguments) {
    std::vector<Leaves> values(computation.instructions.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      std::vector<const Leaves*> operands;
      for (InstructionId id : instruction.operands) operands.push_back(&values[id.index()]);
      values[i] = Value(computation, instruction, operands, arguments);
    }
    return values[computation.root.index()];
  }

 private:
  Leaves Value(const Computation& computation, const Instruction& i,
               const std::vector<const Leaves*>& operands, const std::vector<Leaves>& arguments) {
    switch (i.opcode) {
      case Opcode::kParameter:
        return arguments[static_cast<size_t>(i.parameter_number)];
      case Opcode::kTuple: {
        Leaves all;
        for (const Leaves* operand : operands) {
          all.insert(all.end(), operand->begin(), operand->end());
        }
        return all;
      }
      case Opcode::kGetTupleElement: {
        const Shape& tuple = computation[i.operands[0]].shape;
        int64_t begin = 0;
        for (int64_t e = 0; e < i.tuple_index; ++e) {
          begin += LeafCount(tuple.tuple[static_cast<size_t>(e)]);
        }
        const auto from = operands[0]->begin() + begin;
        return Leaves(from, from + LeafCount(i.shape));
      }
      case Opcode::kOptimizationBarrier:
        return *operands[0];
      case Opcode::kWhile: {
        Leaves carried = *operands[0];
        while (Run(module_[i.called[0]], {carried})[0].data[0] != 0) {
          carried = Run(module_[i.called[1]], {carried});
        }
        return carried;
      }
      case Opcode::kConditional: {
        const double which = (*operands[0])[0].data[0];
        const bool predicate = computation[i.operands[0]].shape.type == ElementType::kPred;
        const size_t branch = predicate ? (which != 0 ? 0 : 1) : static_cast<size_t>(which);
        return Run(module_[i.called[branch]], {*operands[branch + 1]});
      }
      default:
        break;
    }
    if (const auto op = op_of_.find(&i); op != op_of_.end()) {
      return Operator(*op->second, i, operands);
    }
    if (const int operand = IdentityOperand(module_, {&computation}, i); operand >= 0) {
      return *operands[static_cast<size_t>(operand)];
    }
    Leaves unread;  // dead: the graph does not have it
    ForEachLeaf(i.shape, [&](const std::vector<int64_t>&, const Shape& leaf) {
      unread.push_back({leaf.dims, std::vector<double>(static_cast<size_t>(leaf.elements()))});
    });
    return unread;
  }

  Leaves Operator(const Op& op, const Instruction& i, const std::vector<const Leaves*>& operands) {
    Leaves in;
    std::vector<Placement> in_places, out_places;
    for (const Leaves* operand : operands) in.insert(in.end(), operand->begin(), operand->end());
    for (const Tensor& tensor : in) in_places.push_back(WholePlacement(tensor.dims));
    for (ValueId v : op.results) out_places.push_back(WholePlacement(graph_[v].shape.dims));
    Leaves out = Execute(graph_, op, in, in_places, out_places, /*first=*/true);
    if (i.opcode == Opcode::kConvert && IsInteger(i.shape.type)) {
      for (double& x : out[0].data) x = std::trunc(x);
    }
    return out;
  }

  const Module& module_;
  const Graph& graph_;
  absl::flat_hash_map<const Instruction*, const Op*> op_of_;
};

}  // namespace

std::vector<Tensor> RunProgram(const Module& module, const Graph& graph,
                               const std::vector<Tensor>& parameters) {
  const Computation& entry = module.entry_computation();
  std::vector<Leaves> arguments;
  size_t next = 0;
  for (InstructionId id : entry.parameters) {
    Leaves& leaves = arguments.emplace_back();
    for (int64_t i = LeafCount(entry[id].shape); i > 0; --i) leaves.push_back(parameters[next++]);
  }
  return Runner(module, graph).Run(entry, arguments);
}

}  // namespace meshwright
