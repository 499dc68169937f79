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
//   inter_node: {bandwidth: 400Gbit/s, latency: 6us}
//   price_per_hour: 2.5         # dollars a device, whatever the device says
//   calibration: device.yaml    # what `meshwright calibrate` wrote, beside this file
//   cost_model: calibrated      # roofline or alpha_beta; of plans where no option says otherwise
//
// A link replaces the named fields of the device's usual link. Bandwidths are one direction, per
// device; `efficiency` is the fraction that large messages reach. Links have to be given where
// nothing supplies them: intra_node if a node has more than one device, inter_node if there is more
// than one node.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "meshwright/base/file.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/yaml.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/units.h"

namespace meshwright {
namespace {

constexpr const char* kPeakTypes[] = {"f64",      "f32",    "f16",        "bf16",
                                      "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz",
                                      "f4e2m1fn", "s8",     "s4"};

class ClusterReader : public YamlReader {
 public:
  using YamlReader::YamlReader;

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
          [&](const YAML::Node& n) { return ReadLink(n, "intra_node", &intra); }},
         {"inter_node", false,
          [&](const YAML::Node& n) { return ReadLink(n, "inter_node", &inter); }},
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
    if (price >= 0) cluster.device.price_per_hour = price;
    cluster.intra_node = intra.ApplyTo(cluster.device.intra_node);
    cluster.inter_node = inter.ApplyTo(cluster.device.inter_node);
    MW_RETURN_IF_ERROR(
        CheckLink(node, "intra_node", cluster.intra_node, cluster.devices_per_node > 1));
    MW_RETURN_IF_ERROR(CheckLink(node, "inter_node", cluster.inter_node, cluster.nodes > 1));
    return cluster;
  }

  // The fields of a link that were given.
  struct Overrides {
    std::string name;
    double bandwidth = -1, latency = -1, efficiency = -1;

    Link ApplyTo(Link link) const {
      if (!name.empty()) link.name = name;
      if (bandwidth >= 0) link.bandwidth_bytes_per_second = bandwidth;
      if (latency >= 0) link.latency_seconds = latency;
      if (efficiency >= 0) link.efficiency = efficiency;
      return link;
    }
  };

  absl::Status ReadCount(const YAML::Node& node, const std::string& key, int64_t* value) const {
    if (!node.IsScalar() || !absl::SimpleAtoi(node.Scalar(), value) || *value < 1 ||
        *value > kMaxDevices) {
      return Error(node, absl::StrCat(key, ": expected a whole number from 1 to ", kMaxDevices,
                                      ", found ", Quoted(node)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPrice(const YAML::Node& node, double* value) const {
    if (!node.IsScalar() || !absl::SimpleAtod(node.Scalar(), value) ||
        !(*value >= 0 && *value < 1e9)) {
      return Error(node, absl::StrCat("price_per_hour: expected dollars, such as 2.5, found ",
                                      Quoted(node)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadCostModel(const YAML::Node& node, std::string* name) const {
    MW_RETURN_IF_ERROR(ReadText(node, "cost_model", name));
    const std::vector<std::string> known = {"calibrated", "roofline", "alpha_beta"};
    if (std::find(known.begin(), known.end(), *name) != known.end()) return absl::OkStatus();
    return Error(node, absl::StrCat("cost_model: expected ", absl::StrJoin(known, ", "), ", found ",
                                    Quoted(node)));
  }

  // The path is relative to the folder of the cluster's file.
  absl::Status ReadCalibration(const YAML::Node& node,
                               std::shared_ptr<const Calibration>* calibration) const {
    std::string name;
    MW_RETURN_IF_ERROR(ReadText(node, "calibration", &name));
    const size_t slash = file().rfind('/');
    const bool relative = name[0] != '/' && slash != std::string::npos;
    const std::string path = relative ? file().substr(0, slash + 1) + name : name;
    constexpr int64_t kMostBytes = int64_t{1} << 20;
    const absl::StatusOr<std::string> text = ReadFileMaybeGzip(path, kMostBytes);
    if (!text.ok()) return Error(node, absl::StrCat("calibration: ", text.status().message()));
    MW_ASSIGN_OR_RETURN(Calibration parsed, ParseCalibration(*text, path));
    *calibration = std::make_shared<const Calibration>(std::move(parsed));
    return absl::OkStatus();
  }

  // A quantity with a unit (units.h), greater than zero unless `zero_allowed`.
  template <typename T>
  absl::Status ReadQuantity(const YAML::Node& node, const std::string& key,
                            absl::StatusOr<T> (*parse)(std::string_view), bool zero_allowed,
                            T* value) const {
    if (!node.IsScalar())
      return Error(node, absl::StrCat(key, ": expected a quantity, found ", Quoted(node)));
    const absl::StatusOr<T> parsed = parse(node.Scalar());
    if (!parsed.ok()) return Error(node, absl::StrCat(key, ": ", parsed.status().message()));
    if (*parsed == 0 && !zero_allowed)
      return Error(node, absl::StrCat(key, ": must be more than zero"));
    *value = *parsed;
    return absl::OkStatus();
  }

  absl::Status ReadLink(const YAML::Node& node, const std::string& key, Overrides* link) const {
    return ReadMap(
        node, absl::StrCat("the link ", key),
        {{"name", false, [&](const YAML::Node& n) { return ReadText(n, "name", &link->name); }},
         {"bandwidth", false,
          [&](const YAML::Node& n) {
            return ReadQuantity(n, "bandwidth", ParseBandwidth, false, &link->bandwidth);
          }},
         {"latency", false,
          [&](const YAML::Node& n) {
            return ReadQuantity(n, "latency", ParseDuration, true, &link->latency);
          }},
         {"efficiency", false, [&](const YAML::Node& n) -> absl::Status {
            double& value = link->efficiency;
            if (!n.IsScalar() || !absl::SimpleAtod(n.Scalar(), &value) ||
                !(value > 0 && value <= 1)) {
              return Error(n, absl::StrCat("efficiency: expected a fraction of the bandwidth, more "
                                           "than 0 and at most 1, found ",
                                           Quoted(n)));
            }
            return absl::OkStatus();
          }}});
  }

  absl::Status CheckLink(const YAML::Node& node, const std::string& key, const Link& link,
                         bool needed) const {
    if (!needed || link.bandwidth_bytes_per_second > 0) return absl::OkStatus();
    return Error(node, absl::StrCat("the device has no usual ", key, " link; give ", key,
                                    ": {bandwidth: ..., latency: ...}"));
  }

  absl::Status ReadPeaks(const YAML::Node& node, std::map<std::string, double>* peaks) const {
    std::vector<Field> fields;
    for (const std::string type : kPeakTypes) {
      fields.push_back({type, false, [this, type, peaks](const YAML::Node& n) {
                          return ReadQuantity(n, absl::StrCat("peak_flops ", type), ParseFlops,
                                              false, &(*peaks)[type]);
                        }});
    }
    MW_RETURN_IF_ERROR(ReadMap(node, "peak_flops", fields));
    if (peaks->empty())
      return Error(node, "peak_flops needs at least one element type, such as {bf16: 989TFLOPS}");
    return absl::OkStatus();
  }

  absl::Status FindBuiltin(const YAML::Node& node, const std::string& key,
                           DeviceType* device) const {
    std::string name;
    MW_RETURN_IF_ERROR(ReadText(node, key, &name));
    const DeviceType* found = FindDevice(name);
    if (found == nullptr) {
      std::vector<std::string> names;
      for (const DeviceType& builtin : BuiltinDevices()) names.push_back(builtin.name);
      return Error(node,
                   absl::StrCat("unknown device ", Quoted(node), "; did you mean \"",
                                NearestName(name, names), "\"? `meshwright clusters` lists them"));
    }
    *device = *found;
    return absl::OkStatus();
  }

  absl::Status ReadDevice(const YAML::Node& node, DeviceType* device) const {
    if (node.IsScalar()) return FindBuiltin(node, "device", device);
    // The base comes first wherever it stands in the map: the other fields override it.
    *device = DeviceType{};
    bool has_base = false;
    if (node.IsMap()) {
      for (const auto& entry : node) {
        if (!entry.first.IsScalar() || entry.first.Scalar() != "base") continue;
        MW_RETURN_IF_ERROR(FindBuiltin(entry.second, "base", device));
        has_base = true;
      }
    }
    return ReadMap(
        node, "a device",
        {{"name", true, [&](const YAML::Node& n) { return ReadText(n, "name", &device->name); }},
         {"base", false, [](const YAML::Node&) { return absl::OkStatus(); }},
         {"description", false,
          [&](const YAML::Node& n) { return ReadText(n, "description", &device->description); }},
         {"memory", !has_base,
          [&](const YAML::Node& n) {
            return ReadQuantity(n, "memory", ParseBytes, false, &device->memory_bytes);
          }},
         {"memory_bandwidth", !has_base,
          [&](const YAML::Node& n) {
            return ReadQuantity(n, "memory_bandwidth", ParseBandwidth, false,
                                &device->memory_bytes_per_second);
          }},
         {"peak_flops", !has_base,
          [&](const YAML::Node& n) { return ReadPeaks(n, &device->peak_flops); }},
         {"price_per_hour", false,
          [&](const YAML::Node& n) { return ReadPrice(n, &device->price_per_hour); }},
         {"source", false,
          [&](const YAML::Node& n) { return ReadText(n, "source", &device->source); }}});
  }
};

}  // namespace

absl::StatusOr<Cluster> ParseClusterYaml(std::string_view text, std::string_view file) {
  return ClusterReader(file).Read(text);
}

}  // namespace meshwright
