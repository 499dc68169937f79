#include "meshwright/export/model_launch.h"

#include <algorithm>
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
#include "meshwright/degrees/fixes.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

using transformer::Configuration;
// As many as `plan` takes; batches in tokens stay below 2^63.
constexpr int64_t kMostSequences = int64_t{1} << 30;

// Keys of the plan whose meaning the writers here know, or that tell what was found and not what is
// to be done.
constexpr std::initializer_list<const char*> kPlanKeys = {
    "schema",           "tool_version",  "inputs",       "options",
    "cluster",          "mesh",          "gap",          "objective_seconds",
    "bound_seconds",    "step_seconds",  "peak_bytes",   "compute_seconds",
    "budget_bytes",     "peak_at",       "collectives",  "communication_seconds",
    "parameters",       "outputs",       "instructions", "memory_by_category",
    "schedule",         "micro_batches", "chunks",       "bubble_share",
    "stages",           "cross_stage",   "transformer",  "warnings",
    "planning_seconds", "op_names",      "source_files", "memory_timeline",
    "segments",         "profile"};
constexpr std::initializer_list<const char*> kClusterKeys = {"name", "parts"};
constexpr std::initializer_list<const char*> kPartKeys = {"device", "nodes", "devices_per_node",
                                                          "device_memory_bytes"};
constexpr std::initializer_list<const char*> kTransformerKeys = {
    "model",   "description", "parameters",   "model_flops",  "sequence",
    "memory",  "objective",   "global_batch", "seconds",      "configuration",
    "mfu",     "hfu",         "search",       "alternatives", "sensitivity",
    "goodput", "over_groups", "state",        "sweep"};
constexpr std::initializer_list<const char*> kDegreeKeys = {"tp",
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
                                                            "inside",
                                                            "unit",
                                                            "offload_optimizer",
                                                            "offload_percent",
                                                            "offload_activations",
                                                            "offload_layers"};

// Every member of `json` is in `known`, or as it is in `neutral`.
absl::Status CheckKeys(const InputJson& json, const InputJson& neutral, std::string_view where,
                       std::initializer_list<const char*> known) {
  for (const auto& [key, value] : json.items()) {
    const auto is_key = [&key = key](const char* one) { return key == one; };
    if (std::any_of(known.begin(), known.end(), is_key)) continue;
    if (neutral.contains(key) && neutral[key] == value) continue;
    return absl::InvalidArgumentError(
        StrCat("the plan decides ", where, key, " = ", value.dump(),
               ", which export does not know "
               "how to hand to any framework; plan again without it"));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status NotReadable(std::string_view what, const T& value) {
  return absl::InvalidArgumentError(
      StrCat("$.transformer.configuration.", what, ": found \"", value, "\", which is unknown"));
}

transformer::Placement ToPlacement(const PlanPlacement& in) {
  return {.tp = in.tp, .cp = in.cp, .dp = in.dp, .pp = in.pp, .tp2 = in.tp2};
}

absl::StatusOr<Configuration> ToConfiguration(const PlanDegrees& degrees) {
  Configuration c;
  for (const auto& [name, value] : {std::pair{"tp", degrees.tp},
                                    {"tp2", degrees.tp2},
                                    {"cp", degrees.cp},
                                    {"dp", degrees.dp},
                                    {"pp", degrees.pp},
                                    {"virtual_stages", degrees.virtual_stages},
                                    {"ep", degrees.ep},
                                    {"etp", degrees.etp},
                                    {"micro_batch", degrees.micro_batch}}) {
    if (value >= 1 && value <= kMaxDevices) continue;
    return absl::InvalidArgumentError(StrCat("$.transformer.configuration.", name, ": found ",
                                             value, ", expected from 1 to ", kMaxDevices));
  }
  const std::optional<transformer::Recompute> recompute =
      transformer::FindRecompute(degrees.recompute);
  if (!recompute.has_value()) return NotReadable("recompute", degrees.recompute);
  const std::optional<transformer::ContextKind> context =
      transformer::FindContextKind(degrees.context);
  if (!context.has_value()) return NotReadable("context", degrees.context);
  const std::optional<transformer::PipelineKind> schedule =
      transformer::FindPipelineKind(degrees.schedule);
  if (!schedule.has_value()) return NotReadable("schedule", degrees.schedule);
  const absl::StatusOr<transformer::Precision> precision =
      transformer::ParsePrecision(degrees.precision);
  if (!precision.ok()) return NotReadable("precision", degrees.precision);
  if (degrees.zero > 3) return NotReadable("zero", degrees.zero);
  if (degrees.offload_percent >= 100 || degrees.offload_percent % transformer::kOffloadStep != 0) {
    return NotReadable("offload_percent", degrees.offload_percent);
  }
  c.tp = degrees.tp;
  c.sequence_parallel = degrees.sequence_parallel;
  c.cp = degrees.cp;
  c.tp2 = degrees.tp2;
  c.panels = degrees.panels;
  c.context = *context;
  c.ends_as_layers = degrees.ends_as_layers;
  c.inside = ToPlacement(degrees.inside);
  c.unit = ToPlacement(degrees.unit);
  c.offload_optimizer = degrees.offload_optimizer;
  c.offload_percent = degrees.offload_percent;
  c.offload_activations = degrees.offload_activations;
  c.offload_layers = degrees.offload_layers;
  c.dp = degrees.dp;
  c.pp = degrees.pp;
  c.virtual_stages = degrees.virtual_stages;
  c.schedule = *schedule;
  c.ep = degrees.ep;
  c.etp = degrees.etp;
  c.micro_batch = degrees.micro_batch;
  c.zero = static_cast<int>(degrees.zero);
  c.shard = degrees.shard;
  c.recompute = *recompute;
  c.recompute_layers = degrees.recompute_layers;
  c.recompute_stages = degrees.recompute_stages;
  c.precision = *precision;
  return c;
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
  const int64_t layers = plan.stages.back().end_layer;
  if (layers == model.layers()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("$.stages[", plan.stages.size() - 1,
                                           "].end_layer: found ", layers, ", expected the ",
                                           Counted(model.layers(), "layer"), " of ", model.name));
}

}  // namespace

absl::Status CheckNoUnknownDecision(std::string_view plan_json) {
  const InputJson json = InputJson::parse(plan_json);
  const InputJson empty = InputJson::parse(PlanToJson(Plan()));
  MW_RETURN_IF_ERROR(CheckKeys(json, empty, "", kPlanKeys));
  MW_RETURN_IF_ERROR(CheckKeys(json["cluster"], empty["cluster"], "cluster.", kClusterKeys));
  for (const InputJson& part : json["cluster"]["parts"]) {
    MW_RETURN_IF_ERROR(CheckKeys(part, empty["cluster"]["parts"][0], "cluster.parts.", kPartKeys));
  }
  if (!json.contains("transformer")) return absl::OkStatus();
  Plan neutral;
  neutral.transformer.emplace().alternatives.emplace_back();
  const InputJson none = InputJson::parse(PlanToJson(neutral))["transformer"];
  const InputJson& part = json["transformer"];
  MW_RETURN_IF_ERROR(CheckKeys(part, none, "transformer.", kTransformerKeys));
  MW_RETURN_IF_ERROR(CheckKeys(part["configuration"], none["configuration"],
                               "transformer.configuration.", kDegreeKeys));
  for (const InputJson& alternative : part["alternatives"]) {
    MW_RETURN_IF_ERROR(CheckKeys(alternative["configuration"], none["configuration"],
                                 "transformer.alternatives.configuration.", kDegreeKeys));
  }
  return absl::OkStatus();
}

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
  if (!plan.transformer.has_value()) {
    return absl::InvalidArgumentError(
        "the plan is of a program, not of a model; --to jax launches it");
  }
  const PlanTransformer& part = *plan.transformer;
  if (alternative > static_cast<int64_t>(part.alternatives.size())) {
    return absl::InvalidArgumentError(
        StrCat("--alternative: found ", alternative, ", but the plan has ",
               Counted(static_cast<int64_t>(part.alternatives.size()), "alternative"),
               "; 0 is its best, and plan --top N lists more"));
  }
  ModelLaunch launch;
  if (part.over_groups.has_value()) {
    launch.over_groups = ReadStagesOverGroups(plan);
    launch.ranks = launch.over_groups->ranks;
    launch.device = plan.stages[0].device;
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
  launch.workload = {.sequence = part.sequence, .global_batch = part.global_batch};
  MW_ASSIGN_OR_RETURN(
      launch.configuration,
      ToConfiguration(alternative == 0 ? part.configuration
                                       : part.alternatives[alternative - 1].configuration));
  MW_RETURN_IF_ERROR(CheckBatch(launch));
  MW_RETURN_IF_ERROR(CheckSequence(launch.model, launch.workload.sequence));
  if (launch.over_groups.has_value()) MW_RETURN_IF_ERROR(CheckStageLayers(plan, launch.model));
  return launch;
}

}  // namespace meshwright
