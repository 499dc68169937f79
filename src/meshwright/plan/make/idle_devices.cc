#include "meshwright/plan/make/idle_devices.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/base/strings.h"

namespace meshwright {

std::vector<bool> UsedAxes(const IntraPlan& plan, const Mesh& mesh) {
  std::vector<bool> used;
  for (const MeshAxis& axis : mesh.axes) used.push_back(axis.size == 1);
  for (const PlannedOp& op : plan.ops) {
    if (op.free) continue;
    for (size_t a = 0; a < op.strategy.size(); ++a) {
      if (op.strategy[a] != kNoFactor) used[a] = true;
    }
  }
  for (const Sharding& sharding : plan.shardings) {
    for (const AxisList& axes : sharding.dims) {
      for (AxisIndex axis : axes) used[axis] = true;
    }
  }
  return used;
}

int64_t UsedDevices(const std::vector<bool>& used, const Mesh& mesh) {
  int64_t devices = 1;
  for (size_t a = 0; a < used.size(); ++a) {
    if (used[a]) devices *= mesh.axes[a].size;
  }
  return devices;
}

std::optional<Cluster> EvenCluster(const Cluster& cluster) {
  Cluster even = cluster;
  int64_t& count = even.nodes > 1 ? even.nodes : even.devices_per_node;
  count = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count)));
  if (count == (even.nodes > 1 ? cluster.nodes : cluster.devices_per_node)) return std::nullopt;
  return even;
}

namespace {

// `x=2, y=4`: the axes that are not used.
std::string IdleAxes(const std::vector<bool>& used, const Mesh& mesh) {
  std::string idle;
  for (size_t a = 0; a < used.size(); ++a) {
    if (!used[a])
      StrAppend(&idle, idle.empty() ? "" : ", ", mesh.axes[a].name, "=", mesh.axes[a].size);
  }
  return idle;
}

bool HaveSameAxes(const Mesh& a, const Mesh& b) {
  return std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                    [](const MeshAxis& one, const MeshAxis& other) {
                      return one.name == other.name && one.size == other.size;
                    });
}

std::string IdleText(std::string_view idle, int64_t as_fast, int64_t devices) {
  return StrCat("nothing is sharded over mesh axis ", idle, ": ", Counted(as_fast, "device"),
                " would be at least as fast as these ", devices);
}

}  // namespace

std::string IdleDevicesText(const std::vector<bool>& used, const Mesh& mesh, int64_t faster_devices,
                            double faster_seconds) {
  const std::string idle = IdleAxes(used, mesh);
  if (idle.empty()) return "";
  std::string text = IdleText(idle, UsedDevices(used, mesh), mesh.devices());
  if (faster_devices > 0) {
    StrAppend(&text, ", and ", faster_devices, " would take ", SecondsText(faster_seconds),
              " a step");
  }
  return text;
}

std::string IdleStagesText(const PipelinePlan& pipeline) {
  const std::vector<PipelineStage>& stages = pipeline.stages;
  const auto groups = static_cast<size_t>(pipeline.shape.groups);
  int64_t devices = 0, as_fast = 0;
  std::map<std::string, std::vector<size_t>> stages_of;  // by what they leave idle
  for (size_t group = 0; group < std::min(groups, stages.size()); ++group) {
    const Mesh& mesh = stages[group].mesh;
    std::vector<bool> used(mesh.axes.size(), false);
    for (size_t i = group; i < stages.size(); i += groups) {
      const std::vector<bool> own = UsedAxes(*stages[i].plan, stages[i].mesh);
      // Over another mesh the same devices are shared out otherwise.
      const bool same = HaveSameAxes(stages[i].mesh, mesh);
      for (size_t a = 0; a < used.size(); ++a) {
        if (!same || own[a]) used[a] = true;
      }
    }
    devices += mesh.devices();
    as_fast += UsedDevices(used, mesh);
    const std::string idle = IdleAxes(used, mesh);
    for (size_t i = group; !idle.empty() && i < stages.size(); i += groups)
      stages_of[idle].push_back(i);
  }
  std::string idle;
  for (auto& [axes, numbers] : stages_of) {
    std::sort(numbers.begin(), numbers.end());
    StrAppend(&idle, idle.empty() ? "" : ", ", axes, " of ");
    if (numbers.size() == stages.size()) {
      idle += "every stage";
    } else {
      StrAppend(&idle, numbers.size() == 1 ? "stage " : "stages ", absl::StrJoin(numbers, ", "));
    }
  }
  return idle.empty() ? "" : IdleText(idle, as_fast, devices);
}

}  // namespace meshwright
