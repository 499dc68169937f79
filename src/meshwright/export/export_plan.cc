#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/nearest_plan.h"
#include "meshwright/export/node_launcher.h"
#include "meshwright/export/target.h"
#include "meshwright/plan/plan_json.h"
#include "meshwright/transformer/fixes.h"

namespace meshwright {
namespace {

using transformer::Configuration;

// Sentences that every layer adds to are many; the first few say what is wrong.
constexpr size_t kMostSentences = 6;

std::string Sentences(const Findings& findings) {
  std::vector<std::string> shown;
  for (const std::string& sentence : findings.sentences()) {
    if (std::find(shown.begin(), shown.end(), sentence) == shown.end()) shown.push_back(sentence);
  }
  const size_t more = shown.size() > kMostSentences ? shown.size() - kMostSentences : 0;
  shown.resize(shown.size() - more);
  return absl::StrCat(absl::StrJoin(shown, "; "), more > 0 ? "; ..." : "");
}

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

// The first of the plan's alternatives that the target can express, 0 if none.
int64_t FirstAlternative(const Plan& plan, const ExportTarget& target) {
  const auto count = static_cast<int64_t>(plan.transformer->alternatives.size());
  for (int64_t i = 1; i <= count; ++i) {
    const absl::StatusOr<ModelLaunch> other = ReadModelLaunch(plan, i);
    if (!other.ok()) continue;
    Findings findings(/*wording=*/false);
    target.check_configuration(*other, other->configuration, findings);
    if (findings.ok()) return i;
  }
  return 0;
}

std::string FixOf(const Configuration& from, const Configuration& to) {
  std::vector<std::string> fixes;
  for (const char* const key : {"tp",
                                "sp",
                                "cp",
                                "dp",
                                "pp",
                                "vp",
                                "schedule",
                                "ep",
                                "etp",
                                "mbs",
                                "zero",
                                "shard",
                                "recompute",
                                "recompute_layers",
                                "recompute_stages",
                                "context",
                                "ends",
                                "tensor",
                                "place",
                                "offload_optimizer",
                                "offload_activations"}) {
    fixes.push_back(StrCat(key, "=", transformer::FixValue(to, key)));
  }
  for (const char* const key : {"offload_percent", "offload_layers"}) {
    const std::string value = transformer::FixValue(to, key);
    if (value != "0") fixes.push_back(StrCat(key, "=", value));
  }
  std::string text = absl::StrCat("--fix ", absl::StrJoin(fixes, ","));
  if (from.precision != to.precision) {
    StrAppend(&text, " --dtype ", transformer::PrecisionName(to.precision));
  }
  return text;
}

absl::Status RefuseConfiguration(const Plan& plan, const ModelLaunch& launch,
                                 const ExportTarget& target, const Findings& findings) {
  std::string text =
      absl::StrCat("--to ", target.name, " cannot express ",
                   transformer::ConfigurationText(launch.configuration), ": ", Sentences(findings));
  if (launch.over_groups.has_value()) {
    absl::StrAppend(&text, "; plan --for ", target.name, " finds the best that it can");
    return absl::InvalidArgumentError(text);
  }
  const std::optional<Configuration> nearest = NearestExpressible(launch, target);
  if (!nearest.has_value()) {
    absl::StrAppend(&text, "; nor any other configuration on ",
                    launch.nodes * launch.devices_per_node, " GPUs");
    return absl::InvalidArgumentError(text);
  }
  absl::StrAppend(&text, "; the nearest that it can is ", transformer::ConfigurationText(*nearest),
                  " (", ChangesText(launch.configuration, *nearest), "): plan with ",
                  FixOf(launch.configuration, *nearest), " (or with --for ", target.name,
                  " for the best that it can)");
  const int64_t alternative = FirstAlternative(plan, target);
  if (alternative > 0) {
    const double seconds = plan.transformer->alternatives[alternative - 1].step_seconds;
    absl::StrAppend(&text, "; of this plan's alternatives the best that it can is number ",
                    alternative,
                    absl::StrFormat(", whose step takes %.3g times as long: --alternative ",
                                    seconds / plan.step_seconds),
                    alternative);
  }
  return absl::InvalidArgumentError(text);
}

// Whether the target can run the stages of a plan over groups of nodes.
absl::Status CheckTakesGroups(const ModelLaunch& launch, const ExportTarget& target) {
  const StagesOverGroups& over = *launch.over_groups;
  Findings findings(/*wording=*/true);
  switch (target.groups) {
    case TakesGroups::kAny:
      return absl::OkStatus();
    case TakesGroups::kAlike:
      findings.Require(
          over.same_degrees,
          "groups: all ranks share tp, dp and the micro-batch, and here groups of nodes "
          "have their own");
      findings.Require(over.ranks.equal_processes() > 0,
                       "groups: every node runs equally many processes, and here some of their "
                       "devices are left over or nodes differ");
      findings.Require(over.in_order,
                       "groups: ranks follow the pipeline, and here a node has stages that do not "
                       "follow each other");
      break;
    case TakesGroups::kNone:
      findings.Require(false,
                       "groups: its stages are all alike, and those of a plan over groups of "
                       "nodes have layers of their own");
  }
  if (findings.ok()) return absl::OkStatus();
  std::vector<std::string> takers;
  for (const ExportTarget& other : ExportTargets()) {
    if (other.groups != TakesGroups::kNone) takers.emplace_back(other.name);
  }
  const std::string hint =
      target.groups == TakesGroups::kAlike
          ? StrCat("plan with --for ", target.name,
                   ", or export with --to slurm to run a program of ", "your own")
          : StrCat("targets that take plans over groups of nodes are ",
                   absl::StrJoin(takers, ", "));
  return absl::InvalidArgumentError(
      StrCat("--to ", target.name, " cannot express this plan: ", Sentences(findings), "; ", hint));
}

absl::StatusOr<Artefacts> ExportModel(const Plan& plan, const ExportTarget& target,
                                      int64_t alternative, const ExportOptions& options) {
  MW_ASSIGN_OR_RETURN(const ModelLaunch launch, ReadModelLaunch(plan, alternative));
  MW_RETURN_IF_ERROR(CheckTargetTakesModel(launch, target, "--to"));
  if (launch.over_groups.has_value()) MW_RETURN_IF_ERROR(CheckTakesGroups(launch, target));
  // What has degrees of its own in every stage is no configuration.
  if (!launch.over_groups.has_value() || target.groups != TakesGroups::kAny) {
    Findings configuration(/*wording=*/true);
    target.check_configuration(launch, launch.configuration, configuration);
    if (!configuration.ok()) return RefuseConfiguration(plan, launch, target, configuration);
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
             " in any configuration: ", Sentences(findings),
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

absl::StatusOr<Artefacts> ExportPlan(const Plan& plan, const ExportTarget& target,
                                     int64_t alternative, const ExportOptions& options) {
  MW_RETURN_IF_ERROR(CheckNoUnknownDecision(PlanToJson(plan)));
  if (plan.transformer.has_value()) {
    if (target.write_model != nullptr) return ExportModel(plan, target, alternative, options);
    return absl::InvalidArgumentError(absl::StrCat(
        "--to ", target.name, " launches plans of programs, this one is of the model ",
        plan.transformer->model, "; plan a program for it, or see --help for targets of models"));
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
