#include "meshwright/plan/make/build_instructions.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/source_location.h"
#include "meshwright/plan/annotate/movements.h"
#include "meshwright/plan/make/to_plan.h"

namespace meshwright {
namespace {

PlanOpcode OpcodeOf(const Op& op) {
  switch (op.kind) {
    case OpKind::kInstruction:
      return ToPlanOpcode(op.instruction->opcode);
    case OpKind::kLoopParameter:
      return PlanOpcode::kLoopParameter;
    case OpKind::kLoopExit:
      return PlanOpcode::kLoopExit;
    case OpKind::kSelectBranch:
      return PlanOpcode::kSelectBranch;
    case OpKind::kOutput:
      break;
  }
  return PlanOpcode::kOutput;
}

// Strings that many instructions share, each once.
class StringTable {
 public:
  explicit StringTable(std::vector<std::string>& strings) : strings_(strings) {}

  int64_t Position(const std::string& text) {
    const auto [it, inserted] = positions_.try_emplace(text, static_cast<int64_t>(strings_.size()));
    if (inserted) strings_.push_back(text);
    return it->second;
  }

 private:
  std::vector<std::string>& strings_;
  absl::flat_hash_map<std::string, int64_t> positions_;
};

void SetTypes(const Graph& graph, const Op& op, PlanInstruction& instruction) {
  if (op.kind == OpKind::kOutput) instruction.type = ToType(graph[op.operands[0]].shape);
  for (size_t r = 0; r < op.results.size(); ++r) {
    PlanType type = ToType(graph[op.results[r]].shape);
    if (r == 0) {
      instruction.type = std::move(type);
    } else {
      instruction.other_types.push_back(std::move(type));
    }
  }
}

void SetOperands(const Graph& graph, const std::vector<ValueId>& operands,
                 PlanInstruction& instruction) {
  bool first_results = true;
  for (ValueId operand : operands) {
    instruction.operands.push_back(static_cast<int64_t>(graph[operand].producer.index()));
    instruction.operand_results.push_back(graph[operand].result);
    first_results = first_results && graph[operand].result == 0;
  }
  if (first_results) instruction.operand_results.clear();
}

// What loops hand from one iteration to the next is no operand of any op.
void SetCarries(const Graph& graph, std::vector<PlanInstruction>& instructions) {
  const auto read = [&](const std::vector<ValueId>& values, OpId reader) {
    SetOperands(graph, values, instructions[reader.index()]);
  };
  for (const Carry& carry : graph.carries) {
    read({carry.init, carry.next}, graph[carry.parameter].producer);
    if (carry.exit.valid()) read({carry.next}, graph[carry.exit].producer);
  }
}

void SetAtPeak(const Graph& graph, const IntraPlan& intra,
               const std::vector<MemoryCategory>& categories,
               std::vector<PlanInstruction>& instructions) {
  // The largest come first.
  for (ValueId value : intra.peak.live) {
    const int64_t bytes = intra.bytes[value.index()];
    if (bytes == 0) continue;
    std::optional<PlanResident>& resident = instructions[graph[value].producer.index()].at_peak;
    if (!resident.has_value()) resident.emplace().category = categories[value.index()];
    resident->bytes += bytes;
  }
}

std::vector<std::string> ReducedAxes(const PlannedOp& op, const Mesh& mesh) {
  std::vector<std::string> axes;
  for (size_t a = 0; a < op.strategy.size(); ++a) {
    if (op.strategy[a] == kNoFactor) continue;
    if (op.rule.factors[op.strategy[a]].kind == FactorKind::kReduction)
      axes.push_back(mesh.axes[a].name);
  }
  return axes;
}

std::vector<std::vector<PlanSpec>> ToSpecs(const std::vector<Movements::Path>& paths,
                                           const Mesh& mesh) {
  std::vector<std::vector<PlanSpec>> specs;
  for (const Movements::Path& path : paths) {
    std::vector<PlanSpec>& steps = specs.emplace_back();
    for (const Sharding& step : path) steps.push_back(ToSpec(step, mesh));
  }
  return specs;
}

}  // namespace

void AddInstructions(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                     const OpRoles& roles, const std::vector<MemoryCategory>& categories,
                     Plan& plan) {
  std::vector<PlanInstruction>& instructions = plan.program.instructions;
  instructions.resize(graph.ops.size());
  StringTable op_names(plan.program.op_names), source_files(plan.program.source_files);
  const Movements movements = FindMovements(graph, mesh, intra);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const PlannedOp& planned = intra.ops[i];
    PlanInstruction& instruction = instructions[i];
    instruction.name = op.name;
    instruction.opcode = OpcodeOf(op);
    SetTypes(graph, op, instruction);
    SetOperands(graph, op.operands, instruction);
    const Metadata& metadata = op.instruction->metadata;
    if (!metadata.op_name.empty()) instruction.op_name = op_names.Position(metadata.op_name);
    if (const auto [file, line] = SourceOf(*graph.module, metadata); !file.empty())
      instruction.source = {source_files.Position(file), line};
    if (roles.layer[i] >= 0) instruction.layer = roles.layer[i];
    instruction.phase = roles.phase[i];
    if (!op.results.empty()) {
      const int32_t dimension = roles.batch_dimension[op.results[0].index()];
      if (dimension >= 0) instruction.batch_dimension = dimension;
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      PlanSpec spec = ToSpec(intra.shardings[op.results[r].index()], mesh);
      if (r == 0) {
        instruction.spec = std::move(spec);
      } else {
        instruction.other_specs.push_back(std::move(spec));
      }
    }
    instruction.strategy =
        planned.free ? "free" : StrategyText(planned.rule, planned.strategy, mesh);
    for (const Sharding& sharding : movements.needed[i])
      instruction.operand_specs.push_back(ToSpec(sharding, mesh));
    for (const Sharding& sharding : movements.computed[i])
      instruction.computed_specs.push_back(ToSpec(sharding, mesh));
    instruction.operand_paths = ToSpecs(movements.operand_paths[i], mesh);
    instruction.result_paths = ToSpecs(movements.result_paths[i], mesh);
    if (const auto& shared = movements.shared[i]; shared.has_value())
      instruction.shared_spec = ToSpec(*shared, mesh);
    instruction.pending_axes = AxisNames(movements.pending[i], mesh);
    instruction.reduced_axes = ReducedAxes(planned, mesh);
    instruction.executions = ToCount(op.multiplicity);
    instruction.seconds = planned.compute_seconds * op.multiplicity;
  }
  SetCarries(graph, instructions);
  SetAtPeak(graph, intra, categories, instructions);
  for (const PlannedCollective& collective : intra.collectives) {
    PlanCollective& needed = instructions[collective.user.index()].collective.emplace_back(
        ToCollective(collective, mesh));
    if (collective.value.valid()) needed.value = graph[graph[collective.value].producer].name;
  }
}

}  // namespace meshwright
