#include "meshwright/export/launch_filter.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {

absl::StatusOr<std::vector<const ExportTarget*>> ParseLaunchTargets(std::string_view list) {
  std::vector<const ExportTarget*> targets;
  for (const absl::string_view name : absl::StrSplit(ToAbsl(list), ',')) {
    MW_ASSIGN_OR_RETURN(const ExportTarget* const target,
                        FindExportTarget(FromAbsl(name), "--for"));
    if (target->check_model == nullptr) {
      return absl::InvalidArgumentError(
          StrCat("--for: ", target->name, " launches plans of programs, not of models"));
    }
    if (std::find(targets.begin(), targets.end(), target) != targets.end()) {
      return absl::InvalidArgumentError(StrCat("--for: ", target->name, " is there twice"));
    }
    targets.push_back(target);
  }
  return targets;
}

absl::StatusOr<std::function<bool(const transformer::Configuration&)>> LaunchFilter(
    const std::vector<const ExportTarget*>& targets, ModelLaunch launch) {
  for (const ExportTarget* const target : targets) {
    MW_RETURN_IF_ERROR(CheckTargetTakesModel(launch, *target, "--for"));
  }
  // Which rules hold depends on the number of GPUs, and searches run on several threads.
  struct Launches {
    std::mutex mutex;
    std::map<int64_t, ModelLaunch> by_gpus;
  };
  return [targets, launch = std::move(launch),
          launches = std::make_shared<Launches>()](const transformer::Configuration& c) {
    const int64_t gpus = c.tp * c.cp * c.dp * c.pp;
    const ModelLaunch* on = nullptr;
    {
      const std::lock_guard lock(launches->mutex);
      const auto [place, is_new] = launches->by_gpus.try_emplace(gpus, launch);
      if (is_new) {
        place->second.nodes = 1;
        place->second.devices_per_node = gpus;
      }
      on = &place->second;
    }
    return std::all_of(targets.begin(), targets.end(), [&](const ExportTarget* target) {
      Findings findings(/*wording=*/false);
      target->check_configuration(*on, c, findings);
      return findings.ok();
    });
  };
}

}  // namespace meshwright
