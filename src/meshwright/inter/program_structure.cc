#include "meshwright/inter/program_structure.h"

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/flatten.h"

namespace meshwright {
namespace {

class StructureFinder {
 public:
  explicit StructureFinder(const Graph& graph) : graph_(graph), module_(*graph.module) {}

  absl::StatusOr<ProgramStructure> Run() {
    FindCallers();
    MW_RETURN_IF_ERROR(CheckInstructions());
    FindCarries();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      out_.region.push_back(RegionOf(op.computation));
      if (op.kind == OpKind::kLoopParameter || op.kind == OpKind::kOutput) continue;
      first_op_.try_emplace(op.instruction, OpId(i));
    }
    MW_RETURN_IF_ERROR(FindConditions());
    MW_RETURN_IF_ERROR(FindPredicates());
    FindWholes();
    FindLive();
    return std::move(out_);
  }

 private:
  struct Caller {
    const Computation* computation = nullptr;
    const Instruction* instruction = nullptr;
    size_t which = 0;  // of its callees
  };

  void FindCallers() {
    for (const Computation& computation : module_.computations) {
      for (const Instruction& i : computation.instructions) {
        for (size_t c = 0; c < i.called.size(); ++c) {
          callers_[&module_[i.called[c]]] = {&computation, &i, c};
        }
      }
    }
  }

  absl::Status CheckInstructions() const {
    for (const Op& op : graph_.ops) {
      if (op.kind != OpKind::kInstruction) continue;
      const std::string_view name = OpcodeName(op.instruction->opcode);
      if (!name.ends_with("-start") && !name.ends_with("-update") && !name.ends_with("-done")) {
        continue;
      }
      return absl::InvalidArgumentError(StrCat("a program with the asynchronous operation \"",
                                               op.name, "\" cannot be cut into stages"));
    }
    for (const Computation& computation : module_.computations) {
      for (const Instruction& i : computation.instructions) {
        if (i.opcode == Opcode::kCall) {
          return absl::InternalError(StrCat("\"", i.name, "\": calls have to be inlined first"));
        }
      }
    }
    return absl::OkStatus();
  }

  void FindCarries() {
    out_.carry.assign(graph_.ops.size(), -1);
    out_.first_carry.assign(graph_.loops.size(), -1);
    out_.carry_count.assign(graph_.loops.size(), 0);
    out_.first_exit.assign(graph_.loops.size(), OpId());
    out_.more_users.resize(graph_.values.size());
    for (size_t c = 0; c < graph_.carries.size(); ++c) {
      const Carry& carry = graph_.carries[c];
      const OpId parameter = graph_[carry.parameter].producer;
      const OpId exit = graph_[carry.exit].producer;
      out_.carry[parameter.index()] = out_.carry[exit.index()] = static_cast<int32_t>(c);
      out_.more_users[carry.init.index()].push_back(parameter);
      if (out_.carry_count[carry.loop]++ == 0) {
        out_.first_carry[carry.loop] = static_cast<int32_t>(c);
        out_.first_exit[carry.loop] = exit;
        loop_of_[graph_[exit].instruction] = carry.loop;
      }
    }
  }

  const Computation* RegionOf(const Computation* computation) const {
    while (true) {
      const auto caller = callers_.find(computation);
      if (caller == callers_.end() || caller->second.instruction->opcode != Opcode::kFusion) {
        return computation;
      }
      computation = caller->second.computation;
    }
  }

  // Leaf `leaf` of the value of an instruction.
  ValueId Resolve(const Computation& in, InstructionId id, int64_t leaf) const {
    const Computation* computation = &in;
    while (true) {
      const Instruction& i = (*computation)[id];
      if (const auto op = first_op_.find(&i); op != first_op_.end()) {
        const Op& first = graph_[op->second];
        if (i.opcode != Opcode::kParameter && first.kind == OpKind::kInstruction) {
          return first.results[static_cast<size_t>(leaf)];
        }
        // An op a leaf.
        return graph_.ops[op->second.index() + static_cast<size_t>(leaf)].results[0];
      }
      switch (i.opcode) {
        case Opcode::kTuple: {
          size_t element = 0;
          while (element < i.operands.size()) {
            const int64_t count = LeafCount((*computation)[i.operands[element]].shape);
            if (leaf < count) break;
            leaf -= count;
            ++element;
          }
          if (element == i.operands.size()) return ValueId();
          id = i.operands[element];
          break;
        }
        case Opcode::kGetTupleElement: {
          const Shape& tuple = (*computation)[i.operands[0]].shape;
          for (int64_t e = 0; e < i.tuple_index; ++e) {
            leaf += LeafCount(tuple.tuple[static_cast<size_t>(e)]);
          }
          id = i.operands[0];
          break;
        }
        case Opcode::kParameter: {
          const auto found = callers_.find(computation);
          if (found == callers_.end()) return ValueId();
          const Caller& caller = found->second;
          if (caller.instruction->opcode == Opcode::kWhile) {
            const auto loop = loop_of_.find(caller.instruction);
            if (loop == loop_of_.end()) return ValueId();
            const int32_t first = out_.first_carry[loop->second];
            return graph_.carries[static_cast<size_t>(first + leaf)].parameter;
          }
          const size_t operand = caller.instruction->opcode == Opcode::kConditional
                                     ? caller.which + 1
                                     : static_cast<size_t>(i.parameter_number);
          id = caller.instruction->operands[operand];
          computation = caller.computation;
          break;
        }
        case Opcode::kFusion:
          computation = &module_[i.called[0]];
          id = computation->root;
          break;
        default:
          if (i.operands.empty()) return ValueId();
          id = i.operands[0];
      }
    }
  }

  absl::Status FindConditions() {
    out_.condition.assign(graph_.loops.size(), ValueId());
    for (size_t l = 0; l < graph_.loops.size(); ++l) {
      if (!out_.first_exit[l].valid()) {
        return absl::InvalidArgumentError(StrCat("loop ", l, " of the program carries nothing"));
      }
      const Op& exit = graph_[out_.first_exit[l]];
      const Computation& condition = module_[exit.instruction->called[0]];
      out_.condition[l] = Resolve(condition, condition.root, 0);
      if (!out_.condition[l].valid()) {
        return absl::InvalidArgumentError(
            StrCat("what ends the loop \"", exit.instruction->name, "\" is not understood"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindPredicates() {
    out_.predicate.assign(graph_.ops.size(), ValueId());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.kind != OpKind::kSelectBranch) continue;
      const ValueId v = Resolve(*op.computation, op.instruction->operands[0], 0);
      if (!v.valid()) {
        return absl::InvalidArgumentError(
            StrCat("what decides the conditional \"", op.name, "\" is not understood"));
      }
      out_.predicate[i] = v;
      out_.more_users[v.index()].push_back(OpId(i));
    }
    return absl::OkStatus();
  }

  void FindWholes() {
    const Computation* entry = &module_.entry_computation();
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      OpId whole(i);
      int32_t loop = op.loop;
      if (op.kind == OpKind::kLoopExit) loop = graph_.carries[out_.carry[i]].loop;
      if (op.kind == OpKind::kLoopExit || loop >= 0) {
        while (graph_.loops[loop].parent >= 0) loop = graph_.loops[loop].parent;
        whole = out_.first_exit[loop];
      }
      if (op.kind == OpKind::kSelectBranch && out_.region[i] == entry) {
        whole = first_op_.at(op.instruction);
      }
      for (const Computation* at = out_.region[whole.index()]; at != entry;) {
        const Caller& caller = callers_.at(at);
        at = RegionOf(caller.computation);
        if (at != entry) continue;
        // A conditional without results decides nothing.
        const auto first = first_op_.find(caller.instruction);
        if (first != first_op_.end()) whole = first->second;
      }
      out_.whole.push_back(whole);
    }
  }

  void FindLive() {
    out_.live.assign(graph_.ops.size(), false);
    std::vector<OpId> open;
    const auto need = [&](OpId op) {
      if (out_.live[op.index()]) return;
      out_.live[op.index()] = true;
      open.push_back(op);
    };
    for (OpId output : graph_.outputs) need(output);
    while (!open.empty()) {
      const OpId op = open.back();
      open.pop_back();
      ForEachRead(graph_, out_, op, [&](ValueId v) { need(graph_[v].producer); });
    }
  }

  const Graph& graph_;
  const Module& module_;
  ProgramStructure out_;
  absl::flat_hash_map<const Computation*, Caller> callers_;
  absl::flat_hash_map<const Instruction*, OpId> first_op_;
  absl::flat_hash_map<const Instruction*, int32_t> loop_of_;  // by while
};

}  // namespace

absl::StatusOr<ProgramStructure> FindStructure(const Graph& graph) {
  return StructureFinder(graph).Run();
}

void ForEachRead(const Graph& graph, const ProgramStructure& structure, OpId op,
                 const std::function<void(ValueId)>& visit) {
  for (ValueId v : graph[op].operands) visit(v);
  if (const ValueId v = structure.predicate[op.index()]; v.valid()) visit(v);
  const int32_t c = structure.carry[op.index()];
  if (c < 0) return;
  const Carry& carry = graph.carries[c];
  visit(carry.init);
  visit(carry.next);
  visit(structure.condition[carry.loop]);
}

}  // namespace meshwright
