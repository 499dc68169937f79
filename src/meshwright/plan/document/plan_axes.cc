#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/plan/document/plan_reader.h"

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

// Of a Plan or one of its stages: whatever has a mesh and says how a program lies on it.
template <typename Part>
absl::Status CheckAxesOf(const Part& part, const std::string& path) {
  const AxisChecker checker(part.mesh);
  MW_RETURN_IF_ERROR(
      checker.CheckCollectives(part.collectives, absl::StrCat(path, ".collectives")));
  for (size_t i = 0; i < part.parameters.size(); ++i) {
    MW_RETURN_IF_ERROR(checker.CheckSpec(part.parameters[i].spec,
                                         absl::StrCat(path, ".parameters[", i, "].spec")));
  }
  for (size_t i = 0; i < part.outputs.size(); ++i) {
    MW_RETURN_IF_ERROR(
        checker.CheckSpec(part.outputs[i].spec, absl::StrCat(path, ".outputs[", i, "].spec")));
  }
  for (size_t i = 0; i < part.instructions.size(); ++i) {
    const PlanInstruction& instruction = part.instructions[i];
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

}  // namespace

absl::Status CheckAxes(const Plan& plan, const std::string& path) {
  return CheckAxesOf(plan, path);
}

absl::Status CheckAxes(const PlanStage& stage, const std::string& path) {
  return CheckAxesOf(stage, path);
}

}  // namespace meshwright
