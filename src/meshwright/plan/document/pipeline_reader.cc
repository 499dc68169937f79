#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/plan/document/plan_reader.h"

// The parts of a plan that only pipelines have.

namespace meshwright {
namespace {

// Of one task or transfer: thirty years, and small enough for sums and microseconds of many.
constexpr double kMostSeconds = 1e9;

}  // namespace

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanStageSeconds& value) {
  return ObjectReader(json, path)
      .Amount("forward", value.forward, kMostSeconds)
      .Amount("backward", value.backward, kMostSeconds)
      .Amount("weight_gradient", value.weight_gradient, kMostSeconds)
      .Amount("update", value.update, kMostSeconds)
      .Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanStageBytes& value) {
  return ObjectReader(json, path)
      .Member("fixed", value.fixed)
      .Member("in_flight", value.in_flight)
      .Member("peak", value.peak)
      .Member("peak_of_group", value.peak_of_group)
      .Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanStage& value) {
  MeshMember mesh{value.mesh};
  MemoryMember memory{value.memory_by_category};
  return ObjectReader(json, path)
      .Member("first_layer", value.first_layer)
      .Member("end_layer", value.end_layer)
      .Member("device", value.device)
      .Member("device_memory_bytes", value.device_memory_bytes)
      .Member("budget_bytes", value.budget_bytes)
      .Member("devices", value.devices)
      .Member("mesh", mesh)
      .Member("recompute", value.recompute)
      .Member("seconds", value.seconds)
      .Member("bytes", value.bytes)
      .Member("max_in_flight", value.max_in_flight)
      .Member("memory_by_category", memory)
      .Member("same_as", value.same_as)
      .Member("collectives", value.collectives)
      .Member("parameters", value.parameters)
      .Member("outputs", value.outputs)
      .Member("parameter_names", value.parameter_names)
      .Member("output_names", value.output_names)
      .Member("op_names", value.op_names)
      .Member("source_files", value.source_files)
      .Member("instructions", value.instructions)
      .Member("memory_timeline", value.memory_timeline)
      .Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanTransfer& value) {
  return ObjectReader(json, path)
      .Member("from", value.from)
      .Member("to", value.to)
      .Member("phase", value.phase)
      .Member("bytes_per_device", value.bytes_per_device)
      .Amount("seconds", value.seconds, kMostSeconds)
      .Finish();
}

}  // namespace meshwright
