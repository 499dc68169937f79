#ifndef MESHWRIGHT_CLUSTER_CLUSTER_FIELDS_H_
#define MESHWRIGHT_CLUSTER_CLUSTER_FIELDS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/yaml.h"
#include "meshwright/cluster/cluster.h"

namespace meshwright {

// Readers of what the descriptions of clusters and of groups of nodes have in common;
// cluster_yaml.cc has the reference.
class ClusterFields : public YamlReader {
 public:
  using YamlReader::YamlReader;

 protected:
  // Uses of a link: collectives of groups, or sends alone, which switches add nothing of.
  enum class LinkUse { kCollectives, kSends };

  // The fields of a link that were given.
  struct Overrides {
    std::string name, key;  // given, and of the field: what a link without a name is called
    double bandwidth = -1, latency = -1, efficiency = -1;
    std::optional<bool> in_network_reduction;

    Link ApplyTo(Link link) const {
      if (!name.empty()) link.name = name;
      if (link.name.empty()) link.name = key;
      if (bandwidth >= 0) link.bandwidth_bytes_per_second = bandwidth;
      if (latency >= 0) link.latency_seconds = latency;
      if (efficiency >= 0) link.efficiency = efficiency;
      link.in_network_reduction = in_network_reduction.value_or(link.in_network_reduction);
      return link;
    }
  };

  absl::Status ReadCount(const YAML::Node& node, const std::string& key, int64_t* value) const;
  absl::Status ReadFlag(const YAML::Node& node, const std::string& key, bool* value) const;
  absl::Status ReadPrice(const YAML::Node& node, double* value) const;
  absl::Status ReadCostModel(const YAML::Node& node, std::string* name) const;
  // The path is relative to the folder of the cluster's file.
  absl::Status ReadCalibration(const YAML::Node& node,
                               std::shared_ptr<const Calibration>* calibration) const;
  absl::Status ReadLink(const YAML::Node& node, const std::string& key, LinkUse use,
                        Overrides* link) const;
  // An error if the link is needed and nothing says how fast it is.
  absl::Status CheckLink(const YAML::Node& node, const std::string& key, const Link& link,
                         bool needed) const;
  // A built-in device's name, or a map.
  absl::Status ReadDevice(const YAML::Node& node, DeviceType* device) const;

 private:
  // Limits of every device and link, so that times stay numbers that can be compared.
  struct Limits {
    double least, most;
    const char* words;
  };
  static constexpr Limits kBandwidths = {1e3, 1e18, "from 1kB/s to 1e9GB/s"};
  static constexpr Limits kLatencies = {0, 1e3, "at most 1000s"};
  static constexpr Limits kFlops = {1e6, 1e21, "from 1MFLOPS to 1e9TFLOPS"};
  static constexpr Limits kMemories = {1, 1e18, "at most 1e9GB"};

  // A quantity with a unit (units.h).
  template <typename T>
  absl::Status ReadQuantity(const YAML::Node& node, const std::string& key,
                            absl::StatusOr<T> (*parse)(std::string_view), const Limits& limits,
                            T* value) const {
    if (!node.IsScalar())
      return Error(node, absl::StrCat(key, ": expected a quantity, found ", Quoted(node)));
    const absl::StatusOr<T> parsed = parse(node.Scalar());
    if (!parsed.ok()) return Error(node, absl::StrCat(key, ": ", parsed.status().message()));
    const auto number = static_cast<double>(*parsed);
    if (number == 0 && limits.least > 0)
      return Error(node, absl::StrCat(key, ": must be more than zero"));
    if (!(number >= limits.least && number <= limits.most)) {
      return Error(node, absl::StrCat(key, ": must be ", limits.words, ", found ", Quoted(node)));
    }
    *value = *parsed;
    return absl::OkStatus();
  }

  absl::Status ReadPeaks(const YAML::Node& node, std::map<std::string, double>* peaks) const;
  absl::Status FindBuiltin(const YAML::Node& node, const std::string& key,
                           DeviceType* device) const;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_CLUSTER_FIELDS_H_
