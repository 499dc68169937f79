#ifndef MESHWRIGHT_CLUSTER_MIXED_CLUSTER_H_
#define MESHWRIGHT_CLUSTER_MIXED_CLUSTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"

namespace meshwright {

// Nodes that are alike.
struct NodeGroup {
  std::string name;
  Cluster cluster;  // the nodes that may be used, alone
  // Dollars for an hour of a device; none: not known. Of the cluster's nodes the first `spot_nodes`
  // in the order of price are spot, the others on demand.
  std::optional<double> on_demand_price, spot_price;
  int64_t spot_nodes = 0;
  std::string place = {};  // "file:line:column" that describes it; empty: no file does
};

// A cluster of several types of nodes.
struct MixedCluster {
  std::string name;
  std::vector<NodeGroup> groups;
  // Between a node of one group and one of another, per device; on the diagonal a group's own
  // inter_node link.
  std::vector<std::vector<Link>> links;

  int64_t devices() const;
};

// Dollars an hour of `nodes` of the group's nodes, the cheapest first; none where a price that it
// takes is not known.
std::optional<double> PricePerHour(const NodeGroup& group, int64_t nodes);

// The largest number of groups that is accepted.
inline constexpr size_t kMostNodeGroups = 8;

// Whether `spec` describes groups of nodes: "2x8xh100-sxm+4x8xa100-80g", or the path of a YAML file
// with `groups`.
bool IsMixedCluster(std::string_view spec);
// Either of these, or a homogeneous cluster as a single group. Groups that are joined by "+" are
// linked by the slower of their inter-node links.
absl::StatusOr<MixedCluster> ParseMixedCluster(std::string_view spec);
// The YAML form (mixed_cluster_yaml.cc has its reference); errors carry file:line:column.
absl::StatusOr<MixedCluster> ParseMixedClusterYaml(std::string_view text, std::string_view file);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_MIXED_CLUSTER_H_
