// Slurm and torchrun around a program of the user's own, which finds the plan's degrees in its
// environment.

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/export/layer_split.h"
#include "meshwright/export/node_launcher.h"
#include "meshwright/export/quoting.h"
#include "meshwright/export/target.h"
#include "meshwright/export/usual_choices.h"

namespace meshwright {
namespace {

using transformer::Configuration;

// Whether the model can be trained by these degrees at all. Where GPUs lie, ranks say.
absl::Status CheckPossible(const ModelLaunch& launch, Configuration c) {
  c.inside = c.unit = {};
  Cluster cluster;
  cluster.nodes = launch.nodes;
  cluster.devices_per_node = launch.devices_per_node;
  MW_RETURN_IF_ERROR(CheckConfiguration(launch.model, launch.workload, cluster, c));
  const bool interleaved = c.schedule == transformer::PipelineKind::kInterleaved;
  if (interleaved == (c.virtual_stages > 1) && (c.pp > 1 || c.virtual_stages == 1)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat(c.virtual_stages, " virtual stages under ", PipelineKindName(c.schedule), " with pp ",
             c.pp, "; valid: several when interleaved with pp of at least 2, else 1"));
}

// The program runs what it likes: nothing of a plan is beyond it but what contradicts itself.
void CheckSlurmModel(const ModelLaunch&, Findings&) {}
void CheckSlurmConfiguration(const ModelLaunch& launch, const Configuration& c,
                             Findings& findings) {
  RequireUsualChoices(c, findings);
  RequireEveryLayer(c, findings);
  RequireUsualRanks(c, findings);
  RequireNoOffload(c, findings);
  findings.Require(c.tp * c.cp * c.dp * c.pp == launch.nodes * launch.devices_per_node,
                   "degrees: tp x cp x dp x pp must be all GPUs");
  findings.Require(launch.workload.global_batch % (c.micro_batch * c.dp) == 0,
                   "batch: micro-batch ", c.micro_batch, " x dp ", c.dp,
                   " must divide the global batch of ", launch.workload.global_batch);
  if (!findings.ok() || launch.over_groups.has_value()) return;
  const absl::Status possible = CheckPossible(launch, c);
  findings.Require(possible.ok(), "degrees: ", possible.message());
}

// Which layers every stage has, on which ranks: degrees of a plan over groups may differ.
std::string StagesJson(const StagesOverGroups& over) {
  Json stages = Json::array();
  int64_t first = 0;
  for (const StagesOverGroups::Stage& stage : over.stages) {
    stages.push_back({{"first_layer", first},
                      {"end_layer", first + stage.layers},
                      {"device", stage.device},
                      {"tp", stage.tp},
                      {"dp", stage.dp},
                      {"micro_batch", stage.micro_batch},
                      {"ranks", stage.ranks}});
    first += stage.layers;
  }
  const Json document = {{"stages", std::move(stages)}};
  return document.dump(1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

std::string PlanEnvironment(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  const bool differing = launch.over_groups.has_value() && !launch.over_groups->same_degrees;
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    StrAppend(&text, "export MESHWRIGHT_", name, "=", ShellWord(StrCat(value)), "\n");
  };
  add("MODEL", launch.model.name);
  if (launch.over_groups.has_value()) add("STAGES", "stages.json");
  // Of stages with degrees of their own only stages.json tells these.
  if (!differing) {
    add("TP", c.tp);
    add("SEQUENCE_PARALLEL", c.sequence_parallel ? 1 : 0);
  }
  add("CP", c.cp);
  add("CONTEXT", ContextKindName(c.context));
  if (!differing) add("DP", c.dp);
  add("PP", c.pp);
  add("VIRTUAL_STAGES", c.virtual_stages);
  add("SCHEDULE", PipelineKindName(c.schedule));
  add("EP", c.ep);
  add("ETP", c.etp);
  if (!differing) add("MICRO_BATCH", c.micro_batch);
  add("MICRO_BATCHES", launch.MicroBatches(c));
  add("GLOBAL_BATCH", launch.workload.global_batch);
  add("SEQUENCE", launch.workload.sequence);
  add("ZERO", c.zero);
  add("SHARD", c.shard);
  add("RECOMPUTE", RecomputeName(c.recompute));
  add("PRECISION", PrecisionName(c.precision));
  return text;
}

absl::StatusOr<Artefacts> WriteSlurm(const ModelLaunch& launch, const ExportOptions& options) {
  NodeLaunch node = LaunchOf(launch, "");
  node.setup = absl::StrCat(
      RequiredVariable("script", options.script, "SCRIPT",
                       "set it to your training program, or export with --script"),
      "[ -f \"$script\" ] || fail \"there is no $script\"\n\n",
      "# What the plan decided. The program has to follow it.\n", PlanEnvironment(launch));
  node.torchrun = "\"$script\"";
  Artefacts files = NodeLaunchFiles(node, options);
  if (launch.over_groups.has_value()) {
    files.push_back({"stages.json", StagesJson(*launch.over_groups), false});
  }
  return files;
}

}  // namespace

ExportTarget SlurmTarget() {
  return {.name = "slurm",
          .summary = "Slurm and torchrun around your own program, the plan in its environment",
          .check_model = &CheckSlurmModel,
          .check_configuration = &CheckSlurmConfiguration,
          .write_model = &WriteSlurm,
          .write_program = nullptr,
          .options = {"--script"},
          .groups = TakesGroups::kAny};
}

}  // namespace meshwright
