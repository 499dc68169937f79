#include "meshwright/degrees/group_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meshwright/cluster/mesh.h"

namespace meshwright::transformer {
namespace {

double RealCount(int64_t count) { return static_cast<double>(count); }

}  // namespace

GroupLayout::GroupLayout(const Configuration& c, int64_t node) {
  const int64_t stage = c.tp * c.cp * c.dp, expert = c.ep * c.etp;
  tensor = {c.tp1(), 1};
  rows = {c.tp2, c.tp1()};
  context = {c.cp, c.tp};
  replicas_ = {c.cp * c.dp, c.tp};
  pipeline = {c.pp, stage};
  experts = {c.ep, c.etp};
  expert_tensor = {c.etp, 1};
  expert_replicas_ = {stage / expert, expert};
  expert_nodes = std::max(1.0, RealCount(expert) / RealCount(node));
  const Placement& in = c.inside;
  if (in.in_order()) return;
  tensor.inside = in.tp / in.tp2;
  rows.inside = in.tp2;
  context.inside = in.cp;
  replicas_.inside = in.cp * in.dp;
  pipeline.inside = in.pp;
  rows.node_stride = tensor.members / tensor.inside;
  context.node_stride = c.tp / in.tp;
  replicas_.node_stride = context.node_stride;
  pipeline.node_stride = stage / (in.tp * in.cp * in.dp);
  // Greatest common divisors fill the part exactly, as it divides the stage's GPUs.
  const int64_t part = in.tp * in.cp * in.dp;
  const int64_t etp_inside = std::gcd(c.etp, part);
  experts.inside = std::gcd(c.ep, part / etp_inside);
  expert_replicas_.inside = part / etp_inside / experts.inside;
  expert_tensor.inside = etp_inside;
  experts.node_stride = c.etp / etp_inside;
  expert_replicas_.node_stride = expert / (etp_inside * experts.inside);
  expert_nodes = RealCount(expert / (etp_inside * experts.inside));
  if (!c.unit.in_order()) PlaceNodes(c, etp_inside);
}

// The nodes of a unit, as the GPUs of a node above.
void GroupLayout::PlaceNodes(const Configuration& c, int64_t etp_inside) {
  const Placement& unit = c.unit;
  tensor.unit = unit.tp / unit.tp2;
  rows.unit = unit.tp2;
  context.unit = unit.cp;
  replicas_.unit = unit.cp * unit.dp;
  pipeline.unit = unit.pp;
  const int64_t part = unit.tp * unit.cp * unit.dp;
  expert_tensor.unit = std::gcd(c.etp / etp_inside, part);
  experts.unit = std::gcd(c.ep / experts.inside, part / expert_tensor.unit);
  expert_replicas_.unit = part / expert_tensor.unit / experts.unit;
}

GroupLayout GroupLayout::InOneUnit(const Configuration& c, int64_t node) {
  GroupLayout layout(c, node);
  for (GroupShape* const shape :
       {&layout.tensor, &layout.rows, &layout.context, &layout.pipeline, &layout.experts,
        &layout.expert_tensor, &layout.replicas_, &layout.expert_replicas_}) {
    shape->node_stride = 0;
    shape->unit = 0;
  }
  return layout;
}

GroupLayout::Data GroupLayout::Split(const GroupShape& replicas, int64_t shard) const {
  Data data;
  data.within = {shard, replicas.stride};
  data.between = {replicas.members / shard, replicas.stride * shard};
  if (replicas.inside > 0) {
    data.within.inside = std::gcd(shard, replicas.inside);
    data.between.inside = replicas.inside / data.within.inside;
    data.within.node_stride = replicas.node_stride;
    data.between.node_stride = replicas.node_stride * (shard / data.within.inside);
    if (replicas.unit > 0) {
      data.within.unit = std::gcd(shard / data.within.inside, replicas.unit);
      data.between.unit = replicas.unit / data.within.unit;
    }
  }
  return data;
}

GroupLayout::Data GroupLayout::DataOf(int64_t shard) const { return Split(replicas_, shard); }

GroupLayout::Data GroupLayout::ExpertDataOf(int64_t shard) const {
  return Split(expert_replicas_, shard);
}

std::vector<int64_t> InsideCounts(int64_t members, const Cluster& cluster) {
  std::vector<int64_t> counts;
  for (int64_t inside = 1; inside <= std::min(members, cluster.devices_per_node); ++inside) {
    if (members % inside == 0 && cluster.devices_per_node % inside == 0 &&
        cluster.nodes % (members / inside) == 0) {
      counts.push_back(inside);
    }
  }
  return counts;
}

void GroupTimes::SetRings(const GroupShape& shape, Group& group) const {
  const int64_t node = cluster_.devices_per_node;
  int64_t inside = shape.inside;
  if (inside == GroupShape::kAnywhere) inside = std::min(shape.members, node);
  if (inside == 0) inside = std::gcd(shape.members, std::max<int64_t>(1, node / shape.stride));
  // A torus does not notice hosts.
  const bool one_fabric = cluster_.intra_node.name == cluster_.inter_node.name;
  group.crosses_nodes = inside < shape.members && !one_fabric;
  if (!group.crosses_nodes) return;
  const double n = static_cast<double>(shape.members), g = static_cast<double>(inside);
  const double nodes = std::ceil(n / g);
  group.rings = {
      (n - nodes) * cluster_.intra_node.latency_seconds +
          (nodes - 1) * cluster_.inter_node.latency_seconds,
      (n - 1) / n /
          std::min(cluster_.intra_node.achievable(), g * cluster_.inter_node.achievable())};
}

const GroupTimes::Group& GroupTimes::Of(const GroupShape& shape) {
  // Without units it does not matter how far apart nodes are.
  const bool one_unit = cluster_.fabric.unit_nodes == 0 || shape.node_stride == 0;
  const int64_t apart = one_unit ? 1 : shape.node_stride;
  const int64_t unit = one_unit ? 0 : shape.unit;
  const std::tuple key(shape.members, shape.inside > 0 ? 0 : shape.stride, shape.inside,
                       one_unit || unit > 0 ? 0 : apart, unit);
  const auto found = groups_.find(key);
  if (found != groups_.end()) return found->second;
  Group& group = groups_[key];
  SetRings(shape, group);
  Cluster cluster = cluster_;
  if (one_unit) cluster.fabric = {};
  const auto add = [&](const std::vector<int64_t>& sizes, const AxisList& axes) {
    const Mesh mesh = MakeMesh(sizes, cluster);
    group.all_reduce.Add({mesh, CollectiveKind::kAllReduce, axes});
    group.all_gather.Add({mesh, CollectiveKind::kAllGather, axes});
    group.all_to_all.Add({mesh, CollectiveKind::kAllToAll, axes});
    group.permute.Add({mesh, CollectiveKind::kCollectivePermute, axes});
  };
  const auto add_placed = [&](int64_t inside) {
    const int64_t nodes = shape.members / inside;
    add({cluster_.nodes / (nodes * apart), nodes, apart, cluster_.devices_per_node / inside,
         inside},
        AxisList{1, 4});
  };
  if (unit > 0) {
    const int64_t inside = shape.inside, units = shape.members / inside / unit;
    const int64_t unit_nodes = cluster_.fabric.unit_nodes;
    add({cluster_.nodes / unit_nodes / units, units, unit_nodes / unit, unit,
         cluster_.devices_per_node / inside, inside},
        AxisList{1, 3, 5});
    return group;
  }
  if (shape.inside > 0) {
    add_placed(shape.inside);
    return group;
  }
  add({cluster_.devices() / (shape.members * shape.stride), shape.members, shape.stride},
      AxisList{1});
  if (shape.inside == GroupShape::kAnywhere) {
    for (const int64_t inside : InsideCounts(shape.members, cluster_)) add_placed(inside);
  }
  return group;
}

}  // namespace meshwright::transformer
