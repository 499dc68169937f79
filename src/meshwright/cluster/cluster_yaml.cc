// The YAML form of a cluster:
//
//   name: my-cluster            # for reports; default: the file's name
//   nodes: 4                    # default 1
//   devices_per_node: 8         # default: as the device is usually sold
//   device: h100-sxm            # a built-in device, or a map:
//   device:
//     name: h100-96g            # required
//     base: h100-sxm            # start from a built-in device; without it memory,
//                               # memory_bandwidth and peak_flops are required
//     description: H100 with 96 GB
//     memory: 96GiB
//     memory_bandwidth: 3.9TB/s
//     peak_flops: {bf16: 989TFLOPS, f32: 495TFLOPS}   # dense; adds to or replaces the base's
//     price_per_hour: 2.5       # dollars a device
//     source: where the figures come from
//   intra_node: {name: nvlink4, bandwidth: 450GB/s, latency: 3us, efficiency: 0.7}
//   inter_node:
//     bandwidth: 400Gbit/s
//     latency: 6us
//     in_network_reduction: true   # switches add (NVLS, SHARP), and all-reduces make use of it
//   fabric:                     # of switches; default: every port reaches every other alike
//     unit_nodes: 32            # nodes that reach each other over leaves alone; required
//     rails: true               # port i of each on the unit's leaf i, the default; else one leaf
//     oversubscription: 2       # of leaves: ports to links to the spine; default 1
//   price_per_hour: 2.5         # dollars a device, whatever the device says
//   calibration: device.yaml    # what `meshwright calibrate` wrote, beside this file
//   cost_model: calibrated      # roofline or alpha_beta; of plans where no option says otherwise
//
// A link replaces the named fields of the device's usual link. Bandwidths are one direction, per
// device; `efficiency` is the fraction that large messages reach. Links have to be given where
// nothing supplies them: intra_node if a node has more than one device, inter_node if there is more
// than one node. A cluster of several types of nodes is described as mixed_cluster_yaml.cc says.

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/cluster_fields.h"

namespace meshwright {
namespace {

constexpr double kMostOversubscribed = 1000;

class ClusterReader : public ClusterFields {
 public:
  using ClusterFields::ClusterFields;

  absl::StatusOr<Cluster> Read(std::string_view text) const {
    absl::StatusOr<Cluster> cluster;
    MW_RETURN_IF_ERROR(
        ReadDocument(text, "at least \"device: NAME\"", "cluster", [&](const YAML::Node& root) {
          cluster = ReadCluster(root);
          return cluster.status();
        }));
    return cluster;
  }

 private:
  absl::StatusOr<Cluster> ReadCluster(const YAML::Node& node) const {
    Cluster cluster;
    cluster.name = file();
    cluster.devices_per_node = 0;  // not given
    Overrides intra, inter;
    double price = -1;
    MW_RETURN_IF_ERROR(ReadMap(
        node, "a cluster",
        {{"name", false, [&](const YAML::Node& n) { return ReadText(n, "name", &cluster.name); }},
         {"device", true, [&](const YAML::Node& n) { return ReadDevice(n, &cluster.device); }},
         {"nodes", false,
          [&](const YAML::Node& n) { return ReadCount(n, "nodes", &cluster.nodes); }},
         {"devices_per_node", false,
          [&](const YAML::Node& n) {
            return ReadCount(n, "devices_per_node", &cluster.devices_per_node);
          }},
         {"intra_node", false,
          [&](const YAML::Node& n) {
            return ReadLink(n, "intra_node", LinkUse::kCollectives, &intra);
          }},
         {"inter_node", false,
          [&](const YAML::Node& n) {
            return ReadLink(n, "inter_node", LinkUse::kCollectives, &inter);
          }},
         {"fabric", false, [&](const YAML::Node& n) { return ReadFabric(n, &cluster.fabric); }},
         {"price_per_hour", false, [&](const YAML::Node& n) { return ReadPrice(n, &price); }},
         {"calibration", false,
          [&](const YAML::Node& n) { return ReadCalibration(n, &cluster.calibration); }},
         {"cost_model", false,
          [&](const YAML::Node& n) { return ReadCostModel(n, &cluster.cost_model); }}}));
    if (cluster.devices_per_node == 0) cluster.devices_per_node = cluster.device.devices_per_node;
    if (cluster.devices() > kMaxDevices) {
      return Error(node, absl::StrCat("nodes x devices_per_node is ", cluster.devices(),
                                      "; at most ", kMaxDevices, " devices are supported"));
    }
    const int64_t unit = cluster.fabric.unit_nodes;
    if (unit > 0 && unit < cluster.nodes && cluster.nodes % unit != 0) {
      return Error(node["fabric"]["unit_nodes"],
                   absl::StrCat("unit_nodes ", unit, " does not divide the ", cluster.nodes,
                                " nodes; expected a divisor, or at least as many"));
    }
    if (price >= 0) cluster.device.price_per_hour = price;
    cluster.intra_node = intra.ApplyTo(cluster.device.intra_node);
    cluster.inter_node = inter.ApplyTo(cluster.device.inter_node);
    MW_RETURN_IF_ERROR(
        CheckLink(node, "intra_node", cluster.intra_node, cluster.devices_per_node > 1));
    MW_RETURN_IF_ERROR(CheckLink(node, "inter_node", cluster.inter_node, cluster.nodes > 1));
    return cluster;
  }

  absl::Status ReadFabric(const YAML::Node& node, Fabric* fabric) const {
    return ReadMap(
        node, "a fabric",
        {{"unit_nodes", true,
          [&](const YAML::Node& n) { return ReadCount(n, "unit_nodes", &fabric->unit_nodes); }},
         {"rails", false,
          [&](const YAML::Node& n) { return ReadFlag(n, "rails", &fabric->rails); }},
         {"oversubscription", false, [&](const YAML::Node& n) {
            return ReadOversubscription(n, &fabric->oversubscription);
          }}});
  }

  absl::Status ReadOversubscription(const YAML::Node& node, double* factor) const {
    if (node.IsScalar() && YAML::convert<double>::decode(node, *factor) && *factor >= 1 &&
        *factor <= kMostOversubscribed) {
      return absl::OkStatus();
    }
    return Error(node,
                 absl::StrCat("oversubscription must be a number from 1 to ", kMostOversubscribed));
  }
};

}  // namespace

absl::StatusOr<Cluster> ParseClusterYaml(std::string_view text, std::string_view file) {
  return ClusterReader(file).Read(text);
}

}  // namespace meshwright
