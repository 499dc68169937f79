#include "meshwright/cluster/mixed_cluster.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr int64_t kMostMixedYamlBytes = int64_t{1} << 20;

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

const Link& SlowerLink(const Link& a, const Link& b) {
  return a.achievable() <= b.achievable() ? a : b;
}

// The link between groups that nobody described.
absl::StatusOr<Link> JoinedLink(const NodeGroup& a, const NodeGroup& b) {
  const Link& link = SlowerLink(a.cluster.inter_node, b.cluster.inter_node);
  if (link.bandwidth_bytes_per_second > 0) return link;
  return absl::InvalidArgumentError(
      StrCat("no link between ", a.name, " and ", b.name,
             " is known; describe the cluster in a YAML file with groups and links"));
}

NodeGroup SingleGroup(Cluster cluster) {
  NodeGroup group;
  group.name = cluster.device.name;
  if (cluster.device.price_per_hour > 0) group.on_demand_price = cluster.device.price_per_hour;
  group.cluster = std::move(cluster);
  return group;
}

}  // namespace

int64_t MixedCluster::devices() const {
  int64_t sum = 0;
  for (const NodeGroup& group : groups) sum += group.cluster.devices();
  return sum;
}

std::optional<double> PricePerHour(const NodeGroup& group, int64_t nodes) {
  const int64_t on_demand_nodes = group.cluster.nodes - group.spot_nodes;
  const bool spot_first =
      group.spot_price.has_value() &&
      (!group.on_demand_price.has_value() || *group.spot_price <= *group.on_demand_price);
  const int64_t spot = spot_first ? std::min(nodes, group.spot_nodes)
                                  : std::max<int64_t>(0, nodes - on_demand_nodes);
  double sum = 0;
  for (const auto& [count, price] :
       {std::pair(spot, group.spot_price), std::pair(nodes - spot, group.on_demand_price)}) {
    if (count == 0) continue;
    if (!price.has_value()) return std::nullopt;
    sum += static_cast<double>(count * group.cluster.devices_per_node) * *price;
  }
  return sum;
}

bool IsMixedCluster(std::string_view spec) {
  const std::string path(spec);
  if (!IsFile(path)) return spec.find('+') != std::string_view::npos;
  const absl::StatusOr<std::string> text = ReadFileMaybeGzip(path, kMostMixedYamlBytes);
  if (!text.ok()) return false;
  try {
    const YAML::Node root = YAML::Load(*text);
    return root.IsMap() && root["groups"].IsDefined();
  } catch (const YAML::Exception&) {
    return false;
  }
}

absl::StatusOr<MixedCluster> ParseMixedCluster(std::string_view spec) {
  const std::string path(spec);
  if (IsFile(path) && IsMixedCluster(spec)) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadFileMaybeGzip(path, kMostMixedYamlBytes));
    return ParseMixedClusterYaml(text, path);
  }
  MixedCluster mixed;
  mixed.name = path;
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitClusterParts(path));
  if (parts.size() > kMostNodeGroups) {
    return absl::InvalidArgumentError(StrCat("cluster \"", spec, "\": found ", parts.size(),
                                             " groups of nodes, at most ", kMostNodeGroups,
                                             " are supported"));
  }
  for (const std::string& part : parts) {
    MW_ASSIGN_OR_RETURN(Cluster cluster, ParseCluster(part));
    NodeGroup group = SingleGroup(std::move(cluster));
    const auto same = [&](const NodeGroup& other) { return other.name == group.name; };
    if (std::any_of(mixed.groups.begin(), mixed.groups.end(), same)) {
      return absl::InvalidArgumentError(
          StrCat("cluster \"", spec, "\": two groups of ", group.name, "; join them"));
    }
    mixed.groups.push_back(std::move(group));
  }
  if (mixed.devices() > kMaxDevices) {
    return absl::InvalidArgumentError(StrCat("cluster \"", spec, "\": ", mixed.devices(),
                                             " devices; at most ", kMaxDevices, " are supported"));
  }
  for (const NodeGroup& a : mixed.groups) {
    std::vector<Link>& row = mixed.links.emplace_back();
    for (const NodeGroup& b : mixed.groups) {
      if (&a == &b) {
        row.push_back(a.cluster.inter_node);
        continue;
      }
      MW_ASSIGN_OR_RETURN(Link link, JoinedLink(a, b));
      row.push_back(std::move(link));
    }
  }
  return mixed;
}

}  // namespace meshwright
