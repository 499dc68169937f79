#include "meshwright/cluster/cluster_fields.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/file.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/units.h"

namespace meshwright {
namespace {

constexpr const char* kPeakTypes[] = {"f64",      "f32",    "f16",        "bf16",
                                      "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz",
                                      "f4e2m1fn", "s8",     "s4"};

}  // namespace

absl::Status ClusterFields::ReadCount(const YAML::Node& node, const std::string& key,
                                      int64_t* value) const {
  if (!node.IsScalar() || !absl::SimpleAtoi(node.Scalar(), value) || *value < 1 ||
      *value > kMaxDevices) {
    return Error(node, absl::StrCat(key, ": expected a whole number from 1 to ", kMaxDevices,
                                    ", found ", Quoted(node)));
  }
  return absl::OkStatus();
}

absl::Status ClusterFields::ReadFlag(const YAML::Node& node, const std::string& key,
                                     bool* value) const {
  if (node.IsScalar() && YAML::convert<bool>::decode(node, *value)) return absl::OkStatus();
  return Error(node, absl::StrCat(key, ": expected true or false, found ", Quoted(node)));
}

absl::Status ClusterFields::ReadPrice(const YAML::Node& node, double* value) const {
  if (!node.IsScalar() || !absl::SimpleAtod(node.Scalar(), value) ||
      !(*value >= 0 && *value < 1e9)) {
    return Error(
        node, absl::StrCat("price_per_hour: expected dollars, such as 2.5, found ", Quoted(node)));
  }
  return absl::OkStatus();
}

absl::Status ClusterFields::ReadCostModel(const YAML::Node& node, std::string* name) const {
  MW_RETURN_IF_ERROR(ReadText(node, "cost_model", name));
  const std::vector<std::string> known = {"calibrated", "roofline", "alpha_beta"};
  if (std::find(known.begin(), known.end(), *name) != known.end()) return absl::OkStatus();
  return Error(node, absl::StrCat("cost_model: expected ", absl::StrJoin(known, ", "), ", found ",
                                  Quoted(node)));
}

absl::Status ClusterFields::ReadCalibration(const YAML::Node& node,
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

absl::Status ClusterFields::ReadLink(const YAML::Node& node, const std::string& key, LinkUse use,
                                     Overrides* link) const {
  link->key = key;
  std::vector<Field> fields = {
      {"name", false, [&](const YAML::Node& n) { return ReadText(n, "name", &link->name); }},
      {"bandwidth", false,
       [&](const YAML::Node& n) {
         return ReadQuantity(n, "bandwidth", ParseBandwidth, kBandwidths, &link->bandwidth);
       }},
      {"latency", false,
       [&](const YAML::Node& n) {
         return ReadQuantity(n, "latency", ParseDuration, kLatencies, &link->latency);
       }},
      {"efficiency", false, [&](const YAML::Node& n) -> absl::Status {
         double& value = link->efficiency;
         if (!n.IsScalar() || !absl::SimpleAtod(n.Scalar(), &value) || !(value > 0 && value <= 1)) {
           return Error(n, absl::StrCat("efficiency: expected a fraction of the bandwidth, more "
                                        "than 0 and at most 1, found ",
                                        Quoted(n)));
         }
         return absl::OkStatus();
       }}};
  if (use == LinkUse::kCollectives) {
    fields.push_back({"in_network_reduction", false, [&](const YAML::Node& n) {
                        return ReadFlag(n, "in_network_reduction",
                                        &link->in_network_reduction.emplace());
                      }});
  }
  return ReadMap(node, absl::StrCat("the link ", key), fields);
}

absl::Status ClusterFields::CheckLink(const YAML::Node& node, const std::string& key,
                                      const Link& link, bool needed) const {
  if (!needed || link.bandwidth_bytes_per_second > 0) return absl::OkStatus();
  return Error(node, absl::StrCat("the device has no usual ", key, " link; give ", key,
                                  ": {bandwidth: ..., latency: ...}"));
}

absl::Status ClusterFields::ReadPeaks(const YAML::Node& node,
                                      std::map<std::string, double>* peaks) const {
  std::vector<Field> fields;
  for (const std::string type : kPeakTypes) {
    fields.push_back({type, false, [this, type, peaks](const YAML::Node& n) {
                        return ReadQuantity(n, absl::StrCat("peak_flops ", type), ParseFlops,
                                            kFlops, &(*peaks)[type]);
                      }});
  }
  MW_RETURN_IF_ERROR(ReadMap(node, "peak_flops", fields));
  if (peaks->empty())
    return Error(node, "peak_flops needs at least one element type, such as {bf16: 989TFLOPS}");
  return absl::OkStatus();
}

absl::Status ClusterFields::FindBuiltin(const YAML::Node& node, const std::string& key,
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

absl::Status ClusterFields::ReadDevice(const YAML::Node& node, DeviceType* device) const {
  if (node.IsScalar()) return FindBuiltin(node, "device", device);
  // The base comes first wherever it stands in the map: the other fields override it.
  *device = DeviceType{};
  bool has_base = false;
  if (node.IsMap()) {
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() || entry.first.Scalar() != "base") continue;
      MW_RETURN_IF_ERROR(FindBuiltin(entry.second, "base", device));
      device->base = device->name;
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
          return ReadQuantity(n, "memory", ParseBytes, kMemories, &device->memory_bytes);
        }},
       {"memory_bandwidth", !has_base,
        [&](const YAML::Node& n) {
          return ReadQuantity(n, "memory_bandwidth", ParseBandwidth, kBandwidths,
                              &device->memory_bytes_per_second);
        }},
       {"peak_flops", !has_base,
        [&](const YAML::Node& n) { return ReadPeaks(n, &device->peak_flops); }},
       {"price_per_hour", false,
        [&](const YAML::Node& n) { return ReadPrice(n, &device->price_per_hour); }},
       {"source", false,
        [&](const YAML::Node& n) { return ReadText(n, "source", &device->source); }}});
}

}  // namespace meshwright
