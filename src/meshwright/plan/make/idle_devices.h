#ifndef MESHWRIGHT_PLAN_MAKE_IDLE_DEVICES_H_
#define MESHWRIGHT_PLAN_MAKE_IDLE_DEVICES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/inter/stages/pipeline.h"
#include "meshwright/intra/planner.h"

// Devices that repeat what others do: those along a mesh axis over which a plan shards no value and
// divides no operator's work.

namespace meshwright {

// By axis of `mesh`: the plan shards something over it. Axes of size 1 count as used.
std::vector<bool> UsedAxes(const IntraPlan& plan, const Mesh& mesh);

// Devices of the axes that are used: as many would be exactly as fast as all.
int64_t UsedDevices(const std::vector<bool>& used, const Mesh& mesh);

// The largest cluster of fewer devices on which a program may shard more evenly: a power of two of
// devices in one node, or of whole nodes where there are several. nullopt if it has no fewer.
std::optional<Cluster> EvenCluster(const Cluster& cluster);

// One line that says which axes are idle and how many devices would do; empty if none is.
// `faster_devices`, if above 0, would take `faster_seconds` a step.
std::string IdleDevicesText(const std::vector<bool>& used, const Mesh& mesh, int64_t faster_devices,
                            double faster_seconds);

// The same of a pipeline, by its stages: which of them leave which axes idle, and how many devices
// in all would do. Stages that share devices leave idle what none of them uses.
std::string IdleStagesText(const PipelinePlan& pipeline);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_IDLE_DEVICES_H_
