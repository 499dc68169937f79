#include "meshwright/profile/operand_constraints.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/plan/annotate/annotate.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

// What an instruction gets.
struct Constraints {
  // The annotations of the reshapes before each, in their order.
  std::map<size_t, std::vector<std::string>> operands;
  // The annotation of its result if that is another one, and kUnreduced; then those of reshapes
  // behind it, of which all users take the last, and kUnreduced of that.
  std::string computed, computed_unreduced;
  std::vector<std::string> kept;
  std::string kept_unreduced;
  bool free = false;  // no annotation at all: every user makes the result anew
};

// By computation, by instruction.
using ConstraintsOf = std::map<size_t, std::map<size_t, Constraints>>;

class InstructionNumbers {
 public:
  explicit InstructionNumbers(const Graph& graph) {
    for (size_t c = 0; c < graph.module->computations.size(); ++c)
      computations_[&graph.module->computations[c]] = c;
  }
  Constraints& At(const Op& op, ConstraintsOf* all) const {
    return At(*op.computation, *op.instruction, all);
  }
  Constraints& At(const Computation& computation, const Instruction& instruction,
                  ConstraintsOf* all) const {
    const auto index = static_cast<size_t>(&instruction - computation.instructions.data());
    return (*all)[computations_.at(&computation)][index];
  }

 private:
  absl::flat_hash_map<const Computation*, size_t> computations_;
};

// Whether operands of the operator are those of its instruction.
bool TakesItsOperands(const Op& op) {
  return op.kind == OpKind::kInstruction && op.instruction->operands.size() == op.operands.size();
}

void SetUnreduced(const std::string& axes, Instruction* instruction) {
  if (!axes.empty()) instruction->frontend_attributes.emplace_back(kUnreduced, axes);
}

// `computation` with reshapes; `at`: by index of an instruction.
Computation Rebuilt(const Computation& computation, const std::map<size_t, Constraints>& at) {
  Computation rebuilt = computation;
  rebuilt.instructions.clear();
  std::vector<InstructionId> moved;
  const auto add = [&](Instruction instruction) {
    rebuilt.instructions.push_back(std::move(instruction));
    return InstructionId(rebuilt.instructions.size() - 1);
  };
  // Reshapes of `value` to its own shape, one for each of `shardings`; the last of them.
  const auto add_reshapes = [&](const std::string& name, InstructionId value,
                                const Metadata& metadata,
                                const std::vector<std::string>& shardings) {
    for (size_t step = 0; step < shardings.size(); ++step) {
      Instruction reshape;
      reshape.name = step + 1 < shardings.size() ? StrCat(name, ".step", step) : name;
      reshape.opcode = Opcode::kReshape;
      reshape.shape = rebuilt.instructions[value.index()].shape;
      reshape.operands = {value};
      reshape.metadata = metadata;
      reshape.sharding = shardings[step];
      value = add(std::move(reshape));
    }
    return value;
  };
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    Instruction instruction = computation.instructions[i];
    for (InstructionId& operand : instruction.operands) operand = moved[operand.index()];
    for (InstructionId& before : instruction.control_predecessors) before = moved[before.index()];
    const auto here = at.find(i);
    if (here != at.end()) {
      for (const auto& [k, shardings] : here->second.operands) {
        InstructionId& operand = instruction.operands[k];
        operand = add_reshapes(StrCat(instruction.name, ".operand", k), operand,
                               instruction.metadata, shardings);
      }
      const Constraints& c = here->second;
      SetUnreduced(c.computed_unreduced, &instruction);
      if (!c.computed.empty()) instruction.sharding = c.computed;
      if (c.free) instruction.sharding.clear();
    }
    const std::string name = instruction.name;
    const Metadata metadata = instruction.metadata;
    moved.push_back(add(std::move(instruction)));
    if (here == at.end() || here->second.kept.empty()) continue;
    moved.back() = add_reshapes(StrCat(name, ".kept"), moved.back(), metadata, here->second.kept);
    SetUnreduced(here->second.kept_unreduced, &rebuilt.instructions[moved.back().index()]);
  }
  for (InstructionId& parameter : rebuilt.parameters) parameter = moved[parameter.index()];
  rebuilt.root = moved[computation.root.index()];
  return rebuilt;
}

// The annotations of what takes a value along path `k` of `paths`, which are empty or one for each,
// to where it is `end`.
std::vector<std::string> PathTexts(const std::vector<Movements::Path>& paths, size_t k,
                                   const Sharding& end, const Mesh& mesh) {
  std::vector<std::string> texts;
  if (k < paths.size()) {
    for (const Sharding& step : paths[k]) texts.push_back(ToHloShardingText(step, mesh));
  }
  texts.push_back(ToHloShardingText(end, mesh));
  return texts;
}

// The same, of `value`. A loop would carry it as its body first wants it; that it is seen otherwise
// before keeps Shardy from spreading what is wanted to the loop. `seen`: by ValueId.
std::vector<std::string> Steps(const Graph& graph, const std::vector<Sharding>& seen, ValueId value,
                               const std::vector<Movements::Path>& paths, size_t k,
                               const Sharding& wanted, const Mesh& mesh) {
  std::vector<std::string> steps = PathTexts(paths, k, wanted, mesh);
  if (graph[graph[value].producer].kind == OpKind::kLoopParameter)
    steps.insert(steps.begin(), ToHloShardingText(seen[value.index()], mesh));
  return steps;
}

// `kept`, `seen`: by ValueId, how values are kept and how what stands for them in the module is
// sharded. `paths`: of operands, by OpId, or empty.
ConstraintsOf OperandConstraints(const Graph& graph, const Mesh& mesh,
                                 const std::vector<Sharding>& kept,
                                 const std::vector<Sharding>& seen,
                                 const std::vector<std::vector<Sharding>>& needed,
                                 const std::vector<std::vector<Movements::Path>>& paths) {
  const InstructionNumbers numbers(graph);
  ConstraintsOf at;
  for (size_t i = 0; i < needed.size(); ++i) {
    const Op& op = graph.ops[i];
    if (!TakesItsOperands(op)) continue;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const size_t v = op.operands[k].index();
      const Sharding& wanted = needed[i].empty() ? kept[v] : needed[i][k];
      if (wanted == seen[v]) continue;
      numbers.At(op, &at).operands[k] =
          Steps(graph, seen, op.operands[k],
                i < paths.size() ? paths[i] : std::vector<Movements::Path>(), k, wanted, mesh);
    }
  }
  return at;
}

// Whether leaves of the instruction are its operands.
bool IsFlatTuple(const Instruction& instruction) {
  return instruction.opcode == Opcode::kTuple &&
         std::all_of(instruction.shape.tuple.begin(), instruction.shape.tuple.end(),
                     [](const Shape& element) { return element.is_array(); });
}

// What loops start from, moved to how they carry it. `seen`, `free`: by ValueId.
void AddLoopStarts(const Graph& graph, const Mesh& mesh, const std::vector<Sharding>& seen,
                   const std::vector<bool>& free,
                   const std::vector<std::vector<Movements::Path>>& paths, ConstraintsOf* at) {
  const InstructionNumbers numbers(graph);
  for (const Carry& carry : graph.carries) {
    const Sharding& carried = seen[carry.parameter.index()];
    if (carried == seen[carry.init.index()] || free[carry.init.index()]) continue;
    const OpId id = graph[carry.parameter].producer;
    const Op& parameter = graph[id];
    const Instruction& start = (*parameter.computation)[parameter.instruction->operands[0]];
    if (!IsFlatTuple(start)) continue;
    const auto leaf = static_cast<size_t>(parameter.leaf_number);
    numbers.At(*parameter.computation, start, at).operands[leaf] =
        Steps(graph, seen, carry.init, paths[id.index()], 0, carried, mesh);
  }
}

// What results go through on their way to how they leave, which the root's annotation says.
void AddOutputPaths(const Graph& graph, const Mesh& mesh, const std::vector<bool>& free,
                    const std::vector<std::vector<Movements::Path>>& paths, ConstraintsOf* at) {
  const Computation& entry = graph.module->entry_computation();
  const Instruction& root = entry[entry.root];
  if (!IsFlatTuple(root) || root.operands.size() != graph.outputs.size()) return;
  const InstructionNumbers numbers(graph);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const OpId id = graph.outputs[i];
    if (paths[id.index()].empty() || free[graph[id].operands[0].index()]) continue;
    for (const Sharding& step : paths[id.index()][0])
      numbers.At(entry, root, at).operands[i].push_back(ToHloShardingText(step, mesh));
  }
}

Module WithConstraints(Module module, const ConstraintsOf& at) {
  for (const auto& [c, constraints] : at)
    module.computations[c] = Rebuilt(module.computations[c], constraints);
  return module;
}

// Whether what `op` makes can be said to be a partial sum: its operands can be constrained.
bool CanMakePartialSums(const Graph& graph, const std::vector<bool>& free, const Op& op,
                        bool adds_them) {
  if (!TakesItsOperands(op) || op.results.size() != 1) return false;
  if (adds_them) return true;
  const Opcode opcode = op.instruction->opcode;
  if (opcode != Opcode::kDot && opcode != Opcode::kConvolution && opcode != Opcode::kReduce)
    return false;
  return std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
    return graph[v].shape.is_array() && (graph[v].shape.rank() == 0 || !free[v.index()]);
  });
}

std::string AxisNames(const AxisList& axes, const Mesh& mesh) {
  return absl::StrJoin(axes, ",", [&mesh](std::string* out, AxisIndex axis) {
    out->append(mesh.axes[static_cast<size_t>(axis)].name);
  });
}

}  // namespace

Module WithOperandConstraints(Module module, const Graph& graph, const Mesh& mesh,
                              const std::vector<Sharding>& kept,
                              const std::vector<std::vector<Sharding>>& needed) {
  return WithConstraints(std::move(module),
                         OperandConstraints(graph, mesh, kept, kept, needed, {}));
}

Module WithMovements(const Graph& graph, const Mesh& mesh, const std::vector<Sharding>& kept,
                     const std::vector<Sharding>& outputs, const Movements& movements) {
  const std::vector<bool> free = AnalyzeFusion(graph).free;  // by ValueId
  const auto can_be_partial = [&](OpId op) {
    return CanMakePartialSums(graph, free, graph[op], !movements.pending[op.index()].empty());
  };
  const std::vector<AxisList> pending =
      WithPartialOperands(graph, movements.pending, [&](OpId op, size_t operand) {
        return can_be_partial(op) && can_be_partial(graph[graph[op].operands[operand]].producer);
      });
  std::vector<Sharding> seen = kept;
  for (const OpId id : graph.parameters) {
    if (const auto& shared = movements.shared[id.index()]; shared.has_value())
      seen[graph[id].results[0].index()] = *shared;
  }
  for (const Carry& carry : graph.carries) {
    const auto& computed = movements.computed[graph[carry.parameter].producer.index()];
    if (!computed.empty()) seen[carry.parameter.index()] = computed[0];
  }
  ConstraintsOf at =
      OperandConstraints(graph, mesh, kept, seen, movements.needed, movements.operand_paths);
  AddLoopStarts(graph, mesh, seen, free, movements.operand_paths, &at);
  AddOutputPaths(graph, mesh, free, movements.operand_paths, &at);
  const InstructionNumbers numbers(graph);
  const auto erase_free = [&](const Op& op, Constraints& here) {
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (free[op.operands[k].index()]) here.operands.erase(k);
    }
  };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind != OpKind::kInstruction || op.results.size() != 1) continue;
    const ValueId value = op.results[0];
    if (!graph[value].shape.is_array() || graph[value].shape.rank() == 0) continue;
    if (free[value.index()]) numbers.At(op, &at).free = true;
    if (TakesItsOperands(op)) erase_free(op, numbers.At(op, &at));
    if (free[value.index()]) continue;
    const std::vector<Sharding>&computed = movements.computed[i], &needed = movements.needed[i];
    const AxisList partial = KeptPartial(graph, pending, value);
    const std::vector<Movements::Path>& result_paths = movements.result_paths[i];
    if (pending[i].empty() && partial.empty() && computed.empty() && result_paths.empty() &&
        seen[value.index()] == kept[value.index()]) {
      continue;
    }
    Constraints& here = numbers.At(op, &at);
    if (seen[value.index()] != kept[value.index()])
      here.computed = ToHloShardingText(kept[value.index()], mesh);
    const AxisList& made = pending[i].empty() ? partial : pending[i];
    here.computed_unreduced = AxisNames(made, mesh);
    if (!computed.empty()) here.computed = ToHloShardingText(computed[0], mesh);
    if (!computed.empty() || made != partial || !result_paths.empty() ||
        seen[value.index()] != kept[value.index()]) {
      here.kept = PathTexts(result_paths, 0, seen[value.index()], mesh);
      // Partial sums become the first of these where they are combined.
      if (computed.empty() && !result_paths.empty() && op.parameter < 0) {
        here.computed = here.kept.front();
        here.kept.erase(here.kept.begin());
      }
      here.kept_unreduced = AxisNames(partial, mesh);
    }
    if (!pending[i].empty()) here.operands.clear();  // terms are added as they are
    if (!pending[i].empty() || partial.empty()) continue;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const ValueId operand = op.operands[k];
      if (graph[operand].shape.rank() == 0) continue;
      here.operands[k] = PathTexts(movements.operand_paths[i], k,
                                   needed.empty() ? kept[operand.index()] : needed[k], mesh);
    }
  }
  return WithConstraints(AnnotateModule(graph, mesh, seen, outputs), at);
}

}  // namespace meshwright
