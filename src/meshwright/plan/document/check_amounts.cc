#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/document_checks.h"

// What figures of a document may be, beyond what their members' lists say: parts are no more than
// the whole, and a mesh has the devices of its cluster.

namespace meshwright {
namespace {

// Of a step, whose parts are no differences.
absl::Status CheckStepParts(const PlanStepParts& parts, const std::string& path) {
  absl::Status status;
  PlanStepParts::VisitMembers(parts, [&](const char* key, double seconds, MemberForm) {
    if (!status.ok() || seconds >= 0) return;
    status = JsonErrorAt(StrCat(path, ".", key), "found ", seconds,
                         ", expected a number from 0 to ", MemberForm().most);
  });
  return status;
}

// The categories are parts of `whole`.
absl::Status CheckMemory(const MemoryByCategory& memory, int64_t whole, const std::string& of,
                         const std::string& path) {
  int64_t left = whole;
  for (size_t c = 0; c < memory.size(); ++c) {
    if (memory[c] > left) {
      return JsonErrorAt(
          absl::StrCat(path, ".memory_by_category.", kWords<MemoryCategory>[c].data()),
          absl::StrFormat("found %d, with which the categories are more than %s; expected at most "
                          "%d in all",
                          memory[c], of, whole));
    }
    left -= memory[c];
  }
  return absl::OkStatus();
}

// The stages of a pipeline have devices of their own.
absl::Status CheckMesh(const Plan& plan) {
  if (plan.pipeline.has_value()) return absl::OkStatus();
  double devices = 1;
  for (const PlanAxis& axis : plan.mesh) devices *= static_cast<double>(axis.size);
  const int64_t wanted = plan.cluster.parts[0].devices();
  if (devices == static_cast<double>(wanted)) return absl::OkStatus();
  return JsonErrorAt("$.mesh.axes",
                     absl::StrFormat("found a mesh of %.6g devices, expected the %d of the cluster",
                                     devices, wanted));
}

// The step is the sum of what it is used for.
absl::Status CheckTimeUse(const Plan& plan) {
  constexpr double kRounding = 1e-6;
  if (!plan.time_use.has_value()) return absl::OkStatus();
  double sum = 0;
  PlanTimeUse::VisitMembers(*plan.time_use,
                            [&](const char*, double seconds, MemberForm) { sum += seconds; });
  if (std::abs(sum - plan.step_seconds) <= kRounding * plan.step_seconds) return absl::OkStatus();
  return JsonErrorAt("$.time_use", absl::StrFormat("its parts are %.6g s together, expected the "
                                                   "%.6g s of step_seconds",
                                                   sum, plan.step_seconds));
}

// So is that of the classes of work, but for the bubble, which is no work.
absl::Status CheckTimeClasses(const Plan& plan) {
  constexpr double kRounding = 1e-6;
  if (plan.time_classes.empty()) return absl::OkStatus();
  double sum = 0;
  for (const PlanTimeClass& one : plan.time_classes) sum += one.seconds;
  const double work = plan.step_seconds - (plan.time_use.has_value() ? plan.time_use->bubble : 0);
  if (std::abs(sum - work) <= kRounding * plan.step_seconds) return absl::OkStatus();
  return JsonErrorAt("$.time_classes", absl::StrFormat("they are %.6g s together, expected the "
                                                       "%.6g s of step_seconds without the bubble",
                                                       sum, work));
}

}  // namespace

absl::Status CheckAmounts(const Plan& plan) {
  MW_RETURN_IF_ERROR(CheckTimeUse(plan));
  MW_RETURN_IF_ERROR(CheckTimeClasses(plan));
  MW_RETURN_IF_ERROR(CheckMesh(plan));
  MW_RETURN_IF_ERROR(CheckMemory(plan.memory_by_category, plan.peak_bytes, "peak_bytes", "$"));
  if (plan.pipeline.has_value()) {
    const std::vector<PlanStage>& stages = plan.pipeline->stages;
    for (size_t i = 0; i < stages.size(); ++i) {
      MW_RETURN_IF_ERROR(CheckMemory(stages[i].memory_by_category, stages[i].bytes.peak_of_group,
                                     "bytes.peak_of_group", StrCat("$.stages[", i, "]")));
    }
  }
  return plan.of_model() ? CheckStepParts(plan.model->seconds, "$.transformer.seconds")
                         : absl::OkStatus();
}

}  // namespace meshwright
