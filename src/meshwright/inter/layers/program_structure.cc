#include "meshwright/inter/layers/program_structure.h"

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

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
      if (op.predicate.valid()) out_.more_users[op.predicate.index()].push_back(OpId(i));
      if (op.kind == OpKind::kLoopParameter || op.kind == OpKind::kOutput) continue;
      first_op_.try_emplace(op.instruction, OpId(i));
    }
    MW_RETURN_IF_ERROR(FindConditions());
    FindWholes();
    FindLive();
    return std::move(out_);
  }

 private:
  struct Caller {
    const Computation* computation = nullptr;
    const Instruction* instruction = nullptr;
  };

  void FindCallers() {
    for (const Computation& computation : module_.computations) {
      for (const Instruction& i : computation.instructions) {
        for (ComputationId called : i.called) callers_[&module_[called]] = {&computation, &i};
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

  absl::Status FindConditions() {
    for (size_t l = 0; l < graph_.loops.size(); ++l) {
      if (!out_.first_exit[l].valid()) {
        return absl::InvalidArgumentError(
            StrCat("the loop \"", graph_.loops[l].name, "\" carries nothing"));
      }
      out_.condition.push_back(graph_.loops[l].condition);
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
};

}  // namespace

absl::StatusOr<ProgramStructure> FindStructure(const Graph& graph) {
  return StructureFinder(graph).Run();
}

void ForEachRead(const Graph& graph, const ProgramStructure& structure, OpId op,
                 const std::function<void(ValueId)>& visit) {
  for (ValueId v : graph[op].operands) visit(v);
  if (const ValueId v = graph[op].predicate; v.valid()) visit(v);
  const int32_t c = structure.carry[op.index()];
  if (c < 0) return;
  const Carry& carry = graph.carries[c];
  visit(carry.init);
  visit(carry.next);
  visit(structure.condition[carry.loop]);
}

}  // namespace meshwright
