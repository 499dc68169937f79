#ifndef MESHWRIGHT_CLUSTER_CLUSTER_H_
#define MESHWRIGHT_CLUSTER_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright {

// One kind of link. Time of a message of n bytes: latency_seconds + n / achievable().
struct Link {
  std::string name;  // "nvlink4", "pcie4", "ib-ndr400", ...
  double bandwidth_bytes_per_second =
      0;  // one direction, per device, as data sheets give it divided by two
  double latency_seconds = 0;
  // Fraction of the bandwidth that large messages of a collective reach; a property of the link and
  // its protocol, the same for every size and group (device_table.cc says where the figures come
  // from).
  double efficiency = 1;
  // Whether its switches add what passes through them (NVLS in NVLink's, SHARP in InfiniBand's), so
  // that an all-reduce sends less: collective.cc.
  bool in_network_reduction = false;

  double achievable() const { return bandwidth_bytes_per_second * efficiency; }
};

// One accelerator, by the vendor's data sheet (dense, no sparsity), which the table cites.
// Share of the peak that long matmuls run at, under the power limit: of an H100 (cost/roofline.cc).
inline constexpr double kMatmulEfficiency = 0.74;

struct DeviceType {
  std::string name;  // "h100-sxm"
  std::string description;
  int64_t memory_bytes = 0;
  double memory_bytes_per_second = 0;
  // Peak operations per second for matmuls by element type ("f32" is what frameworks use by
  // default for f32 inputs, i.e. TF32 where the device has it).
  std::map<std::string, double> peak_flops;
  int devices_per_node = 8;                      // how it is usually sold
  Link intra_node, inter_node;                   // usual links; inter_node is per device
  double price_per_hour = 0;                     // dollars, 0: unknown
  double matmul_efficiency = kMatmulEfficiency;  // an H100's, where it was not measured
  // Whether XLA has kernels for products of groups (ragged-dot). Elsewhere it computes a dense
  // product of all rows for every group, and drops what is not the group's.
  bool grouped_products = false;
  std::string source;  // where the figures come from
  // The built-in type that this one is derived from (`base` in a cluster's file); else empty.
  std::string base;

  // The type whose measurements are this one's too.
  const std::string& measured_as() const { return base.empty() ? name : base; }

  // Peak for `element_type` (HLO spelling); falls back to the nearest wider type it has, and for
  // types wider than all it has (or unknown ones) to the slowest of the table.
  double PeakFlops(std::string_view element_type) const;
};

// Every built-in device type, in the order of the table.
const std::vector<DeviceType>& BuiltinDevices();
const DeviceType* FindDevice(std::string_view name);  // nullptr if unknown

// The largest cluster that is accepted: beyond any real one, small enough that products of sizes
// and walks over devices stay harmless.
inline constexpr int64_t kMaxDevices = int64_t{1} << 20;

struct Calibration;

// Switches between nodes, in two levels: every port on a leaf, every leaf on a spine. The nodes of
// a unit reach each other's ports over leaves alone: with rails, port i of all of them is on the
// unit's leaf i ("rail-optimised"), and what goes to another port's rail takes the spine; without,
// all ports of a unit are on one leaf.
struct Fabric {
  int64_t unit_nodes = 0;  // 0: all nodes are one unit, and every port reaches every other alike
  bool rails = true;
  double oversubscription = 1;  // bandwidth of a leaf's ports to that of its links to the spine

  friend bool operator==(const Fabric&, const Fabric&) = default;
};

// A homogeneous cluster: nodes x devices.
struct Cluster {
  std::string name;  // as the user wrote it
  DeviceType device;
  int64_t nodes = 1;
  int64_t devices_per_node = 1;
  Link intra_node, inter_node;
  Fabric fabric;
  std::string cost_model;  // that its plans are made with; empty: not said
  std::shared_ptr<const Calibration>
      calibration;  // measured on it; null: the device's built-in one
  int64_t devices() const { return nodes * devices_per_node; }
};

// "8xh100-sxm" (one node of 8; more than one node if that is beyond what one node of this type
// holds, then it must divide), "16x8xh100-sxm" (16 nodes of 8), "h100-sxm" (one device), or the
// path of a YAML file.
absl::StatusOr<Cluster> ParseCluster(std::string_view spec);

// "2x8xh100-sxm", "4x8xa100-80g" of "2x8xh100-sxm+4x8xa100-80g". Error: one of them is empty.
absl::StatusOr<std::vector<std::string>> SplitClusterParts(std::string_view spec);
// The YAML form (cluster_yaml.cc has its reference); `file` is for error messages, which carry
// file:line:column.
absl::StatusOr<Cluster> ParseClusterYaml(std::string_view text, std::string_view file);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_CLUSTER_H_
