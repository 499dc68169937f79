#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/export/group_rules.h"
#include "meshwright/export/node_launcher.h"
#include "meshwright/export/refusal.h"
#include "meshwright/export/target.h"
#include "meshwright/export/usual_choices.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {

// One for each source file.
ExportTarget MegatronTarget();
ExportTarget TorchtitanTarget();
ExportTarget DeepSpeedTarget();
ExportTarget AccelerateTarget();
ExportTarget NemoTarget();
ExportTarget SlurmTarget();
ExportTarget JaxTarget();

namespace {

// Other targets that take the model.
std::string OthersFor(const ModelLaunch& launch) {
  std::vector<std::string> names;
  for (const ExportTarget& target : ExportTargets()) {
    if (target.check_model == nullptr) continue;
    Findings findings(/*wording=*/false);
    target.check_model(launch, findings);
    if (findings.ok()) names.emplace_back(target.name);
  }
  return absl::StrJoin(names, ", ");
}

// What keeps a target that takes the model from launching it as planned.
void CheckLaunch(const ModelLaunch& launch, const ExportTarget& target,
                 const ExportOptions& options, Findings& findings) {
  const bool over_groups = launch.over_groups.has_value();
  if (over_groups) CheckTakesGroups(launch, target, findings);
  // What has degrees of its own in every stage is no configuration.
  if (findings.ok() && (!over_groups || target.groups != TakesGroups::kAny)) {
    target.check_configuration(launch, launch.configuration, findings);
  }
  RequireState(launch.state, target.writes_state, findings);
  if (findings.ok() && !over_groups) CheckRunsAsItIs(launch, target, options, findings);
}

absl::StatusOr<Artefacts> ExportModel(const Plan& plan, const ExportTarget& target,
                                      int64_t alternative, const ExportOptions& options) {
  MW_ASSIGN_OR_RETURN(const ModelLaunch launch, ReadModelLaunch(plan, alternative));
  MW_RETURN_IF_ERROR(CheckTargetTakesModel(launch, target, "--to"));
  Findings findings(/*wording=*/true);
  CheckLaunch(launch, target, options, findings);
  if (!findings.ok()) {
    return launch.over_groups.has_value()
               ? RefuseGroups(plan, launch, target, options, findings)
               : RefuseConfiguration(plan, launch, target, options, findings);
  }
  MW_RETURN_IF_ERROR(CheckLaunchOptions(options, launch.ranks));
  return target.write_model(launch, options);
}

}  // namespace

const std::vector<ExportTarget>& ExportTargets() {
  static const auto* const kTargets = new std::vector<ExportTarget>{
      MegatronTarget(), TorchtitanTarget(), DeepSpeedTarget(), AccelerateTarget(),
      NemoTarget(),     SlurmTarget(),      JaxTarget()};
  return *kTargets;
}

std::string ExportTargetNames() {
  return absl::StrJoin(ExportTargets(), ", ", [](std::string* out, const ExportTarget& target) {
    absl::StrAppend(out, target.name);
  });
}

absl::Status CheckTargetTakesModel(const ModelLaunch& launch, const ExportTarget& target,
                                   std::string_view option) {
  Findings findings(/*wording=*/true);
  target.check_model(launch, findings);
  if (findings.ok()) return absl::OkStatus();
  const std::string others = OthersFor(launch);
  return absl::InvalidArgumentError(
      StrCat(option, " ", target.name, " cannot express ", launch.model.name,
             " in any configuration: ", SentencesText(findings),
             others.empty() ? "" : absl::StrCat("; targets that take this model: ", others)));
}

absl::StatusOr<const ExportTarget*> FindExportTarget(std::string_view name,
                                                     std::string_view option) {
  std::vector<std::string> names;
  for (const ExportTarget& target : ExportTargets()) {
    if (target.name == name) return &target;
    names.emplace_back(target.name);
  }
  return absl::InvalidArgumentError(StrCat(option, ": found \"", name, "\", did you mean \"",
                                           NearestName(name, names), "\"? Targets are ",
                                           ExportTargetNames()));
}

std::vector<std::string> TargetsThatLaunch(const Plan& plan) {
  std::vector<std::string> names;
  const absl::StatusOr<ModelLaunch> launch =
      plan.of_model() ? ReadModelLaunch(plan, 0) : absl::NotFoundError("a program");
  for (const ExportTarget& target : ExportTargets()) {
    if (!plan.of_model()) {
      if (target.write_program != nullptr) names.emplace_back(target.name);
      continue;
    }
    if (!launch.ok() || target.check_model == nullptr) continue;
    Findings findings(/*wording=*/false);
    target.check_model(*launch, findings);
    if (findings.ok()) CheckLaunch(*launch, target, {}, findings);
    if (findings.ok()) names.emplace_back(target.name);
  }
  if (plan.of_model()) {
    std::stable_partition(names.begin(), names.end(),
                          [&](const std::string& name) { return name == plan.model->framework; });
  }
  return names;
}

absl::StatusOr<Artefacts> ExportPlan(const Plan& plan, const ExportTarget& target,
                                     int64_t alternative, const ExportOptions& options) {
  if (plan.of_model()) {
    if (target.write_model != nullptr) return ExportModel(plan, target, alternative, options);
    return absl::InvalidArgumentError(absl::StrCat(
        "--to ", target.name, " launches plans of programs, this one is of the model ",
        plan.model->model, "; plan a program for it, or see --help for targets of models"));
  }
  if (target.write_program == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--to ", target.name,
                     " launches plans of models (meshwright plan MODEL), this one is of a program; "
                     "--to jax launches it"));
  }
  if (alternative > 0) {
    return absl::InvalidArgumentError("--alternative: plans of programs have none");
  }
  return target.write_program(plan, options);
}

}  // namespace meshwright
