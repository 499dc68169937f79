#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/plan/plan_reader.h"

// The parts of a plan that only pipelines have.

namespace meshwright {

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanStageSeconds& value) {
  return ObjectReader(json, path)
      .Member("forward", value.forward)
      .Member("backward", value.backward)
      .Member("weight_gradient", value.weight_gradient)
      .Member("update", value.update)
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
      .Member("same_as", value.same_as)
      .Member("collectives", value.collectives)
      .Member("parameters", value.parameters)
      .Member("outputs", value.outputs)
      .Member("instructions", value.instructions)
      .Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanTransfer& value) {
  return ObjectReader(json, path)
      .Member("from", value.from)
      .Member("to", value.to)
      .Member("phase", value.phase)
      .Member("bytes_per_device", value.bytes_per_device)
      .Member("seconds", value.seconds)
      .Finish();
}

// Stages cover the layers one after the other, on devices that their meshes hold.
absl::Status CheckPipeline(const Plan& plan) {
  int64_t layer = 0;
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const PlanStage& stage = plan.stages[i];
    const std::string path = absl::StrCat("$.stages[", i, "]");
    if (stage.first_layer != layer || stage.end_layer <= layer) {
      return JsonErrorAt(path, absl::StrFormat("layers [%d, %d) do not follow on layer %d",
                                               stage.first_layer, stage.end_layer, layer));
    }
    layer = stage.end_layer;
    double devices = 1;
    for (const PlanAxis& axis : stage.mesh) devices *= static_cast<double>(axis.size);
    if (devices != static_cast<double>(stage.devices.size())) {
      return JsonErrorAt(path, absl::StrFormat("%d devices, but the mesh has %.0f",
                                               stage.devices.size(), devices));
    }
    if (stage.same_as.has_value() && *stage.same_as >= static_cast<int64_t>(i))
      return JsonErrorAt(absl::StrCat(path, ".same_as"), "expected an earlier stage");
    MW_RETURN_IF_ERROR(CheckAxes(stage, path));
  }
  const auto stages = static_cast<int64_t>(plan.stages.size());
  for (size_t i = 0; i < plan.cross_stage.size(); ++i) {
    const PlanTransfer& transfer = plan.cross_stage[i];
    if (transfer.from >= stages || transfer.to >= stages) {
      return JsonErrorAt(absl::StrCat("$.cross_stage[", i, "]"),
                         absl::StrFormat("there are %d stages", stages));
    }
  }
  if (stages == 0) return absl::OkStatus();
  if (!plan.schedule.has_value())
    return JsonErrorAt("$.schedule", "found null, expected that of the stages");
  if (plan.micro_batches < 1 || plan.chunks < 1 || stages % plan.chunks != 0)
    return JsonErrorAt("$",
                       "micro_batches and chunks must be at least 1, and chunks divide the stages");
  return absl::OkStatus();
}

}  // namespace meshwright
