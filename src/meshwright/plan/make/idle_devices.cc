#include "meshwright/plan/make/idle_devices.h"

#include <algorithm>
#include <bit>

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

std::string IdleDevicesText(const std::vector<bool>& used, const Mesh& mesh, int64_t faster_devices,
                            double faster_seconds) {
  std::string idle;
  for (size_t a = 0; a < used.size(); ++a) {
    if (!used[a])
      StrAppend(&idle, idle.empty() ? "" : ", ", mesh.axes[a].name, "=", mesh.axes[a].size);
  }
  if (idle.empty()) return "";
  const int64_t as_fast = UsedDevices(used, mesh);
  std::string text =
      StrCat("nothing is sharded over mesh axis ", idle, ": ", as_fast,
             as_fast == 1 ? " device" : " devices", " would be as fast as these ", mesh.devices());
  if (faster_devices > 0) {
    StrAppend(&text, ", and ", faster_devices, " would take ", SecondsText(faster_seconds),
              " a step");
  }
  return text;
}

}  // namespace meshwright
