#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_value.h"
#include "meshwright/plan/document/degrees_json.h"
#include "meshwright/plan/document/plan_json.h"

namespace meshwright {
namespace {

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
requires std::is_arithmetic_v<T> Json ToJson(const T& number) { return number; }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json();
}

Json ToJson(const InputFile& input) {
  return {{"path", input.path}, {"kind", input.kind}, {"sha256", input.sha256}};
}

Json ToJson(const PlanOptions& options) {
  Json json = {{"mesh", options.mesh},
               {"memory", options.memory},
               {"pipeline", options.pipeline},
               {"micro_batches", options.micro_batches},
               {"schedule", options.schedule},
               {"layers", options.layers},
               {"data", options.data},
               {"recompute", options.recompute},
               {"cost_model", options.cost_model},
               {"rest", options.rest},
               {"deadline_seconds", options.deadline_seconds},
               {"threads", options.threads},
               {"seed", options.seed},
               {"fixes", options.fixes}};
  if (options.database.has_value()) json["database"] = *options.database;
  return json;
}

Json ToJson(const PlanCluster& cluster) {
  Json parts = Json::array();
  for (const PlanClusterPart& part : cluster.parts) {
    parts.push_back({{"device", part.device},
                     {"nodes", part.nodes},
                     {"devices_per_node", part.devices_per_node},
                     {"device_memory_bytes", part.device_memory_bytes}});
  }
  return {{"name", cluster.name}, {"parts", std::move(parts)}};
}

Json ToJson(const std::vector<PlanAxis>& mesh) {
  Json axes = Json::array();
  for (const PlanAxis& axis : mesh) axes.push_back({{"name", axis.name}, {"size", axis.size}});
  return {{"axes", std::move(axes)}};
}

Json ToJson(const MemoryByCategory& memory) {
  Json json = Json::object();
  for (size_t i = 0; i < memory.size(); ++i) {
    json[std::string(MemoryCategoryName(static_cast<MemoryCategory>(i)))] = memory[i];
  }
  return json;
}

Json ToJson(const PlanCollective& collective) {
  Json json = {{"kind", collective.kind},
               {"axes", collective.axes},
               {"count", collective.count},
               {"bytes_per_device", collective.bytes_per_device},
               {"seconds", collective.seconds}};
  if (!collective.value.empty()) json["value"] = collective.value;
  return json;
}

Json ToJson(const PlanTensor& tensor) {
  return {{"index", tensor.index},
          {"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"spec", tensor.spec},
          {"bytes_per_device", tensor.bytes_per_device},
          {"category", MemoryCategoryName(tensor.category)}};
}

Json ToJson(const PlanType& type) { return {{"dtype", type.dtype}, {"shape", type.shape}}; }

Json ToJson(const PlanInstruction& instruction);

// A list for each member of the points: short, and tables of columns are what plots take.
Json ToJson(const std::optional<PlanMemoryTimeline>& timeline) {
  if (!timeline.has_value()) return nullptr;
  std::vector<int64_t> time, instruction;
  std::vector<double> seconds;
  std::array<std::vector<int64_t>, kMemoryCategories> bytes;
  for (const PlanMemoryPoint& point : timeline->points) {
    time.push_back(point.time);
    instruction.push_back(point.instruction);
    seconds.push_back(point.seconds);
    for (size_t c = 0; c < kMemoryCategories; ++c) bytes[c].push_back(point.bytes[c]);
  }
  Json json = {{"length", timeline->length},
               {"time", std::move(time)},
               {"instruction", std::move(instruction)},
               {"seconds", std::move(seconds)}};
  for (size_t c = 0; c < kMemoryCategories; ++c)
    json[std::string(MemoryCategoryName(static_cast<MemoryCategory>(c)))] = std::move(bytes[c]);
  return json;
}

template <ListsItsMembers T>
Json ToJson(const T& value);

template <typename T>
Json ListToJson(const std::vector<T>& list) {
  Json json = Json::array();
  for (const T& element : list) json.push_back(ToJson(element));
  return json;
}

Json ToJson(const PlanInstruction& instruction) {
  Json json = {{"name", instruction.name},
               {"opcode", instruction.opcode},
               {"dtype", instruction.type.dtype},
               {"shape", instruction.type.shape}};
  if (!instruction.other_types.empty()) json["other_types"] = ListToJson(instruction.other_types);
  json["operands"] = instruction.operands;
  if (!instruction.operand_results.empty()) json["operand_results"] = instruction.operand_results;
  if (instruction.op_name.has_value()) json["op_name"] = *instruction.op_name;
  if (instruction.source.has_value())
    json["source"] = {instruction.source->file, instruction.source->line};
  if (instruction.layer.has_value()) json["layer"] = *instruction.layer;
  if (!instruction.phase.empty()) json["phase"] = instruction.phase;
  if (instruction.batch_dimension.has_value())
    json["batch_dimension"] = *instruction.batch_dimension;
  if (instruction.at_peak.has_value()) {
    json["at_peak"] = {{"bytes", instruction.at_peak->bytes},
                       {"category", MemoryCategoryName(instruction.at_peak->category)}};
  }
  json["spec"] = instruction.spec;
  if (!instruction.other_specs.empty()) json["other_specs"] = instruction.other_specs;
  if (!instruction.operand_specs.empty()) json["operand_specs"] = instruction.operand_specs;
  if (!instruction.computed_specs.empty()) json["computed_specs"] = instruction.computed_specs;
  if (!instruction.operand_paths.empty()) json["operand_paths"] = instruction.operand_paths;
  if (!instruction.result_paths.empty()) json["result_paths"] = instruction.result_paths;
  if (instruction.shared_spec.has_value()) json["shared_spec"] = *instruction.shared_spec;
  if (!instruction.pending_axes.empty()) json["pending_axes"] = instruction.pending_axes;
  if (!instruction.reduced_axes.empty()) json["reduced_axes"] = instruction.reduced_axes;
  json["strategy"] = instruction.strategy;
  json["executions"] = instruction.executions;
  json["seconds"] = instruction.seconds;
  json["collective"] = ListToJson(instruction.collective);
  return json;
}

Json ToJson(const PlanStage& stage) {
  return {{"first_layer", stage.first_layer},
          {"end_layer", stage.end_layer},
          {"device", stage.device},
          {"device_memory_bytes", stage.device_memory_bytes},
          {"budget_bytes", OrNull(stage.budget_bytes)},
          {"devices", stage.devices},
          {"mesh", ToJson(stage.mesh)},
          {"recompute", stage.recompute},
          {"seconds",
           {{"forward", stage.seconds.forward},
            {"backward", stage.seconds.backward},
            {"weight_gradient", stage.seconds.weight_gradient},
            {"update", stage.seconds.update}}},
          {"bytes",
           {{"fixed", stage.bytes.fixed},
            {"in_flight", stage.bytes.in_flight},
            {"peak", stage.bytes.peak},
            {"peak_of_group", stage.bytes.peak_of_group}}},
          {"max_in_flight", stage.max_in_flight},
          {"memory_by_category", ToJson(stage.memory_by_category)},
          {"same_as", OrNull(stage.same_as)},
          {"collectives", ListToJson(stage.collectives)},
          {"parameters", ListToJson(stage.parameters)},
          {"outputs", ListToJson(stage.outputs)},
          {"parameter_names", stage.parameter_names},
          {"output_names", stage.output_names},
          {"op_names", stage.op_names},
          {"source_files", stage.source_files},
          {"instructions", ListToJson(stage.instructions)},
          {"memory_timeline", ToJson(stage.memory_timeline)}};
}

Json ToJson(const PlanTransfer& transfer) {
  return {{"from", transfer.from},
          {"to", transfer.to},
          {"phase", transfer.phase},
          {"bytes_per_device", transfer.bytes_per_device},
          {"seconds", transfer.seconds}};
}

Json ToJson(const std::string& text) { return text; }

template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = true;
template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;

template <ListsItsMembers T>
Json ToJson(const T& value) {
  Json json = Json::object();
  T::VisitMembers(value, [&json]<typename Member>(const char* key, const Member& member) {
    if constexpr (std::is_same_v<Member, transformer::Configuration>) {
      json[key] = DegreesJson(member);
    } else if constexpr (ListsItsMembers<Member>) {
      json[key] = ToJson(member);
    } else if constexpr (kIsList<Member>) {
      json[key] = ListToJson(member);
    } else if constexpr (kIsOptional<Member>) {
      json[key] = member.has_value() ? ToJson(*member) : Json(nullptr);
    } else {
      json[key] = member;
    }
  });
  return json;
}

// Writes the members of the document one a line, lists one element a line: a plan is read by people
// and compared with line-based tools, and a program has tens of thousands of instructions.
class Document {
 public:
  void Add(const char* key, const Json& value) { Member(key, Text(value)); }

  template <typename T>
  void AddList(const char* key, const std::vector<T>& list) {
    if (list.empty()) return Member(key, "[]");
    std::string text = "[";
    const char* separator = "\n";
    for (const T& element : list) {
      absl::StrAppend(&text, separator, "    ", Text(ToJson(element)));
      separator = ",\n";
    }
    Member(key, absl::StrCat(text, "\n  ]"));
  }

  std::string Finish() && { return absl::StrCat(std::move(text_), "\n}\n"); }

 private:
  void Member(const char* key, const std::string& value) {
    absl::StrAppend(&text_, text_.empty() ? "{\n  \"" : ",\n  \"", key, "\": ", value);
  }

  std::string text_;
};

}  // namespace

std::string PlanToJson(const Plan& plan) {
  Document document;
  document.Add("schema", plan.schema);
  document.Add("tool_version", plan.tool_version);
  document.AddList("inputs", plan.inputs);
  document.Add("options", ToJson(plan.options));
  document.Add("cluster", ToJson(plan.cluster));
  document.Add("mesh", ToJson(plan.mesh));
  document.Add("objective_seconds", plan.objective_seconds);
  document.Add("bound_seconds", plan.bound_seconds);
  document.Add("gap", plan.gap);
  document.Add("compute_seconds", plan.compute_seconds);
  document.Add("communication_seconds", plan.communication_seconds);
  document.Add("step_seconds", plan.step_seconds);
  document.Add("peak_bytes", plan.peak_bytes);
  document.Add("budget_bytes", OrNull(plan.budget_bytes));
  document.Add("peak_at", plan.peak_at);
  document.Add("memory_by_category", ToJson(plan.memory_by_category));
  document.AddList("collectives", plan.collectives);
  document.AddList("parameters", plan.parameters);
  document.AddList("outputs", plan.outputs);
  document.AddList("op_names", plan.op_names);
  document.AddList("source_files", plan.source_files);
  document.AddList("instructions", plan.instructions);
  document.Add("memory_timeline", ToJson(plan.memory_timeline));
  document.Add("schedule", OrNull(plan.schedule));
  document.Add("micro_batches", plan.micro_batches);
  document.Add("chunks", plan.chunks);
  document.Add("bubble_share", plan.bubble_share);
  document.AddList("stages", plan.stages);
  document.AddList("cross_stage", plan.cross_stage);
  if (plan.transformer.has_value()) document.Add("transformer", ToJson(*plan.transformer));
  if (plan.profile.has_value()) {
    document.AddList("segments", plan.segments);
    document.Add("profile", ToJson(*plan.profile));
  }
  document.AddList("warnings", plan.warnings);
  document.Add("planning_seconds", plan.planning_seconds);
  return std::move(document).Finish();
}

}  // namespace meshwright
