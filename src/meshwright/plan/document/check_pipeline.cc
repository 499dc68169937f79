#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/schedule/schedule.h"
#include "meshwright/plan/document/document_checks.h"
#include "meshwright/plan/document/simulate_plan.h"

// What holds between a plan's stages, its cluster, and what stages send each other.

namespace meshwright {
namespace {

constexpr int64_t kMostMicroBatches = std::numeric_limits<int32_t>::max();

absl::Status CheckScheduleOf(const Plan& plan) {
  const auto stages = static_cast<int64_t>(plan.pipeline->stages.size());
  if (plan.micro_batches < 1 || plan.chunks < 1 || stages % plan.chunks != 0)
    return JsonErrorAt("$",
                       "micro_batches and chunks must be at least 1, and chunks divide the stages");
  if (plan.micro_batches > kMostMicroBatches) {
    return JsonErrorAt("$.micro_batches", absl::StrFormat("found %d, expected from 1 to %d",
                                                          plan.micro_batches, kMostMicroBatches));
  }
  const absl::StatusOr<const ScheduleKind*> kind = FindSchedule(plan.pipeline->schedule);
  if (!kind.ok()) return JsonErrorAt("$.schedule", kind.status().message());
  const absl::Status shape = CheckShape(
      **kind, {static_cast<int32_t>(stages / plan.chunks), static_cast<int32_t>(plan.chunks),
               static_cast<int32_t>(plan.micro_batches)});
  return shape.ok() ? shape : JsonErrorAt("$", shape.message());
}

// The part of the cluster that each device is of, and which group of stages has it.
class DeviceChecker {
 public:
  explicit DeviceChecker(const Plan& plan)
      : plan_(plan), groups_(plan.pipeline->stages.size() / static_cast<size_t>(plan.chunks)) {
    for (const PlanClusterPart& part : plan.cluster.parts)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part.devices());
  }

  absl::Status Check(size_t index) {
    const PlanStage& stage = plan_.pipeline->stages[index];
    const std::string path = absl::StrCat("$.stages[", index, "]");
    double wanted = 1;
    for (const PlanAxis& axis : stage.mesh) wanted *= static_cast<double>(axis.size);
    const size_t found = stage.devices.size();
    if (wanted != static_cast<double>(found)) {
      return JsonErrorAt(path,
                         absl::StrFormat("%s, but the mesh has %.0f",
                                         Counted(static_cast<int64_t>(found), "device"), wanted));
    }
    for (size_t i = 0; i < found; ++i) {
      MW_RETURN_IF_ERROR(CheckDevice(index, i, absl::StrCat(path, ".devices[", i, "]")));
    }
    const size_t group = index % groups_;
    if (index != group && stage.devices != plan_.pipeline->stages[group].devices) {
      return JsonErrorAt(absl::StrCat(path, ".devices"),
                         absl::StrFormat("expected those of stage %d, which is of the same group "
                                         "of devices",
                                         group));
    }
    return CheckType(stage, path);
  }

 private:
  size_t PartOf(int64_t device) const {
    return std::upper_bound(ends_.begin(), ends_.end(), device) - ends_.begin();
  }

  absl::Status CheckDevice(size_t index, size_t position, const std::string& path) {
    const std::vector<int64_t>& devices = plan_.pipeline->stages[index].devices;
    const int64_t device = devices[position];
    if (device >= ends_.back()) {
      return JsonErrorAt(path, absl::StrFormat("found %d, expected a device of the cluster, from 0 "
                                               "to %d",
                                               device, ends_.back() - 1));
    }
    if (PartOf(device) != PartOf(devices[0])) {
      return JsonErrorAt(path,
                         absl::StrFormat("found %d, expected a device of the same part of the "
                                         "cluster as %d",
                                         device, devices[0]));
    }
    const auto [user, is_first] = users_.try_emplace(device, index);
    if (is_first) return absl::OkStatus();
    if (user->second == index)
      return JsonErrorAt(path, absl::StrFormat("device %d is listed twice", device));
    if (user->second % groups_ != index % groups_) {
      return JsonErrorAt(path, absl::StrFormat("device %d is one of stage %d too, and groups of "
                                               "devices do not overlap",
                                               device, user->second));
    }
    user->second = index;
    return absl::OkStatus();
  }

  absl::Status CheckType(const PlanStage& stage, const std::string& path) const {
    const PlanClusterPart& part = plan_.cluster.parts[PartOf(stage.devices[0])];
    if (stage.device != part.device) {
      return JsonErrorAt(absl::StrCat(path, ".device"),
                         absl::StrFormat("found \"%s\", but device %d of the cluster is of type "
                                         "\"%s\"",
                                         stage.device, stage.devices[0], part.device));
    }
    if (stage.device_memory_bytes != part.device_memory_bytes) {
      return JsonErrorAt(
          absl::StrCat(path, ".device_memory_bytes"),
          absl::StrFormat("found %d, but device %d of the cluster has %d",
                          stage.device_memory_bytes, stage.devices[0], part.device_memory_bytes));
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  const size_t groups_;
  std::vector<int64_t> ends_;                   // of the parts' numbers
  absl::flat_hash_map<int64_t, size_t> users_;  // by device: the last stage that has it
};

// Of a stage that is the same as another: it has lists of names as long as the lists of that one.
absl::Status CheckNames(const std::vector<std::string>& names, size_t count, const char* key,
                        const std::string& path) {
  if (names.size() == count) return absl::OkStatus();
  return JsonErrorAt(absl::StrCat(path, ".", key),
                     absl::StrFormat("found %s, expected %d",
                                     Counted(static_cast<int64_t>(names.size()), "name"), count));
}

absl::Status CheckStage(const Plan& plan, size_t index) {
  const PlanStage& stage = plan.pipeline->stages[index];
  const std::string path = absl::StrCat("$.stages[", index, "]");
  const int64_t layer = index == 0 ? 0 : plan.pipeline->stages[index - 1].end_layer;
  // Embedding and head of a model may have stages of their own.
  const bool at_end = index == 0 || index + 1 == plan.pipeline->stages.size();
  const int64_t least = plan.groups.has_value() && at_end ? 0 : 1;
  if (stage.first_layer != layer || stage.end_layer < layer + least) {
    return JsonErrorAt(path, absl::StrFormat("layers [%d, %d) do not follow on layer %d",
                                             stage.first_layer, stage.end_layer, layer));
  }
  if (stage.seconds.weight_gradient > stage.seconds.backward) {
    return JsonErrorAt(
        absl::StrCat(path, ".seconds.weight_gradient"),
        absl::StrCat("found ", stage.seconds.weight_gradient, ", expected at most the ",
                     stage.seconds.backward, " of backward, of which it is a part"));
  }
  if (stage.sum_parts < 1 || std::ssize(stage.devices) % stage.sum_parts != 0) {
    return JsonErrorAt(absl::StrCat(path, ".sum_parts"),
                       absl::StrFormat("found %d, expected a number that divides the %d devices",
                                       stage.sum_parts, std::ssize(stage.devices)));
  }
  if (stage.max_in_flight > plan.micro_batches) {
    return JsonErrorAt(absl::StrCat(path, ".max_in_flight"),
                       absl::StrFormat("found %d, expected at most the number of micro-batches, %d",
                                       stage.max_in_flight, plan.micro_batches));
  }
  if (stage.same_as.has_value()) {
    if (*stage.same_as >= static_cast<int64_t>(index) ||
        plan.pipeline->stages[*stage.same_as].same_as.has_value()) {
      return JsonErrorAt(absl::StrCat(path, ".same_as"),
                         "expected an earlier stage that has its own lists");
    }
    if (!stage.program.empty()) {
      return JsonErrorAt(path, absl::StrFormat("expected empty lists of collectives, parameters, "
                                               "outputs and instructions and no memory_timeline, "
                                               "as in stage %d",
                                               *stage.same_as));
    }
  }
  const PlanStage* const same = stage.same_as.has_value()
                                    ? &plan.pipeline->stages[static_cast<size_t>(*stage.same_as)]
                                    : nullptr;
  MW_RETURN_IF_ERROR(CheckNames(stage.parameter_names,
                                same == nullptr ? 0 : same->program.parameters.size(),
                                "parameter_names", path));
  MW_RETURN_IF_ERROR(CheckNames(stage.output_names,
                                same == nullptr ? 0 : same->program.outputs.size(), "output_names",
                                path));
  MW_RETURN_IF_ERROR(CheckMeshAxes(stage.mesh, path + ".mesh"));
  return CheckProgram(stage.mesh, stage.program, path);
}

// Between neighbours, forward to the next and backward to the one before, each once.
absl::Status CheckTransfers(const Plan& plan) {
  const auto stages = static_cast<int64_t>(plan.pipeline->stages.size());
  absl::flat_hash_set<std::pair<int64_t, int64_t>> seen;
  for (size_t i = 0; i < plan.pipeline->cross_stage.size(); ++i) {
    const PlanTransfer& transfer = plan.pipeline->cross_stage[i];
    const std::string path = absl::StrCat("$.cross_stage[", i, "]");
    if (transfer.from >= stages || transfer.to >= stages) {
      return JsonErrorAt(
          path, StrCat(stages == 1 ? "there is " : "there are ", Counted(stages, "stage")));
    }
    if (transfer.phase == Phase::kUpdate)
      return JsonErrorAt(absl::StrCat(path, ".phase"),
                         "found \"update\", expected forward or backward");
    const int64_t to = transfer.from + (transfer.phase == Phase::kForward ? 1 : -1);
    if (transfer.to != to) {
      return JsonErrorAt(path, absl::StrFormat("a %s transfer from stage %d to %d; forward ones go "
                                               "to the next stage, backward ones to the one before",
                                               Word(transfer.phase), transfer.from, transfer.to));
    }
    if (!seen.insert({transfer.from, transfer.to}).second) {
      return JsonErrorAt(path, absl::StrFormat("a second %s transfer from stage %d to %d",
                                               Word(transfer.phase), transfer.from, transfer.to));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPipeline(const Plan& plan) {
  MW_RETURN_IF_ERROR(CheckScheduleOf(plan));
  DeviceChecker devices(plan);
  for (size_t i = 0; i < plan.pipeline->stages.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckStage(plan, i));
    MW_RETURN_IF_ERROR(devices.Check(i));
  }
  MW_RETURN_IF_ERROR(CheckTransfers(plan));
  const absl::Status memory = CheckGroupBytes(plan, plan.micro_batches);
  return memory.ok() ? memory : JsonErrorAt("$", memory.message());
}

}  // namespace meshwright
