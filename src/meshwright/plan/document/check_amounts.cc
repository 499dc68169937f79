#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/plan_reader.h"

// What figures of a document may be, beyond what their types say: amounts are not negative, shares
// are at most 1, parts are no more than the whole, and a mesh has the devices of its cluster.

namespace meshwright {
namespace {

constexpr double kMostFlops = 1e30;  // of a step

absl::Status CheckAmount(double value, const std::string& path, double most = kMostCost) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return JsonErrorAt(
      path, absl::StrCat("found ", Json(value).dump(), ", expected a number from 0 to ", most));
}

// The doubles among the members of `value`, shares among them by their names.
template <ListsItsMembers T>
absl::Status CheckAmountsOf(const T& value, const std::string& path) {
  absl::Status status;
  T::VisitMembers(value, [&]<typename Member>(const char* key, const Member& member) {
    if (!status.ok()) return;
    const std::string_view name = key;
    const bool share = name == "mfu" || name == "hfu" || name == "share";
    const double most = share ? 1 : name == "model_flops" ? kMostFlops : kMostCost;
    if constexpr (std::is_same_v<Member, double>) {
      status = CheckAmount(member, absl::StrCat(path, ".", key), most);
    } else if constexpr (std::is_same_v<Member, std::optional<double>>) {
      if (member.has_value()) status = CheckAmount(*member, absl::StrCat(path, ".", key), most);
    }
  });
  return status;
}

template <typename T>
absl::Status CheckListOf(const std::vector<T>& list, const std::string& path) {
  for (size_t i = 0; i < list.size(); ++i)
    MW_RETURN_IF_ERROR(CheckAmountsOf(list[i], absl::StrCat(path, "[", i, "]")));
  return absl::OkStatus();
}

absl::Status CheckTransformerAmounts(const PlanTransformer& part) {
  const std::string path = "$.transformer";
  MW_RETURN_IF_ERROR(CheckAmountsOf(part, path));
  MW_RETURN_IF_ERROR(CheckAmountsOf(part.seconds, path + ".seconds"));
  MW_RETURN_IF_ERROR(CheckListOf(part.alternatives, path + ".alternatives"));
  MW_RETURN_IF_ERROR(CheckListOf(part.sweep, path + ".sweep"));
  for (size_t i = 0; i < part.sensitivity.size(); ++i) {
    const double change = part.sensitivity[i].step_change;
    if (change >= -1 && change <= kMostCost) continue;
    return JsonErrorAt(
        absl::StrCat(path, ".sensitivity[", i, "].step_change"),
        absl::StrCat("found ", Json(change).dump(), ", expected a relative change, from -1 up"));
  }
  if (part.goodput.has_value())
    MW_RETURN_IF_ERROR(CheckAmountsOf(*part.goodput, path + ".goodput"));
  if (!part.over_groups.has_value()) return absl::OkStatus();
  MW_RETURN_IF_ERROR(CheckAmountsOf(*part.over_groups, path + ".over_groups"));
  MW_RETURN_IF_ERROR(CheckListOf(part.over_groups->groups, path + ".over_groups.groups"));
  return CheckListOf(part.over_groups->choices, path + ".over_groups.choices");
}

// The categories are parts of `whole`.
absl::Status CheckMemory(const MemoryByCategory& memory, int64_t whole, const std::string& of,
                         const std::string& path) {
  int64_t left = whole;
  for (size_t c = 0; c < memory.size(); ++c) {
    if (memory[c] > left) {
      const std::string_view name = MemoryCategoryName(static_cast<MemoryCategory>(c));
      return JsonErrorAt(
          absl::StrCat(path, ".memory_by_category.", ToAbsl(name)),
          absl::StrFormat("found %d, with which the categories are more than %s; expected at most "
                          "%d in all",
                          memory[c], of, whole));
    }
    left -= memory[c];
  }
  return absl::OkStatus();
}

// Of plans without stages: those have devices of their own.
absl::Status CheckMesh(const Plan& plan) {
  const bool over_groups =
      plan.transformer.has_value() && plan.transformer->over_groups.has_value();
  if (!plan.stages.empty() || over_groups) return absl::OkStatus();
  double devices = 1;
  for (const PlanAxis& axis : plan.mesh) devices *= static_cast<double>(axis.size);
  const int64_t wanted = plan.cluster.parts[0].devices();
  if (devices == static_cast<double>(wanted)) return absl::OkStatus();
  return JsonErrorAt("$.mesh.axes",
                     absl::StrFormat("found a mesh of %.6g devices, expected the %d of the cluster",
                                     devices, wanted));
}

}  // namespace

absl::Status CheckAmounts(const Plan& plan) {
  MW_RETURN_IF_ERROR(CheckMesh(plan));
  MW_RETURN_IF_ERROR(CheckMemory(plan.memory_by_category, plan.peak_bytes, "peak_bytes", "$"));
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckMemory(plan.stages[i].memory_by_category,
                                   plan.stages[i].bytes.peak_of_group, "bytes.peak_of_group",
                                   absl::StrCat("$.stages[", i, "]")));
  }
  if (plan.profile.has_value()) {
    MW_RETURN_IF_ERROR(CheckAmount(plan.profile->segment_seconds, "$.profile.segment_seconds"));
    MW_RETURN_IF_ERROR(CheckAmount(plan.profile->bound_seconds, "$.profile.bound_seconds"));
    if (plan.profile->step.has_value())
      MW_RETURN_IF_ERROR(CheckAmountsOf(*plan.profile->step, "$.profile.step"));
  }
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckAmount(plan.segments[i].model_seconds,
                                   absl::StrCat("$.segments[", i, "].model_seconds")));
  }
  return plan.transformer.has_value() ? CheckTransformerAmounts(*plan.transformer)
                                      : absl::OkStatus();
}

}  // namespace meshwright
