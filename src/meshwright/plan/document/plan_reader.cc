#include "meshwright/plan/document/plan_reader.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {

absl::Status ReadJson(const InputJson& json, const std::string& path, MemoryCategory& value) {
  std::string name;
  MW_RETURN_IF_ERROR(ReadJson(json, path, name));
  const std::optional<MemoryCategory> category = MemoryCategoryFromName(name);
  if (!category.has_value()) {
    std::vector<absl::string_view> names;
    for (size_t i = 0; i < kMemoryCategories; ++i) {
      names.push_back(ToAbsl(MemoryCategoryName(static_cast<MemoryCategory>(i))));
    }
    return JsonErrorAt(path, absl::StrCat("unknown category \"", name, "\", expected one of ",
                                          absl::StrJoin(names, ", ")));
  }
  value = *category;
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, InputFile& value) {
  MW_RETURN_IF_ERROR(ObjectReader(json, path)
                         .Member("path", value.path)
                         .Member("kind", value.kind)
                         .Member("sha256", value.sha256)
                         .Finish());
  const bool is_hash = value.sha256.size() == 64 &&
                       value.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash)
    return JsonErrorAt(absl::StrCat(path, ".sha256"), "expected 64 lower-case hex digits");
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanOptions& value) {
  return ObjectReader(json, path)
      .Member("mesh", value.mesh)
      .Member("memory", value.memory)
      .Member("pipeline", value.pipeline)
      .Member("micro_batches", value.micro_batches)
      .Member("schedule", value.schedule)
      .Member("layers", value.layers)
      .Member("data", value.data)
      .Member("recompute", value.recompute)
      .Member("cost_model", value.cost_model)
      .Member("rest", value.rest)
      .Amount("deadline_seconds", value.deadline_seconds)
      .Member("threads", value.threads)
      .Member("seed", value.seed)
      .Member("fixes", value.fixes)
      .OptionalMember("database", value.database)
      .Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanClusterPart& value) {
  MW_RETURN_IF_ERROR(ObjectReader(json, path)
                         .Member("device", value.device)
                         .Member("nodes", value.nodes)
                         .Member("devices_per_node", value.devices_per_node)
                         .Member("device_memory_bytes", value.device_memory_bytes)
                         .Finish());
  const double devices =
      static_cast<double>(value.nodes) * static_cast<double>(value.devices_per_node);
  if (devices >= 1 && devices <= kMaxDevices) return absl::OkStatus();
  return JsonErrorAt(path, StrCat("found ", Counted(value.nodes, "node"), " of ",
                                  Counted(value.devices_per_node, "device"),
                                  ", expected from 1 to ", kMaxDevices, " devices"));
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanCluster& value) {
  MW_RETURN_IF_ERROR(
      ObjectReader(json, path).Member("name", value.name).Member("parts", value.parts).Finish());
  if (value.parts.empty())
    return JsonErrorAt(absl::StrCat(path, ".parts"), "found none, expected at least one");
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanAxis& value) {
  MW_RETURN_IF_ERROR(
      ObjectReader(json, path).Member("name", value.name).Member("size", value.size).Finish());
  if (value.size < 1)
    return JsonErrorAt(absl::StrCat(path, ".size"), "found 0, expected at least 1");
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, MeshMember& value) {
  MW_RETURN_IF_ERROR(ObjectReader(json, path).Member("axes", value.axes).Finish());
  absl::flat_hash_set<std::string_view> names;
  for (const PlanAxis& axis : value.axes) {
    if (!names.insert(axis.name).second) {
      return JsonErrorAt(path, absl::StrCat("two axes have the name \"", axis.name, "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, MemoryMember& value) {
  ObjectReader reader(json, path);
  for (size_t i = 0; i < value.bytes.size(); ++i) {
    reader.Member(MemoryCategoryName(static_cast<MemoryCategory>(i)).data(), value.bytes[i]);
  }
  return reader.Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanCollective& value) {
  return ObjectReader(json, path)
      .Member("kind", value.kind)
      .Member("axes", value.axes)
      .Member("count", value.count)
      .Member("bytes_per_device", value.bytes_per_device)
      .Amount("seconds", value.seconds)
      .OptionalMember("value", value.value)
      .Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanTensor& value) {
  MW_RETURN_IF_ERROR(ObjectReader(json, path)
                         .Member("index", value.index)
                         .Member("name", value.name)
                         .Member("dtype", value.dtype)
                         .Member("shape", value.shape)
                         .Member("spec", value.spec)
                         .Member("bytes_per_device", value.bytes_per_device)
                         .Member("category", value.category)
                         .Finish());
  if (value.spec.size() != value.shape.size()) {
    return JsonErrorAt(absl::StrCat(path, ".spec"),
                       absl::StrFormat("found %d dimensions, but the shape has %d",
                                       value.spec.size(), value.shape.size()));
  }
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, Plan& value) {
  MeshMember mesh{value.mesh};
  MemoryMember memory{value.memory_by_category};
  return ObjectReader(json, path)
      .Member("schema", value.schema)
      .Member("tool_version", value.tool_version)
      .Member("inputs", value.inputs)
      .Member("options", value.options)
      .Member("cluster", value.cluster)
      .Member("mesh", mesh)
      .Amount("objective_seconds", value.objective_seconds)
      .Amount("bound_seconds", value.bound_seconds)
      .Amount("gap", value.gap, 1)
      .Amount("compute_seconds", value.compute_seconds)
      .Amount("communication_seconds", value.communication_seconds)
      .Amount("step_seconds", value.step_seconds)
      .Member("peak_bytes", value.peak_bytes)
      .Member("budget_bytes", value.budget_bytes)
      .Member("peak_at", value.peak_at)
      .Member("memory_by_category", memory)
      .Member("collectives", value.collectives)
      .Member("parameters", value.parameters)
      .Member("outputs", value.outputs)
      .Member("op_names", value.op_names)
      .Member("source_files", value.source_files)
      .Member("instructions", value.instructions)
      .Member("memory_timeline", value.memory_timeline)
      .Member("schedule", value.schedule)
      .Member("micro_batches", value.micro_batches)
      .Member("chunks", value.chunks)
      .Amount("bubble_share", value.bubble_share, 1)
      .Member("stages", value.stages)
      .Member("cross_stage", value.cross_stage)
      .OptionalMember("transformer", value.transformer)
      .OptionalMember("segments", value.segments)
      .OptionalMember("profile", value.profile)
      .Member("warnings", value.warnings)
      .Amount("planning_seconds", value.planning_seconds)
      .Finish();
}

namespace {

// Tables add these up.
absl::Status CheckParameterBytes(const Plan& plan) {
  int64_t left = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const int64_t bytes = plan.parameters[i].bytes_per_device;
    if (bytes > left) {
      return JsonErrorAt(absl::StrCat("$.parameters[", i, "].bytes_per_device"),
                         "the parameters are more than 2^63 - 1 bytes together");
    }
    left -= bytes;
  }
  return absl::OkStatus();
}

// The degrees are those of the cluster, and every pipeline group has its memory.
absl::Status CheckTransformer(const Plan& plan) {
  if (!plan.transformer.has_value()) return absl::OkStatus();
  const transformer::Configuration& degrees = plan.transformer->configuration;
  const size_t groups = plan.transformer->memory.size();
  if (groups == 0 || static_cast<double>(groups) != static_cast<double>(degrees.pp)) {
    return JsonErrorAt("$.transformer.memory",
                       StrCat("found ", Counted(static_cast<int64_t>(groups), "group"),
                              ", but pp is ", degrees.pp));
  }
  if (plan.transformer->over_groups.has_value()) return CheckOverGroups(plan);
  double gpus = 1;
  for (const int64_t degree : {degrees.tp, degrees.cp, degrees.dp, degrees.pp}) {
    gpus *= static_cast<double>(degree);
  }
  const auto devices = static_cast<double>(plan.cluster.parts[0].devices());
  if (gpus == devices) return absl::OkStatus();
  return JsonErrorAt("$.transformer.configuration",
                     absl::StrFormat("tp x cp x dp x pp is %.0f, but the cluster has %.0f devices",
                                     gpus, devices));
}

// Of something with basis, seconds and samples.
template <typename Part>
absl::Status CheckBasis(const Part& part, const std::string& path) {
  if (part.basis != "measured" && part.basis != "predicted") {
    return JsonErrorAt(absl::StrCat(path, ".basis"),
                       absl::StrCat("found \"", part.basis, "\", expected measured or predicted"));
  }
  if ((part.basis == "measured") != (part.samples > 0)) {
    return JsonErrorAt(absl::StrCat(path, ".samples"),
                       absl::StrCat("found ", part.samples, ", though ", part.basis));
  }
  if (part.seconds < 0 || part.spread < 0)
    return JsonErrorAt(path, "seconds and their spread are not negative");
  if (part.occurrences < 1)
    return JsonErrorAt(absl::StrCat(path, ".occurrences"), "found 0, expected at least 1");
  return absl::OkStatus();
}

absl::Status CheckProfile(const Plan& plan) {
  if (!plan.profile.has_value()) {
    return plan.segments.empty()
               ? absl::OkStatus()
               : JsonErrorAt("$.segments", "found some, but there is no key \"profile\"");
  }
  for (size_t i = 0; i < plan.segments.size(); ++i)
    MW_RETURN_IF_ERROR(CheckBasis(plan.segments[i], absl::StrCat("$.segments[", i, "]")));
  const std::vector<PlanBorderMove>& moves = plan.profile->moves;
  for (size_t i = 0; i < moves.size(); ++i)
    MW_RETURN_IF_ERROR(CheckBasis(moves[i], absl::StrCat("$.profile.moves[", i, "]")));
  if (const std::optional<PlanMeasuredStep>& step = plan.profile->step; step.has_value()) {
    if (step->seconds < 0 || step->spread < 0 || step->composed_seconds < 0)
      return JsonErrorAt("$.profile.step", "seconds and their spread are not negative");
    if (step->samples < 1) {
      return JsonErrorAt("$.profile.step.samples",
                         absl::StrCat("found ", step->samples, ", expected at least 1"));
    }
  }
  return absl::OkStatus();
}

// Before anything else is looked at: another version has other keys.
absl::Status CheckSchema(const InputJson& json) {
  if (!json.is_object()) return WrongJsonType(json, "$", "an object");
  const auto schema = json.find("schema");
  if (schema == json.end())
    return JsonErrorAt("$", "the key \"schema\" is missing; this is no plan");
  int64_t version = 0;
  MW_RETURN_IF_ERROR(ReadJson(*schema, "$.schema", version));
  if (version != kPlanSchema) {
    return JsonErrorAt(
        "$.schema", absl::StrFormat("found version %d; this program reads version %d only", version,
                                    kPlanSchema));
  }
  return absl::OkStatus();
}

absl::StatusOr<Plan> ReadDocument(const InputJson& json) {
  MW_RETURN_IF_ERROR(CheckSchema(json));
  Plan plan;
  MW_RETURN_IF_ERROR(ReadJson(json, "$", plan));
  MW_RETURN_IF_ERROR(CheckAxes(plan, "$"));
  MW_RETURN_IF_ERROR(CheckReferences(plan, "$"));
  MW_RETURN_IF_ERROR(CheckParameterBytes(plan));
  MW_RETURN_IF_ERROR(CheckPipeline(plan));
  MW_RETURN_IF_ERROR(CheckTransformer(plan));
  MW_RETURN_IF_ERROR(CheckAmounts(plan));
  MW_RETURN_IF_ERROR(CheckProfile(plan));
  return plan;
}

}  // namespace

absl::StatusOr<Plan> ParsePlanJson(std::string_view text, std::string_view file) {
  MW_ASSIGN_OR_RETURN(const InputJson json, ParseInputJson(text, file));
  absl::StatusOr<Plan> plan = ReadDocument(json);
  if (plan.ok()) return plan;
  return absl::Status(plan.status().code(), StrCat(file, ": ", plan.status().message()));
}

}  // namespace meshwright
