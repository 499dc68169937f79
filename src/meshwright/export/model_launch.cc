#include "meshwright/export/model_launch.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

using transformer::Configuration;
// As many as `plan` takes; batches in tokens stay below 2^63.
constexpr int64_t kMostSequences = int64_t{1} << 30;

// Degrees whose meaning the writers here know. Another one may not be as it usually is.
constexpr std::array<std::string_view, 34> kKnownDegrees = {"tp",
                                                            "tp2",
                                                            "panels",
                                                            "sequence_parallel",
                                                            "cp",
                                                            "context",
                                                            "dp",
                                                            "pp",
                                                            "virtual_stages",
                                                            "schedule",
                                                            "ends_as_layers",
                                                            "ep",
                                                            "etp",
                                                            "micro_batch",
                                                            "zero",
                                                            "shard",
                                                            "recompute",
                                                            "recompute_layers",
                                                            "recompute_stages",
                                                            "precision",
                                                            "inside.tp",
                                                            "inside.tp2",
                                                            "inside.cp",
                                                            "inside.dp",
                                                            "inside.pp",
                                                            "unit.tp",
                                                            "unit.tp2",
                                                            "unit.cp",
                                                            "unit.dp",
                                                            "unit.pp",
                                                            "offload_optimizer",
                                                            "offload_percent",
                                                            "offload_activations",
                                                            "offload_layers"};

absl::Status CheckDegrees(const Configuration& c) {
  const Configuration usual;
  for (const transformer::Degree& degree : transformer::DegreeTable()) {
    const int64_t value = degree.value(c);
    const bool count = degree.words.empty() && degree.least == 1;
    if (count && (value < 1 || value > kMaxDevices)) {
      return absl::InvalidArgumentError(StrCat("$.transformer.configuration.", degree.name,
                                               ": found ", value, ", expected from 1 to ",
                                               kMaxDevices));
    }
    if (degree.name.empty() || value == degree.value(usual)) continue;
    if (std::find(kKnownDegrees.begin(), kKnownDegrees.end(), degree.name) == kKnownDegrees.end()) {
      return absl::InvalidArgumentError(
          StrCat("the plan decides ", degree.name, " = ", ValueText(degree, value),
                 ", which export does not know how to hand to any framework; plan again without "
                 "it"));
    }
  }
  if (c.offload_percent % transformer::kOffloadStep != 0) {
    return absl::InvalidArgumentError(StrCat("$.transformer.configuration.offload_percent: found ",
                                             c.offload_percent, ", expected a multiple of ",
                                             transformer::kOffloadStep));
  }
  return absl::OkStatus();
}

absl::StatusOr<transformer::Model> ReadDescription(const PlanTransformer& part, bool huggingface) {
  if (part.description.empty()) {
    return absl::InvalidArgumentError(
        "$.transformer.description is empty, so the model's sizes are not known; plan again");
  }
  return huggingface ? transformer::ReadHuggingFaceConfig(part.description, part.model)
                     : transformer::ReadShortForm(part.description, part.model);
}

// What the plan's reader leaves open because only the degrees of a launch depend on it.
absl::Status CheckBatch(const ModelLaunch& launch) {
  const Configuration& c = launch.configuration;
  if (launch.workload.global_batch < 1 || launch.workload.global_batch > kMostSequences ||
      launch.workload.sequence < 1 || launch.workload.sequence > transformer::kMaxSequence) {
    return absl::InvalidArgumentError(
        StrCat("$.transformer: found a global_batch of ", launch.workload.global_batch,
               " and a sequence of ", launch.workload.sequence, ", expected from 1 to ",
               kMostSequences, " and to ", transformer::kMaxSequence));
  }
  // Whether they fit the batch and the devices, targets say by their rules.
  const double product = static_cast<double>(c.tp) * static_cast<double>(c.cp) *
                         static_cast<double>(c.dp) * static_cast<double>(c.pp);
  if (product > static_cast<double>(kMaxDevices) && !launch.over_groups.has_value()) {
    return absl::InvalidArgumentError(StrCat("$.transformer.configuration: tp x cp x dp x pp is ",
                                             product, ", expected at most ", kMaxDevices));
  }
  if (c.virtual_stages > transformer::kMaxLayers || c.pp > transformer::kMaxLayers) {
    return absl::InvalidArgumentError(StrCat("$.transformer.configuration: pp ", c.pp, " x ",
                                             c.virtual_stages,
                                             " virtual stages are more than any model has layers"));
  }
  return absl::OkStatus();
}

// Stages follow one another, as the plan's reader says; it does not know the model's layers.
absl::Status CheckStageLayers(const Plan& plan, const transformer::Model& model) {
  const int64_t layers = plan.stages().back().end_layer;
  if (layers == model.layers()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("$.stages[", plan.stages().size() - 1,
                                           "].end_layer: found ", layers, ", expected the ",
                                           Counted(model.layers(), "layer"), " of ", model.name));
}

}  // namespace

void ModelLaunch::SetDescription(std::string text) {
  description = std::move(text);
  const size_t first = description.find_first_not_of(" \t\r\n");
  is_huggingface = first != std::string::npos && description[first] == '{';
}

absl::StatusOr<NodeCounts> CountNodes(const Plan& plan) {
  if (plan.cluster.parts.size() > 1) {
    return absl::InvalidArgumentError(
        StrCat("the cluster ", plan.cluster.name, " has ",
               Counted(static_cast<int64_t>(plan.cluster.parts.size()), "type"),
               " of nodes; all ranks of a launch share their tp, dp and pp, and torchrun starts as "
               "many processes on every node, so export takes plans for one type: plan for a part "
               "of it"));
  }
  return NodeCounts{plan.cluster.parts[0].nodes, plan.cluster.parts[0].devices_per_node};
}

absl::StatusOr<ModelLaunch> ReadModelLaunch(const Plan& plan, int64_t alternative) {
  if (!plan.of_model()) {
    return absl::InvalidArgumentError(
        "the plan is of a program, not of a model; --to jax launches it");
  }
  const PlanTransformer& part = *plan.model;
  if (alternative > static_cast<int64_t>(part.alternatives.size())) {
    return absl::InvalidArgumentError(
        StrCat("--alternative: found ", alternative, ", but the plan has ",
               Counted(static_cast<int64_t>(part.alternatives.size()), "alternative"),
               "; 0 is its best, and plan --top N lists more"));
  }
  ModelLaunch launch;
  if (plan.groups.has_value()) {
    launch.over_groups = ReadStagesOverGroups(plan);
    launch.ranks = launch.over_groups->ranks;
    launch.device = plan.stages()[0].device;
  } else {
    MW_ASSIGN_OR_RETURN(const NodeCounts counts, CountNodes(plan));
    launch.device = plan.cluster.parts[0].device;
    launch.ranks = EqualNodes(launch.device, counts.nodes, counts.devices_per_node);
  }
  launch.budget_bytes = plan.budget_bytes;
  const int64_t processes = launch.ranks.equal_processes();
  launch.nodes = processes > 0 ? launch.ranks.nodes() : 1;
  launch.devices_per_node = processes > 0 ? processes : launch.ranks.processes();
  launch.SetDescription(part.description);
  MW_ASSIGN_OR_RETURN(launch.model, ReadDescription(part, launch.is_huggingface));
  MW_RETURN_IF_ERROR(CheckModel(launch.model));
  launch.model.name = part.model;
  if (const auto* const framework = transformer::FindFramework(part.framework);
      part.mtp.has_value() || (framework != nullptr && !framework->trains_mtp)) {
    launch.model.mtp.modules = std::min(part.mtp.value_or(0), launch.model.mtp.modules);
  }
  launch.workload = {.sequence = part.sequence, .global_batch = part.global_batch};
  launch.configuration =
      alternative == 0 ? part.configuration : part.alternatives[alternative - 1].configuration;
  launch.state = {.gradient_bytes = static_cast<double>(part.state.gradient_bytes),
                  .moment_bytes = static_cast<double>(part.state.moment_bytes),
                  .logit_bytes = part.state.logit_bytes};
  MW_RETURN_IF_ERROR(CheckDegrees(launch.configuration));
  MW_RETURN_IF_ERROR(CheckBatch(launch));
  MW_RETURN_IF_ERROR(CheckSequence(launch.model, launch.workload.sequence));
  if (launch.over_groups.has_value()) MW_RETURN_IF_ERROR(CheckStageLayers(plan, launch.model));
  return launch;
}

}  // namespace meshwright
