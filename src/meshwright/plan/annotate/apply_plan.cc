#include "meshwright/plan/annotate/apply_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/annotate/annotate.h"
#include "meshwright/plan/annotate/annotate_stablehlo.h"

namespace meshwright {
namespace {

absl::Status OtherProgram(std::string_view difference) {
  return absl::InvalidArgumentError(StrCat("the plan is of another program: ", difference));
}

// The parts of a mesh that shardings refer to.
Mesh MeshOf(const Plan& plan) {
  Mesh mesh;
  for (const PlanAxis& axis : plan.mesh) {
    MeshAxis& made = mesh.axes.emplace_back();
    made.name = axis.name;
    made.size = axis.size;
  }
  return mesh;
}

absl::StatusOr<AxisIndex> FindAxis(const Mesh& mesh, const std::string& name) {
  for (size_t a = 0; a < mesh.rank(); ++a) {
    if (mesh.axes[a].name == name) return static_cast<AxisIndex>(a);
  }
  return absl::InvalidArgumentError(StrCat("the plan's mesh has no axis \"", name, "\""));
}

// `specs` of the values of an operator; none at all, or one for each.
absl::StatusOr<std::vector<Sharding>> ToShardings(const Graph& graph, const Op& op,
                                                  const std::vector<PlanSpec>& specs,
                                                  absl::Span<const ValueId> values,
                                                  const Mesh& mesh) {
  std::vector<Sharding> shardings;
  if (specs.empty()) return shardings;
  if (specs.size() != values.size()) {
    return OtherProgram(StrCat(op.name, " has ", values.size(),
                               " operands or results, in the plan ", specs.size()));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].size() != graph[values[i]].shape.dims.size()) {
      return OtherProgram(StrCat("an operand or result of ", op.name, " has ",
                                 graph[values[i]].shape.dims.size(), " dimensions, in the plan ",
                                 specs[i].size()));
    }
    MW_ASSIGN_OR_RETURN(shardings.emplace_back(), ToSharding(specs[i], mesh));
  }
  return shardings;
}

// `paths` of `values`; none at all, or one for each.
absl::StatusOr<std::vector<Movements::Path>> ToPaths(
    const Graph& graph, const Op& op, const std::vector<std::vector<PlanSpec>>& paths,
    absl::Span<const ValueId> values, const Mesh& mesh) {
  std::vector<Movements::Path> found;
  if (paths.empty()) return found;
  if (paths.size() != values.size()) {
    return OtherProgram(StrCat(op.name, " moves ", values.size(),
                               " operands or results, in the plan ", paths.size()));
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::vector<PlanSpec>& steps = paths[i];
    MW_ASSIGN_OR_RETURN(
        found.emplace_back(),
        ToShardings(graph, op, steps, std::vector<ValueId>(steps.size(), values[i]), mesh));
  }
  return found;
}

// By operator: what its operand_paths are of. That of loop parameters is no operand.
std::vector<std::vector<ValueId>> MovedValues(const Graph& graph) {
  std::vector<std::vector<ValueId>> values;
  for (const Op& op : graph.ops) values.emplace_back(op.operands.begin(), op.operands.end());
  for (const Carry& carry : graph.carries)
    values[graph[carry.parameter].producer.index()] = {carry.init, carry.next};
  return values;
}

}  // namespace

absl::StatusOr<Sharding> ToSharding(const PlanSpec& spec, const Mesh& mesh) {
  Sharding sharding = Sharding::Replicated(static_cast<int64_t>(spec.size()));
  for (size_t d = 0; d < spec.size(); ++d) {
    for (const std::string& name : spec[d]) {
      MW_ASSIGN_OR_RETURN(const AxisIndex axis, FindAxis(mesh, name));
      sharding.dims[d].push_back(axis);
    }
  }
  return sharding;
}

absl::StatusOr<AppliedPlan> ApplyPlan(const Graph& graph, const Plan& plan) {
  if (plan.pipeline.has_value()) {
    return absl::InvalidArgumentError(
        "the plan has a pipeline, which one program cannot follow; --emit DIR writes its stages");
  }
  if (graph.ops.size() != plan.program.instructions.size()) {
    return OtherProgram(StrCat("it has ", plan.program.instructions.size(),
                               " operators, the program ", graph.ops.size()));
  }
  AppliedPlan applied;
  applied.mesh = MeshOf(plan);
  applied.values.resize(graph.values.size());
  const std::vector<std::vector<ValueId>> moved = MovedValues(graph);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const PlanInstruction& instruction = plan.program.instructions[i];
    if (op.name != instruction.name) {
      return OtherProgram(StrCat("operator ", i, " is ", instruction.name, " in the plan and ",
                                 op.name, " in the program"));
    }
    MW_ASSIGN_OR_RETURN(
        applied.movements.needed.emplace_back(),
        ToShardings(graph, op, instruction.operand_specs, op.operands, applied.mesh));
    MW_ASSIGN_OR_RETURN(
        applied.movements.computed.emplace_back(),
        ToShardings(graph, op, instruction.computed_specs, op.results, applied.mesh));
    MW_ASSIGN_OR_RETURN(applied.movements.operand_paths.emplace_back(),
                        ToPaths(graph, op, instruction.operand_paths, moved[i], applied.mesh));
    MW_ASSIGN_OR_RETURN(applied.movements.result_paths.emplace_back(),
                        ToPaths(graph, op, instruction.result_paths, op.results, applied.mesh));
    std::optional<Sharding>& shared = applied.movements.shared.emplace_back();
    if (instruction.shared_spec.has_value()) {
      if (op.results.size() != 1 ||
          instruction.shared_spec->size() != graph[op.results[0]].shape.dims.size()) {
        return OtherProgram(StrCat(op.name, " has no result of ", instruction.shared_spec->size(),
                                   " dimensions, as the plan's has"));
      }
      MW_ASSIGN_OR_RETURN(shared, ToSharding(*instruction.shared_spec, applied.mesh));
    }
    AxisList& pending = applied.movements.pending.emplace_back();
    for (const std::string& name : instruction.pending_axes) {
      MW_ASSIGN_OR_RETURN(pending.emplace_back(), FindAxis(applied.mesh, name));
    }
    std::sort(pending.begin(), pending.end());
    AxisList& reduced = applied.movements.reduced.emplace_back();
    for (const std::string& name : instruction.reduced_axes) {
      MW_ASSIGN_OR_RETURN(reduced.emplace_back(), FindAxis(applied.mesh, name));
    }
    if (op.kind == OpKind::kOutput) {
      MW_ASSIGN_OR_RETURN(Sharding output, ToSharding(instruction.spec, applied.mesh));
      applied.outputs.push_back(std::move(output));
      continue;
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      if (r > instruction.other_specs.size()) {
        return OtherProgram(StrCat("result ", r, " of ", op.name, " is not in the plan"));
      }
      const PlanSpec& spec = r == 0 ? instruction.spec : instruction.other_specs[r - 1];
      const ValueId value = op.results[r];
      if (spec.size() != graph[value].shape.dims.size()) {
        return OtherProgram(StrCat(op.name, " has ", graph[value].shape.dims.size(),
                                   " dimensions, in the plan ", spec.size()));
      }
      MW_ASSIGN_OR_RETURN(applied.values[value.index()], ToSharding(spec, applied.mesh));
    }
  }
  return applied;
}

absl::StatusOr<Module> AnnotateFromPlan(const Program& program, const Plan& plan) {
  MW_ASSIGN_OR_RETURN(const AppliedPlan applied, ApplyPlan(program.graph, plan));
  return AnnotateModule(program.graph, applied.mesh, applied.values, applied.outputs);
}

absl::StatusOr<std::string> AnnotatedFromPlan(const Program& program, const Plan& plan) {
  if (const auto& stablehlo = program.stablehlo) {
    MW_ASSIGN_OR_RETURN(const AppliedPlan applied, ApplyPlan(program.graph, plan));
    return AnnotateStablehlo(stablehlo->text, stablehlo->source, program.graph, applied.mesh,
                             applied.values, applied.outputs, applied.movements);
  }
  MW_ASSIGN_OR_RETURN(const Module module, AnnotateFromPlan(program, plan));
  return WriteInFormat(program.input.kind, module);
}

}  // namespace meshwright
