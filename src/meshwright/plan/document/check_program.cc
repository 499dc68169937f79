#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/plan/document/document_checks.h"

namespace meshwright {
namespace {

// Names of mesh axes in specs and collectives: they exist, and each is used once in one array.
class AxisChecker {
 public:
  explicit AxisChecker(const std::vector<PlanAxis>& mesh) {
    for (const PlanAxis& axis : mesh) known_.insert(axis.name);
    text_ = absl::StrJoin(mesh, ", ",
                          [](std::string* out, const PlanAxis& axis) { out->append(axis.name); });
  }

  absl::Status CheckSpec(const PlanSpec& spec, absl::string_view path) const {
    absl::flat_hash_set<std::string_view> used;
    for (size_t d = 0; d < spec.size(); ++d) {
      MW_RETURN_IF_ERROR(CheckAxes(spec[d], absl::StrCat(path, "[", d, "]"), used));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAxes(const std::vector<std::string>& axes, absl::string_view path) const {
    absl::flat_hash_set<std::string_view> used;
    return CheckAxes(axes, path, used);
  }

  absl::Status CheckCollectives(const std::vector<PlanCollective>& list,
                                absl::string_view path) const {
    for (size_t i = 0; i < list.size(); ++i) {
      MW_RETURN_IF_ERROR(CheckAxes(list[i].axes, absl::StrCat(path, "[", i, "].axes")));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckAxes(const std::vector<std::string>& axes, absl::string_view path,
                         absl::flat_hash_set<std::string_view>& used) const {
    for (const std::string& axis : axes) {
      if (!known_.contains(axis)) {
        return JsonErrorAt(path,
                           absl::StrCat("the mesh has no axis \"", axis, "\"; it has ", text_));
      }
      if (!used.insert(axis).second) {
        return JsonErrorAt(path, absl::StrCat("axis \"", axis, "\" is used twice"));
      }
    }
    return absl::OkStatus();
  }

  absl::flat_hash_set<std::string_view> known_;
  std::string text_;
};

// All axes that a program names.
absl::Status CheckAxes(const AxisChecker& checker, const ProgramPart& program,
                       const std::string& path) {
  MW_RETURN_IF_ERROR(
      checker.CheckCollectives(program.collectives, absl::StrCat(path, ".collectives")));
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    MW_RETURN_IF_ERROR(checker.CheckSpec(program.parameters[i].spec,
                                         absl::StrCat(path, ".parameters[", i, "].spec")));
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    MW_RETURN_IF_ERROR(
        checker.CheckSpec(program.outputs[i].spec, absl::StrCat(path, ".outputs[", i, "].spec")));
  }
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const PlanInstruction& instruction = program.instructions[i];
    const std::string at = absl::StrCat(path, ".instructions[", i, "]");
    MW_RETURN_IF_ERROR(checker.CheckSpec(instruction.spec, absl::StrCat(at, ".spec")));
    for (const auto& [key, specs] : {std::pair{".other_specs[", &instruction.other_specs},
                                     std::pair{".operand_specs[", &instruction.operand_specs},
                                     std::pair{".computed_specs[", &instruction.computed_specs}}) {
      for (size_t r = 0; r < specs->size(); ++r) {
        MW_RETURN_IF_ERROR(checker.CheckSpec((*specs)[r], absl::StrCat(at, key, r, "]")));
      }
    }
    for (const auto& [key, paths] : {std::pair{".operand_paths[", &instruction.operand_paths},
                                     std::pair{".result_paths[", &instruction.result_paths}}) {
      for (size_t k = 0; k < paths->size(); ++k) {
        for (size_t i = 0; i < (*paths)[k].size(); ++i) {
          MW_RETURN_IF_ERROR(
              checker.CheckSpec((*paths)[k][i], absl::StrCat(at, key, k, "][", i, "]")));
        }
      }
    }
    if (instruction.shared_spec.has_value()) {
      MW_RETURN_IF_ERROR(
          checker.CheckSpec(*instruction.shared_spec, absl::StrCat(at, ".shared_spec")));
    }
    MW_RETURN_IF_ERROR(
        checker.CheckAxes(instruction.pending_axes, absl::StrCat(at, ".pending_axes")));
    MW_RETURN_IF_ERROR(
        checker.CheckAxes(instruction.reduced_axes, absl::StrCat(at, ".reduced_axes")));
    MW_RETURN_IF_ERROR(
        checker.CheckCollectives(instruction.collective, absl::StrCat(at, ".collective")));
  }
  return absl::OkStatus();
}

absl::Status CheckPosition(int64_t position, size_t size, absl::string_view what,
                           const std::string& path) {
  if (static_cast<uint64_t>(position) < size) return absl::OkStatus();
  return JsonErrorAt(path, size == 0 ? absl::StrCat("found ", position, ", but there are no ", what)
                                     : absl::StrCat("found ", position, ", but the ", what,
                                                    " are numbered from 0 to ", size - 1));
}

// The spec of something with that shape.
absl::Status CheckDimensions(const PlanSpec& spec, const std::vector<int64_t>& shape,
                             const std::string& path) {
  if (spec.size() == shape.size()) return absl::OkStatus();
  return JsonErrorAt(StrCat(path, ".spec"), "found ", spec.size(),
                     " dimensions, but the shape has ", shape.size());
}

absl::Status CheckInstruction(const ProgramPart& program, size_t i, const std::string& path) {
  const PlanInstruction& instruction = program.instructions[i];
  const std::string at = absl::StrCat(path, ".instructions[", i, "]");
  MW_RETURN_IF_ERROR(CheckDimensions(instruction.spec, instruction.type.shape, at));
  if (instruction.batch_dimension.has_value() &&
      static_cast<uint64_t>(*instruction.batch_dimension) >= instruction.type.shape.size()) {
    return JsonErrorAt(StrCat(at, ".batch_dimension"), "found ", *instruction.batch_dimension,
                       ", but the shape has ", instruction.type.shape.size(), " dimensions");
  }
  const bool loops = instruction.opcode == PlanOpcode::kLoopParameter;
  for (size_t k = 0; k < instruction.operands.size(); ++k) {
    const std::string operand = absl::StrCat(at, ".operands[", k, "]");
    MW_RETURN_IF_ERROR(CheckPosition(instruction.operands[k], program.instructions.size(),
                                     "instructions", operand));
    if (static_cast<size_t>(instruction.operands[k]) >= i && !(loops && k == 1)) {
      return JsonErrorAt(operand, absl::StrCat("found ", instruction.operands[k],
                                               ", expected an instruction before ", i));
    }
  }
  if (!instruction.operand_results.empty() &&
      instruction.operand_results.size() != instruction.operands.size()) {
    return JsonErrorAt(absl::StrCat(at, ".operand_results"), "expected a number for each operand");
  }
  if (instruction.op_name.has_value()) {
    MW_RETURN_IF_ERROR(CheckPosition(*instruction.op_name, program.op_names.size(), "op_names",
                                     absl::StrCat(at, ".op_name")));
  }
  if (instruction.source.has_value()) {
    MW_RETURN_IF_ERROR(CheckPosition(instruction.source->file, program.source_files.size(),
                                     "source_files", absl::StrCat(at, ".source[0]")));
  }
  return absl::OkStatus();
}

absl::Status CheckStepTimeline(const ProgramPart& program, const std::string& path) {
  if (!program.step_timeline.has_value()) return absl::OkStatus();
  const PlanStepTimeline& timeline = *program.step_timeline;
  if (timeline.start.size() != program.instructions.size()) {
    return JsonErrorAt(StrCat(path, ".start"), "found ", timeline.start.size(),
                       ", expected a time for each of the ", program.instructions.size(),
                       " instructions");
  }
  for (size_t r = 0; r < timeline.collectives.size(); ++r) {
    const PlanCollectiveRun& run = timeline.collectives[r];
    const std::string at = StrCat(path, ".collectives[", r, "]");
    if (run.instructions.size() != run.positions.size())
      return JsonErrorAt(at, "its lists are not equally long");
    for (size_t i = 0; i < run.instructions.size(); ++i) {
      MW_RETURN_IF_ERROR(CheckPosition(run.instructions[i], program.instructions.size(),
                                       "instructions", StrCat(at, ".instructions[", i, "]")));
      MW_RETURN_IF_ERROR(CheckPosition(
          run.positions[i],
          program.instructions[static_cast<size_t>(run.instructions[i])].collective.size(),
          "collectives of the instruction", StrCat(at, ".positions[", i, "]")));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReferences(const ProgramPart& program, const std::string& path) {
  for (const auto& [key, tensors] :
       {std::pair{".parameters[", &program.parameters}, std::pair{".outputs[", &program.outputs}}) {
    for (size_t i = 0; i < tensors->size(); ++i) {
      const PlanTensor& tensor = (*tensors)[i];
      MW_RETURN_IF_ERROR(CheckDimensions(tensor.spec, tensor.shape, StrCat(path, key, i, "]")));
    }
  }
  for (size_t i = 0; i < program.instructions.size(); ++i)
    MW_RETURN_IF_ERROR(CheckInstruction(program, i, path));
  MW_RETURN_IF_ERROR(CheckStepTimeline(program, StrCat(path, ".step_timeline")));
  if (!program.memory_timeline.has_value()) return absl::OkStatus();
  const std::vector<PlanMemoryPoint>& points = program.memory_timeline->points;
  for (size_t i = 0; i < points.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckPosition(points[i].instruction, program.instructions.size(),
                                     "instructions",
                                     absl::StrCat(path, ".memory_timeline.instruction[", i, "]")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckProgram(const std::vector<PlanAxis>& mesh, const ProgramPart& program,
                          const std::string& path) {
  MW_RETURN_IF_ERROR(CheckAxes(AxisChecker(mesh), program, path));
  return CheckReferences(program, path);
}

}  // namespace meshwright
