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
#include "meshwright/degrees/framework.h"
#include "meshwright/export/usual_choices.h"

namespace meshwright {
namespace {

// A launch on each number of GPUs, which decides on the rules that hold. Searches run on several
// threads.
class LaunchesByGpus {
 public:
  explicit LaunchesByGpus(ModelLaunch launch) : launch_(std::move(launch)) {}

  const ModelLaunch& On(int64_t gpus) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = by_gpus_.try_emplace(gpus, launch_);
    if (is_new) {
      place->second.nodes = 1;
      place->second.devices_per_node = gpus;
    }
    return place->second;
  }

 private:
  const ModelLaunch launch_;
  std::mutex mutex_;
  std::map<int64_t, ModelLaunch> by_gpus_;
};

bool TakesConfiguration(const ExportTarget& target, const ModelLaunch& launch,
                        const transformer::Configuration& c) {
  Findings findings(/*wording=*/false);
  target.check_configuration(launch, c, findings);
  return findings.ok();
}

}  // namespace

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
    Findings findings(/*wording=*/true);
    RequireState(launch.state, target->writes_state, findings);
    if (!findings.ok()) {
      return absl::InvalidArgumentError(
          StrCat("no plan is for --for ", target->name, ": ", findings.sentences().front()));
    }
  }
  const auto launches = std::make_shared<LaunchesByGpus>(std::move(launch));
  return [targets, launches](const transformer::Configuration& c) {
    const ModelLaunch& on = launches->On(c.gpus());
    return std::all_of(targets.begin(), targets.end(), [&](const ExportTarget* target) {
      return TakesConfiguration(*target, on, c);
    });
  };
}

std::vector<const ExportTarget*> TargetsOfFrameworks(const ModelLaunch& launch) {
  std::vector<const ExportTarget*> targets;
  for (const ExportTarget& target : ExportTargets()) {
    // Others run a program of the user's own.
    if (target.check_model == nullptr || transformer::FindFramework(target.name) == nullptr)
      continue;
    Findings findings(/*wording=*/false);
    target.check_model(launch, findings);
    RequireState(launch.state, target.writes_state, findings);
    if (findings.ok()) targets.push_back(&target);
  }
  return targets;
}

std::function<bool(const transformer::Configuration&)> AnyLaunchFilter(
    const std::vector<const ExportTarget*>& targets, ModelLaunch launch) {
  const auto launches = std::make_shared<LaunchesByGpus>(std::move(launch));
  return [targets, launches](const transformer::Configuration& c) {
    const ModelLaunch& on = launches->On(c.gpus());
    return std::any_of(targets.begin(), targets.end(), [&](const ExportTarget* target) {
      const bool script = target->needs_script != nullptr && target->needs_script(on, c);
      // Some models are run by programs of the user's own in any configuration.
      const bool always = script && target->needs_script(on, transformer::Configuration());
      return script == always && TakesConfiguration(*target, on, c);
    });
  };
}

bool RunsOwnProgram(const Plan& plan, const ExportTarget& target) {
  const absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(plan, 0);
  return launch.ok() && target.needs_script != nullptr &&
         target.needs_script(*launch, launch->configuration);
}

}  // namespace meshwright
