#include "meshwright/export/node_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace meshwright {
namespace {

// A node, as part of the cluster and number in it.
using NodeId = std::pair<size_t, int64_t>;

// Where the devices of a plan are.
class DeviceMap {
 public:
  explicit DeviceMap(const PlanCluster& cluster) : cluster_(cluster) {}

  NodeId NodeOf(int64_t device) const {
    for (size_t part = 0; part < cluster_.parts.size(); ++part) {
      if (device < cluster_.parts[part].devices()) {
        return {part, device / cluster_.parts[part].devices_per_node};
      }
      device -= cluster_.parts[part].devices();
    }
    return {};
  }

 private:
  const PlanCluster& cluster_;
};

// Nodes in the order in which stages use them; empty if a node's devices are not used one after the
// other.
std::vector<NodeId> AlongThePipeline(const Plan& plan, const DeviceMap& map) {
  std::vector<NodeId> nodes;
  std::set<NodeId> seen;
  int64_t last = -1;
  for (const PlanStage& stage : plan.stages()) {
    for (const int64_t device : stage.devices) {
      const NodeId node = map.NodeOf(device);
      if (nodes.empty() || nodes.back() != node) {
        if (!seen.insert(node).second) return {};
        nodes.push_back(node);
      } else if (device != last + 1) {
        return {};
      }
      last = device;
    }
  }
  return nodes;
}

}  // namespace

int64_t NodeRanks::nodes() const {
  int64_t sum = 0;
  for (const NodeRun& run : runs) sum += run.nodes;
  return sum;
}

int64_t NodeRanks::nodes_of(size_t kind) const {
  int64_t sum = 0;
  for (const NodeRun& run : runs) sum += run.kind == kind ? run.nodes : 0;
  return sum;
}

int64_t NodeRanks::processes() const {
  int64_t sum = 0;
  for (const NodeRun& run : runs) sum += run.nodes * run.processes;
  return sum;
}

int64_t NodeRanks::equal_processes() const {
  for (const NodeRun& run : runs) {
    if (run.processes != runs[0].processes) return 0;
  }
  return runs.empty() ? 0 : runs[0].processes;
}

NodeRanks EqualNodes(const std::string& device, int64_t nodes, int64_t devices_per_node) {
  return {{{device, device, devices_per_node}}, {{0, nodes, devices_per_node}}};
}

StagesOverGroups ReadStagesOverGroups(const Plan& plan) {
  const PlanOverGroups& over = *plan.groups;
  const DeviceMap map(plan.cluster);
  StagesOverGroups all;
  for (const PlanNodeGroup& group : over.groups) {
    if (group.used_nodes > 0) {
      all.ranks.kinds.push_back({group.name, group.device, group.devices_per_node});
    }
  }
  std::map<NodeId, std::set<int64_t>> used;  // devices of each node
  for (const PlanStage& stage : plan.stages()) {
    for (const int64_t device : stage.devices) used[map.NodeOf(device)].insert(device);
  }
  std::vector<NodeId> order = AlongThePipeline(plan, map);
  all.in_order = !order.empty();
  if (order.empty()) {
    for (const auto& [node, devices] : used) order.push_back(node);
  }
  std::map<int64_t, int64_t> rank_of;  // by device
  for (const NodeId& node : order) {
    const auto processes = static_cast<int64_t>(used[node].size());
    for (const int64_t device : used[node]) {
      const auto rank = static_cast<int64_t>(rank_of.size());
      rank_of[device] = rank;
    }
    std::vector<NodeRun>& runs = all.ranks.runs;
    if (runs.empty() || runs.back().kind != node.first || runs.back().processes != processes) {
      runs.push_back({node.first, 0, processes});
    }
    ++runs.back().nodes;
  }
  all.same_degrees = true;
  for (size_t i = 0; i < plan.stages().size(); ++i) {
    const PlanStage& stage = plan.stages()[i];
    const PlanNodeGroup& group = over.groups[over.stage_groups[i]];
    StagesOverGroups::Stage& one = all.stages.emplace_back();
    one = {stage.end_layer - stage.first_layer,
           group.tp,
           group.dp,
           group.micro_batch,
           stage.device,
           {}};
    if (group.tp == 0) {  // stages of the group differ
      one.dp = stage.mesh[0].size;
      one.tp = stage.mesh[1].size;
      one.micro_batch = plan.model->global_batch / plan.micro_batches / one.dp;
    }
    for (const int64_t device : stage.devices) one.ranks.push_back(rank_of[device]);
    const StagesOverGroups::Stage& first = all.stages.front();
    all.same_degrees = all.same_degrees && one.tp == first.tp && one.dp == first.dp &&
                       one.micro_batch == first.micro_batch;
  }
  return all;
}

}  // namespace meshwright
