// The YAML form of a cluster of several types of nodes:
//
//   name: mixed                 # for reports; default: the file's name
//   groups:                     # nodes that are alike, up to 8 groups
//     - name: fast              # default: the device's name
//       device: a100-40g        # as in cluster_yaml.cc, and likewise the next four
//       devices_per_node: 8
//       intra_node: {bandwidth: 300GB/s, latency: 3us}
//       inter_node: {bandwidth: 100Gbit/s}      # between nodes of the group
//       calibration: a100.yaml
//       nodes: 6                                # how many there are
//       available: 4                            # how many may be used; default: all
//       available: {on_demand: 2, spot: 4}      # ... with `nodes` of their own if left out
//       price_per_hour: 4.1                     # dollars a device, on demand; or both:
//       price_per_hour: {on_demand: 4.1, spot: 1.3}
//     - device: a10
//       nodes: 7
//   between_groups: {bandwidth: 40Gbit/s, latency: 20us}   # links between nodes of two groups
//   links:                                                 # ... of some of them
//     - between: [fast, a10]
//       link: {bandwidth: 100Gbit/s}                       # replaces fields of between_groups
//
// Nodes are on demand unless `available` says otherwise. Where there are several groups every pair
// of them needs a link.

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster_fields.h"
#include "meshwright/cluster/mixed_cluster.h"

namespace meshwright {
namespace {

class MixedClusterReader : public ClusterFields {
 public:
  using ClusterFields::ClusterFields;

  absl::StatusOr<MixedCluster> Read(std::string_view text) const {
    absl::StatusOr<MixedCluster> cluster;
    MW_RETURN_IF_ERROR(
        ReadDocument(text, "at least \"groups\"", "cluster", [&](const YAML::Node& root) {
          cluster = ReadMixed(root);
          return cluster.status();
        }));
    return cluster;
  }

 private:
  struct PairLink {
    size_t a, b;
    Overrides link;
  };

  // The name that tables, scripts and CSV have in their lines.
  absl::Status ReadName(const YAML::Node& node, std::string* name) const {
    MW_RETURN_IF_ERROR(ReadText(node, "name", name));
    if (Printable(*name) == *name) return absl::OkStatus();
    return Error(node, StrCat("name: expected text of one line, without control characters, found ",
                              Quoted(node)));
  }

  // "LINE:COLUMN" of the file.
  static std::string Place(const YAML::Mark& mark) {
    return absl::StrCat(mark.line + 1, ":", mark.column + 1);
  }

  absl::StatusOr<MixedCluster> ReadMixed(const YAML::Node& root) const {
    MixedCluster mixed;
    mixed.name = file();
    Overrides between;
    YAML::Node links;  // read when the groups have names
    MW_RETURN_IF_ERROR(ReadMap(
        root, "a cluster",
        {{"name", false, [&](const YAML::Node& n) { return ReadName(n, &mixed.name); }},
         {"groups", true, [&](const YAML::Node& n) { return ReadGroups(n, &mixed.groups); }},
         {"between_groups", false,
          [&](const YAML::Node& n) {
            return ReadLink(n, "between_groups", LinkUse::kSends, &between);
          }},
         {"links", false, [&](const YAML::Node& n) {
            links.reset(n);
            return absl::OkStatus();
          }}}));
    if (mixed.devices() > kMaxDevices) {
      return Error(root, absl::StrCat("the groups have ", mixed.devices(), " devices; at most ",
                                      kMaxDevices, " are supported"));
    }
    std::vector<PairLink> pairs;
    if (links.IsDefined() && !links.IsNull()) {
      MW_RETURN_IF_ERROR(ReadPairs(links, mixed.groups, &pairs));
    }
    MW_RETURN_IF_ERROR(SetLinks(root, between, pairs, &mixed));
    return mixed;
  }

  absl::Status SetLinks(const YAML::Node& root, const Overrides& between,
                        const std::vector<PairLink>& pairs, MixedCluster* mixed) const {
    const size_t count = mixed->groups.size();
    Link usual = between.ApplyTo(Link{});
    if (usual.name.empty()) usual.name = "between groups";
    mixed->links.assign(count, std::vector<Link>(count, usual));
    for (size_t i = 0; i < count; ++i) mixed->links[i][i] = mixed->groups[i].cluster.inter_node;
    for (const PairLink& pair : pairs) {
      mixed->links[pair.a][pair.b] = mixed->links[pair.b][pair.a] = pair.link.ApplyTo(usual);
    }
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = i + 1; j < count; ++j) {
        if (mixed->links[i][j].bandwidth_bytes_per_second > 0) continue;
        return Error(root, absl::StrCat("no link between ", mixed->groups[i].name, " and ",
                                        mixed->groups[j].name,
                                        "; give between_groups: {bandwidth: ..., latency: ...} or "
                                        "links: [{between: [",
                                        mixed->groups[i].name, ", ", mixed->groups[j].name,
                                        "], link: {bandwidth: ...}}]"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadGroups(const YAML::Node& node, std::vector<NodeGroup>* groups) const {
    if (!node.IsSequence() || node.size() == 0 || node.size() > kMostNodeGroups) {
      const std::string found = !node.IsSequence() ? Quoted(node)
                                : node.size() == 0 ? "an empty list"
                                                   : absl::StrCat(node.size(), " of them");
      return Error(node, absl::StrCat("groups: expected a list of 1 to ", kMostNodeGroups,
                                      " groups of nodes, found ", found));
    }
    std::map<std::string, YAML::Mark> names;
    for (const YAML::Node& entry : node) {
      NodeGroup& group = groups->emplace_back();
      MW_RETURN_IF_ERROR(ReadGroup(entry, &group));
      const auto [first, is_new] = names.try_emplace(group.name, entry.Mark());
      if (!is_new) {
        return Error(entry,
                     absl::StrCat("two groups are called \"", group.name, "\", the first at ",
                                  Place(first->second), "; give them names of their own"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadGroup(const YAML::Node& node, NodeGroup* group) const {
    Cluster& cluster = group->cluster;
    Available available;
    Overrides intra, inter;
    int64_t nodes = 0, per_node = 0;  // 0: not given
    MW_RETURN_IF_ERROR(ReadMap(
        node, "a group of nodes",
        {{"name", false, [&](const YAML::Node& n) { return ReadName(n, &group->name); }},
         {"device", true, [&](const YAML::Node& n) { return ReadDevice(n, &cluster.device); }},
         {"nodes", false, [&](const YAML::Node& n) { return ReadCount(n, "nodes", &nodes); }},
         {"available", false, [&](const YAML::Node& n) { return ReadAvailable(n, &available); }},
         {"devices_per_node", false,
          [&](const YAML::Node& n) { return ReadCount(n, "devices_per_node", &per_node); }},
         {"intra_node", false,
          [&](const YAML::Node& n) {
            return ReadLink(n, "intra_node", LinkUse::kCollectives, &intra);
          }},
         {"inter_node", false,
          [&](const YAML::Node& n) {
            return ReadLink(n, "inter_node", LinkUse::kCollectives, &inter);
          }},
         {"price_per_hour", false, [&](const YAML::Node& n) { return ReadPrices(n, group); }},
         {"calibration", false,
          [&](const YAML::Node& n) { return ReadCalibration(n, &cluster.calibration); }}}));
    if (group->name.empty()) group->name = cluster.device.name;
    group->place = absl::StrCat(file(), ":", node.Mark().line + 1, ":", node.Mark().column + 1);
    cluster.name = group->name;
    cluster.devices_per_node = per_node > 0 ? per_node : cluster.device.devices_per_node;
    if (nodes == 0 && available.on_demand + available.spot == 0) {
      return Error(node, absl::StrCat("group ", group->name, " needs the key \"nodes\""));
    }
    if (!available.given) available.on_demand = nodes;
    cluster.nodes = available.on_demand + available.spot;
    group->spot_nodes = available.spot;
    if (cluster.nodes == 0 || (nodes > 0 && cluster.nodes > nodes)) {
      return Error(node, absl::StrCat("available: found ", cluster.nodes, " of the ", nodes,
                                      " nodes of group ", group->name));
    }
    if (cluster.devices() > kMaxDevices) {
      return Error(node, absl::StrCat("nodes x devices_per_node is ", cluster.devices(),
                                      "; at most ", kMaxDevices, " devices are supported"));
    }
    if (!group->on_demand_price.has_value() && cluster.device.price_per_hour > 0) {
      group->on_demand_price = cluster.device.price_per_hour;
    }
    if (available.spot == 0 && group->spot_price.has_value()) {
      return Error(node, absl::StrCat("group ", group->name,
                                      " has a price of spot nodes, but none of them; give "
                                      "available: {on_demand: ..., spot: ...}"));
    }
    cluster.intra_node = intra.ApplyTo(cluster.device.intra_node);
    cluster.inter_node = inter.ApplyTo(cluster.device.inter_node);
    MW_RETURN_IF_ERROR(
        CheckLink(node, "intra_node", cluster.intra_node, cluster.devices_per_node > 1));
    return CheckLink(node, "inter_node", cluster.inter_node, cluster.nodes > 1);
  }

  struct Available {
    bool given = false;
    int64_t on_demand = 0, spot = 0;
  };

  // Like ReadCount, and may be 0.
  absl::Status ReadNumber(const YAML::Node& node, const std::string& key, int64_t* value) const {
    if (node.IsScalar() && absl::SimpleAtoi(node.Scalar(), value) && *value >= 0 &&
        *value <= kMaxDevices) {
      return absl::OkStatus();
    }
    return Error(node, absl::StrCat(key, ": expected a whole number from 0 to ", kMaxDevices,
                                    ", found ", Quoted(node)));
  }

  absl::Status ReadAvailable(const YAML::Node& node, Available* available) const {
    available->given = true;
    if (node.IsScalar()) return ReadCount(node, "available", &available->on_demand);
    return ReadMap(
        node, "available",
        {{"on_demand", false,
          [&](const YAML::Node& n) { return ReadNumber(n, "on_demand", &available->on_demand); }},
         {"spot", false,
          [&](const YAML::Node& n) { return ReadNumber(n, "spot", &available->spot); }}});
  }

  absl::Status ReadPrices(const YAML::Node& node, NodeGroup* group) const {
    const auto read = [&](std::optional<double>* price) {
      return [this, price](const YAML::Node& n) {
        double value = 0;
        MW_RETURN_IF_ERROR(ReadPrice(n, &value));
        *price = value;
        return absl::OkStatus();
      };
    };
    if (node.IsScalar()) return read(&group->on_demand_price)(node);
    return ReadMap(node, "price_per_hour",
                   {{"on_demand", false, read(&group->on_demand_price)},
                    {"spot", false, read(&group->spot_price)}});
  }

  absl::Status ReadPairs(const YAML::Node& node, const std::vector<NodeGroup>& groups,
                         std::vector<PairLink>* pairs) const {
    if (!node.IsSequence()) {
      return Error(node, absl::StrCat("links: expected a list of {between: [A, B], link: {...}}, "
                                      "found ",
                                      Quoted(node)));
    }
    std::map<std::pair<size_t, size_t>, YAML::Mark> places;
    for (const YAML::Node& entry : node) {
      PairLink pair = {};
      MW_RETURN_IF_ERROR(ReadMap(
          entry, "a link of two groups",
          {{"between", true, [&](const YAML::Node& n) { return ReadPair(n, groups, &pair); }},
           {"link", true, [&](const YAML::Node& n) {
              return ReadLink(n, "link", LinkUse::kSends, &pair.link);
            }}}));
      const auto [first, is_new] = places.try_emplace(std::minmax(pair.a, pair.b), entry.Mark());
      if (!is_new) {
        return Error(entry, absl::StrCat("the link between ", groups[pair.a].name, " and ",
                                         groups[pair.b].name, " is described twice, first at ",
                                         Place(first->second), "; leave one of them out"));
      }
      pairs->push_back(std::move(pair));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPair(const YAML::Node& node, const std::vector<NodeGroup>& groups,
                        PairLink* pair) const {
    if (!node.IsSequence() || node.size() != 2) {
      return Error(node,
                   absl::StrCat("between: expected two groups, as [A, B], found ", Quoted(node)));
    }
    std::vector<std::string> names;
    for (const NodeGroup& group : groups) names.push_back(group.name);
    size_t found[2];
    for (size_t i = 0; i < 2; ++i) {
      std::string name;
      MW_RETURN_IF_ERROR(ReadText(node[i], "between", &name));
      found[i] = std::find(names.begin(), names.end(), name) - names.begin();
      if (found[i] == names.size()) {
        return Error(node[i], absl::StrCat("no group is called \"", name, "\"; did you mean \"",
                                           NearestName(name, names), "\"?"));
      }
    }
    if (found[0] == found[1]) {
      return Error(node, absl::StrCat("between: found ", names[found[0]],
                                      " twice; nodes of one group are linked by inter_node"));
    }
    pair->a = found[0];
    pair->b = found[1];
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<MixedCluster> ParseMixedClusterYaml(std::string_view text, std::string_view file) {
  return MixedClusterReader(file).Read(text);
}

}  // namespace meshwright
