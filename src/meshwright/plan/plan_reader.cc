#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/plan_json.h"

// One Read function for each type of plan.h. A Reader hands out the members of one JSON object by
// key and remembers which it gave, so that a misspelt key is found as well as a missing one.

namespace meshwright {
namespace {

using InputJson = nlohmann::json;

absl::Status ErrorAt(absl::string_view path, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", message));
}

absl::Status WrongType(const InputJson& json, absl::string_view path, absl::string_view wanted) {
  return ErrorAt(path, absl::StrCat("found ", json.type_name(), ", expected ", wanted));
}

// ---- plain values ----

absl::Status Read(const InputJson& json, const std::string& path, std::string& value) {
  if (!json.is_string()) return WrongType(json, path, "a string");
  value = json.get_ref<const std::string&>();
  return absl::OkStatus();
}

// Counts, sizes and bytes: none is negative.
absl::Status Read(const InputJson& json, const std::string& path, int64_t& value) {
  constexpr const char* kWanted = "an integer from 0 to 2^63 - 1";
  if (!json.is_number_integer()) return WrongType(json, path, kWanted);
  const bool fits = json.is_number_unsigned()
                        ? json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()}
                        : json.get<int64_t>() >= 0;
  if (!fits) return ErrorAt(path, absl::StrCat("found ", json.dump(), ", expected ", kWanted));
  value = json.get<int64_t>();
  return absl::OkStatus();
}

absl::Status Read(const InputJson& json, const std::string& path, uint64_t& value) {
  if (!json.is_number_unsigned()) return WrongType(json, path, "an integer from 0 to 2^64 - 1");
  value = json.get<uint64_t>();
  return absl::OkStatus();
}

absl::Status Read(const InputJson& json, const std::string& path, double& value) {
  if (!json.is_number()) return WrongType(json, path, "a number");
  value = json.get<double>();
  if (!std::isfinite(value)) return ErrorAt(path, "the number is too large");
  return absl::OkStatus();
}

// Declared before what reads optional values and lists of them.
template <ListsItsMembers T>
absl::Status Read(const InputJson& json, const std::string& path, T& value);

template <typename T>
absl::Status Read(const InputJson& json, const std::string& path, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
    return absl::OkStatus();
  }
  return Read(json, path, value.emplace());
}

absl::Status Read(const InputJson& json, const std::string& path, MemoryCategory& value) {
  std::string name;
  MW_RETURN_IF_ERROR(Read(json, path, name));
  const std::optional<MemoryCategory> category = MemoryCategoryFromName(name);
  if (!category.has_value()) {
    std::vector<absl::string_view> names;
    for (size_t i = 0; i < kMemoryCategories; ++i) {
      names.push_back(ToAbsl(MemoryCategoryName(static_cast<MemoryCategory>(i))));
    }
    return ErrorAt(path, absl::StrCat("unknown category \"", name, "\", expected one of ",
                                      absl::StrJoin(names, ", ")));
  }
  value = *category;
  return absl::OkStatus();
}

absl::Status Read(const InputJson& json, const std::string& path, bool& value) {
  if (!json.is_boolean()) return WrongType(json, path, "true or false");
  value = json.get<bool>();
  return absl::OkStatus();
}

// The object {"axes": [...]}.
struct MeshMember {
  std::vector<PlanAxis>& axes;
};

// Declared before the templates that read elements of lists and members of objects.
absl::Status Read(const InputJson& json, const std::string& path, PlanInput& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanAxis& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanCollective& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanTensor& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanInstruction& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanOptions& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanCluster& value);
absl::Status Read(const InputJson& json, const std::string& path, MeshMember& value);
absl::Status Read(const InputJson& json, const std::string& path, MemoryByCategory& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanStageSeconds& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanStageBytes& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanStage& value);
absl::Status Read(const InputJson& json, const std::string& path, PlanTransfer& value);

template <typename T>
absl::Status Read(const InputJson& json, const std::string& path, std::vector<T>& value) {
  if (!json.is_array()) return WrongType(json, path, "a list");
  value.resize(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    MW_RETURN_IF_ERROR(Read(json[i], absl::StrCat(path, "[", i, "]"), value[i]));
  }
  return absl::OkStatus();
}

// ---- objects ----

class Reader {
 public:
  Reader(const InputJson& json, const std::string& path) : json_(json), path_(path) {
    if (!json.is_object()) status_ = WrongType(json, path, "an object");
  }

  template <typename T>
  Reader& Member(const char* key, T& value) {
    if (!status_.ok()) return *this;
    if (!json_.contains(key)) {
      status_ = ErrorAt(path_, absl::StrCat("the key \"", key, "\" is missing"));
      return *this;
    }
    return OptionalMember(key, value);
  }

  template <typename T>
  Reader& OptionalMember(const char* key, T& value) {
    if (!status_.ok()) return *this;
    keys_.push_back(key);
    const auto member = json_.find(key);
    if (member != json_.end()) status_ = Read(*member, absl::StrCat(path_, ".", key), value);
    return *this;
  }

  // The first error, or that the object has a key that nobody asked for.
  absl::Status Finish() const {
    if (!status_.ok()) return status_;
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) {
        return ErrorAt(path_, absl::StrFormat("unknown key %s; the keys here are %s",
                                              InputJson(key).dump(), absl::StrJoin(keys_, ", ")));
      }
    }
    return absl::OkStatus();
  }

 private:
  const InputJson& json_;
  const std::string& path_;
  std::vector<absl::string_view> keys_;
  absl::Status status_;
};

absl::Status Read(const InputJson& json, const std::string& path, PlanInput& value) {
  MW_RETURN_IF_ERROR(Reader(json, path)
                         .Member("path", value.path)
                         .Member("kind", value.kind)
                         .Member("sha256", value.sha256)
                         .Finish());
  const bool is_hash = value.sha256.size() == 64 &&
                       value.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) return ErrorAt(absl::StrCat(path, ".sha256"), "expected 64 lower-case hex digits");
  return absl::OkStatus();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanOptions& value) {
  return Reader(json, path)
      .Member("mesh", value.mesh)
      .Member("pipeline", value.pipeline)
      .Member("cost_model", value.cost_model)
      .Member("deadline_seconds", value.deadline_seconds)
      .Member("threads", value.threads)
      .Member("seed", value.seed)
      .Member("fixes", value.fixes)
      .Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanCluster& value) {
  return Reader(json, path)
      .Member("name", value.name)
      .Member("device", value.device)
      .Member("nodes", value.nodes)
      .Member("devices_per_node", value.devices_per_node)
      .Member("device_memory_bytes", value.device_memory_bytes)
      .Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanAxis& value) {
  MW_RETURN_IF_ERROR(
      Reader(json, path).Member("name", value.name).Member("size", value.size).Finish());
  if (value.size < 1) return ErrorAt(absl::StrCat(path, ".size"), "found 0, expected at least 1");
  return absl::OkStatus();
}

absl::Status Read(const InputJson& json, const std::string& path, MeshMember& value) {
  MW_RETURN_IF_ERROR(Reader(json, path).Member("axes", value.axes).Finish());
  absl::flat_hash_set<std::string_view> names;
  for (const PlanAxis& axis : value.axes) {
    if (!names.insert(axis.name).second) {
      return ErrorAt(path, absl::StrCat("two axes have the name \"", axis.name, "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status Read(const InputJson& json, const std::string& path, MemoryByCategory& value) {
  Reader reader(json, path);
  for (size_t i = 0; i < value.size(); ++i) {
    reader.Member(MemoryCategoryName(static_cast<MemoryCategory>(i)).data(), value[i]);
  }
  return reader.Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanCollective& value) {
  return Reader(json, path)
      .Member("kind", value.kind)
      .Member("axes", value.axes)
      .Member("count", value.count)
      .Member("bytes_per_device", value.bytes_per_device)
      .Member("seconds", value.seconds)
      .OptionalMember("value", value.value)
      .Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanTensor& value) {
  MW_RETURN_IF_ERROR(Reader(json, path)
                         .Member("index", value.index)
                         .Member("name", value.name)
                         .Member("dtype", value.dtype)
                         .Member("shape", value.shape)
                         .Member("spec", value.spec)
                         .Member("bytes_per_device", value.bytes_per_device)
                         .Member("category", value.category)
                         .Finish());
  if (value.spec.size() != value.shape.size()) {
    return ErrorAt(absl::StrCat(path, ".spec"),
                   absl::StrFormat("found %d dimensions, but the shape has %d", value.spec.size(),
                                   value.shape.size()));
  }
  return absl::OkStatus();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanInstruction& value) {
  return Reader(json, path)
      .Member("name", value.name)
      .Member("opcode", value.opcode)
      .Member("spec", value.spec)
      .OptionalMember("other_specs", value.other_specs)
      .OptionalMember("operand_specs", value.operand_specs)
      .OptionalMember("computed_specs", value.computed_specs)
      .OptionalMember("pending_axes", value.pending_axes)
      .Member("strategy", value.strategy)
      .Member("executions", value.executions)
      .Member("seconds", value.seconds)
      .Member("collective", value.collective)
      .Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanStageSeconds& value) {
  return Reader(json, path)
      .Member("forward", value.forward)
      .Member("backward", value.backward)
      .Member("weight_gradient", value.weight_gradient)
      .Member("update", value.update)
      .Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanStageBytes& value) {
  return Reader(json, path)
      .Member("fixed", value.fixed)
      .Member("in_flight", value.in_flight)
      .Member("peak", value.peak)
      .Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanStage& value) {
  MeshMember mesh{value.mesh};
  return Reader(json, path)
      .Member("first_layer", value.first_layer)
      .Member("end_layer", value.end_layer)
      .Member("device", value.device)
      .Member("devices", value.devices)
      .Member("mesh", mesh)
      .Member("recompute", value.recompute)
      .Member("seconds", value.seconds)
      .Member("bytes", value.bytes)
      .Member("max_in_flight", value.max_in_flight)
      .Member("same_as", value.same_as)
      .Member("collectives", value.collectives)
      .Member("parameters", value.parameters)
      .Member("outputs", value.outputs)
      .Member("instructions", value.instructions)
      .Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, PlanTransfer& value) {
  return Reader(json, path)
      .Member("from", value.from)
      .Member("to", value.to)
      .Member("phase", value.phase)
      .Member("bytes_per_device", value.bytes_per_device)
      .Member("seconds", value.seconds)
      .Finish();
}

template <ListsItsMembers T>
absl::Status Read(const InputJson& json, const std::string& path, T& value) {
  Reader reader(json, path);
  T::VisitMembers(value, [&reader](const char* key, auto& member) { reader.Member(key, member); });
  return reader.Finish();
}

absl::Status Read(const InputJson& json, const std::string& path, Plan& value) {
  MeshMember mesh{value.mesh};
  return Reader(json, path)
      .Member("schema", value.schema)
      .Member("tool_version", value.tool_version)
      .Member("inputs", value.inputs)
      .Member("options", value.options)
      .Member("cluster", value.cluster)
      .Member("mesh", mesh)
      .Member("objective_seconds", value.objective_seconds)
      .Member("bound_seconds", value.bound_seconds)
      .Member("gap", value.gap)
      .Member("compute_seconds", value.compute_seconds)
      .Member("communication_seconds", value.communication_seconds)
      .Member("step_seconds", value.step_seconds)
      .Member("peak_bytes", value.peak_bytes)
      .Member("budget_bytes", value.budget_bytes)
      .Member("peak_at", value.peak_at)
      .Member("memory_by_category", value.memory_by_category)
      .Member("collectives", value.collectives)
      .Member("parameters", value.parameters)
      .Member("outputs", value.outputs)
      .Member("instructions", value.instructions)
      .Member("schedule", value.schedule)
      .Member("micro_batches", value.micro_batches)
      .Member("chunks", value.chunks)
      .Member("bubble_share", value.bubble_share)
      .Member("stages", value.stages)
      .Member("cross_stage", value.cross_stage)
      .OptionalMember("transformer", value.transformer)
      .Member("warnings", value.warnings)
      .Member("planning_seconds", value.planning_seconds)
      .Finish();
}

// ---- what holds across the document ----

// Names of mesh axes in specs and collectives: they exist, and each is used once in one array.
class AxisChecker {
 public:
  explicit AxisChecker(const std::vector<PlanAxis>& mesh) {
    for (const PlanAxis& axis : mesh) known_.insert(axis.name);
    text_ = absl::StrJoin(mesh, ", ",
                          [](std::string* out, const PlanAxis& axis) { out->append(axis.name); });
  }

  absl::Status CheckSpec(const PlanSpec& spec, absl::string_view path) const {
    absl::flat_hash_set<std::string_view> used;
    for (size_t d = 0; d < spec.size(); ++d) {
      MW_RETURN_IF_ERROR(CheckAxes(spec[d], absl::StrCat(path, "[", d, "]"), used));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAxes(const std::vector<std::string>& axes, absl::string_view path) const {
    absl::flat_hash_set<std::string_view> used;
    return CheckAxes(axes, path, used);
  }

  absl::Status CheckCollectives(const std::vector<PlanCollective>& list,
                                absl::string_view path) const {
    for (size_t i = 0; i < list.size(); ++i) {
      MW_RETURN_IF_ERROR(CheckAxes(list[i].axes, absl::StrCat(path, "[", i, "].axes")));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckAxes(const std::vector<std::string>& axes, absl::string_view path,
                         absl::flat_hash_set<std::string_view>& used) const {
    for (const std::string& axis : axes) {
      if (!known_.contains(axis)) {
        return ErrorAt(path, absl::StrCat("the mesh has no axis \"", axis, "\"; it has ", text_));
      }
      if (!used.insert(axis).second) {
        return ErrorAt(path, absl::StrCat("axis \"", axis, "\" is used twice"));
      }
    }
    return absl::OkStatus();
  }

  absl::flat_hash_set<std::string_view> known_;
  std::string text_;
};

// Of a Plan or one of its stages: whatever has a mesh and says how a program lies on it.
template <typename Part>
absl::Status CheckAxes(const Part& part, const std::string& path) {
  const AxisChecker checker(part.mesh);
  MW_RETURN_IF_ERROR(
      checker.CheckCollectives(part.collectives, absl::StrCat(path, ".collectives")));
  for (size_t i = 0; i < part.parameters.size(); ++i) {
    MW_RETURN_IF_ERROR(checker.CheckSpec(part.parameters[i].spec,
                                         absl::StrCat(path, ".parameters[", i, "].spec")));
  }
  for (size_t i = 0; i < part.outputs.size(); ++i) {
    MW_RETURN_IF_ERROR(
        checker.CheckSpec(part.outputs[i].spec, absl::StrCat(path, ".outputs[", i, "].spec")));
  }
  for (size_t i = 0; i < part.instructions.size(); ++i) {
    const PlanInstruction& instruction = part.instructions[i];
    const std::string at = absl::StrCat(path, ".instructions[", i, "]");
    MW_RETURN_IF_ERROR(checker.CheckSpec(instruction.spec, absl::StrCat(at, ".spec")));
    for (const auto& [key, specs] : {std::pair{".other_specs[", &instruction.other_specs},
                                     std::pair{".operand_specs[", &instruction.operand_specs},
                                     std::pair{".computed_specs[", &instruction.computed_specs}}) {
      for (size_t r = 0; r < specs->size(); ++r) {
        MW_RETURN_IF_ERROR(checker.CheckSpec((*specs)[r], absl::StrCat(at, key, r, "]")));
      }
    }
    MW_RETURN_IF_ERROR(
        checker.CheckAxes(instruction.pending_axes, absl::StrCat(at, ".pending_axes")));
    MW_RETURN_IF_ERROR(
        checker.CheckCollectives(instruction.collective, absl::StrCat(at, ".collective")));
  }
  return absl::OkStatus();
}

// Stages cover the layers one after the other, on devices that their meshes hold.
absl::Status CheckStages(const Plan& plan) {
  int64_t layer = 0;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const PlanStage& stage = plan.stages[i];
    const std::string path = absl::StrCat("$.stages[", i, "]");
    if (stage.first_layer != layer || stage.end_layer <= layer) {
      return ErrorAt(path, absl::StrFormat("layers [%d, %d) do not follow on layer %d",
                                           stage.first_layer, stage.end_layer, layer));
    }
    layer = stage.end_layer;
    double devices = 1;
    for (const PlanAxis& axis : stage.mesh) devices *= static_cast<double>(axis.size);
    if (devices != static_cast<double>(stage.devices.size())) {
      return ErrorAt(path, absl::StrFormat("%d devices, but the mesh has %.0f",
                                           stage.devices.size(), devices));
    }
    if (stage.same_as.has_value() && *stage.same_as >= static_cast<int64_t>(i))
      return ErrorAt(absl::StrCat(path, ".same_as"), "expected an earlier stage");
    MW_RETURN_IF_ERROR(CheckAxes(stage, path));
  }
  const auto stages = static_cast<int64_t>(plan.stages.size());
  for (size_t i = 0; i < plan.cross_stage.size(); ++i) {
    const PlanTransfer& transfer = plan.cross_stage[i];
    if (transfer.from >= stages || transfer.to >= stages) {
      return ErrorAt(absl::StrCat("$.cross_stage[", i, "]"),
                     absl::StrFormat("there are %d stages", stages));
    }
  }
  if (stages == 0) return absl::OkStatus();
  if (!plan.schedule.has_value())
    return ErrorAt("$.schedule", "found null, expected that of the stages");
  if (plan.micro_batches < 1 || plan.chunks < 1 || stages % plan.chunks != 0)
    return ErrorAt("$",
                   "micro_batches and chunks must be at least 1, and chunks divide the stages");
  return absl::OkStatus();
}

// The degrees are those of the cluster, and every pipeline group has its memory.
absl::Status CheckTransformer(const Plan& plan) {
  if (!plan.transformer.has_value()) return absl::OkStatus();
  const PlanDegrees& degrees = plan.transformer->configuration;
  double gpus = 1;
  for (const int64_t degree : {degrees.tp, degrees.cp, degrees.dp, degrees.pp}) {
    gpus *= static_cast<double>(degree);
  }
  const double devices =
      static_cast<double>(plan.cluster.nodes) * static_cast<double>(plan.cluster.devices_per_node);
  if (gpus != devices) {
    return ErrorAt("$.transformer.configuration",
                   absl::StrFormat("tp x cp x dp x pp is %.0f, but the cluster has %.0f devices",
                                   gpus, devices));
  }
  const size_t groups = plan.transformer->memory.size();
  if (groups == 0 || static_cast<double>(groups) != static_cast<double>(degrees.pp)) {
    return ErrorAt("$.transformer.memory",
                   absl::StrFormat("found %d groups, but pp is %d", groups, degrees.pp));
  }
  return absl::OkStatus();
}

// Before anything else is looked at: another version has other keys.
absl::Status CheckSchema(const InputJson& json) {
  if (!json.is_object()) return WrongType(json, "$", "an object");
  const auto schema = json.find("schema");
  if (schema == json.end()) return ErrorAt("$", "the key \"schema\" is missing; this is no plan");
  int64_t version = 0;
  MW_RETURN_IF_ERROR(Read(*schema, "$.schema", version));
  if (version != kPlanSchema) {
    return ErrorAt("$.schema",
                   absl::StrFormat("found version %d; this program reads version %d only", version,
                                   kPlanSchema));
  }
  return absl::OkStatus();
}

absl::StatusOr<Plan> ReadDocument(const InputJson& json) {
  MW_RETURN_IF_ERROR(CheckSchema(json));
  Plan plan;
  MW_RETURN_IF_ERROR(Read(json, "$", plan));
  MW_RETURN_IF_ERROR(CheckAxes(plan, "$"));
  MW_RETURN_IF_ERROR(CheckStages(plan));
  MW_RETURN_IF_ERROR(CheckTransformer(plan));
  return plan;
}

}  // namespace

absl::StatusOr<Plan> ParsePlanJson(std::string_view text, std::string_view file) {
  InputJson json;
  try {
    json = InputJson::parse(text);
  } catch (const InputJson::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 1: ..." without the tag.
    const std::string what = error.what();
    const size_t tag = what.find("] ");
    return absl::InvalidArgumentError(
        StrCat(file, ": not valid JSON: ", tag == std::string::npos ? what : what.substr(tag + 2)));
  }
  absl::StatusOr<Plan> plan = ReadDocument(json);
  if (plan.ok()) return plan;
  return absl::Status(plan.status().code(), StrCat(file, ": ", plan.status().message()));
}

}  // namespace meshwright
