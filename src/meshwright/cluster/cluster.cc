#include "meshwright/cluster/cluster.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/file.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/program/file_kind.h"

namespace meshwright {
namespace {

// A cluster description is a page of text; more than this is some other file.
constexpr int64_t kMaxYamlBytes = int64_t{1} << 20;

absl::Status UnknownDevice(const std::string& name) {
  std::vector<std::string> names;
  for (const DeviceType& device : BuiltinDevices()) names.push_back(device.name);
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::NotFoundError(
      absl::StrCat("unknown device \"", absl::CHexEscape(name.substr(0, 80)), "\"; did you mean \"",
                   NearestName(lower, names),
                   "\"? `meshwright clusters` lists the devices, a .yaml file describes others"));
}

// Takes "NNNx" off the front of `*text`. Device names hold an "x" too ("rtx3090"), but none starts
// with a digit. Values that overflow come back as -1.
std::optional<int64_t> TakeCount(std::string* text) {
  size_t digits = 0;
  while (digits < text->size() && absl::ascii_isdigit((*text)[digits])) ++digits;
  if (digits == 0 || digits >= text->size() || ((*text)[digits] != 'x' && (*text)[digits] != 'X'))
    return std::nullopt;
  int64_t value = -1;
  if (!absl::SimpleAtoi(text->substr(0, digits), &value)) value = -1;
  text->erase(0, digits + 1);
  return value;
}

absl::Status CheckCount(int64_t count, const char* what, const std::string& spec) {
  if (count >= 1 && count <= kMaxDevices) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cluster \"", absl::CHexEscape(spec.substr(0, 80)),
                                                 "\": the number of ", what, " must be from 1 to ",
                                                 kMaxDevices));
}

bool LooksLikePath(const std::string& spec) {
  return absl::EndsWith(spec, ".yaml") || absl::EndsWith(spec, ".yml") ||
         absl::StrContains(spec, '/');
}

bool IsRegularFile(const std::string& path, int64_t* bytes) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  *bytes = info.st_size;
  return true;
}

absl::StatusOr<Cluster> ReadCluster(const std::string& path) {
  int64_t bytes = 0;
  if (IsRegularFile(path, &bytes) && bytes > kMaxYamlBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", bytes, " bytes are too many for a cluster description"));
  }
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFileMaybeGzip(path, kMaxYamlBytes));
  absl::StatusOr<Cluster> cluster = ParseClusterYaml(text, path);
  if (cluster.ok()) return cluster;
  const absl::Status kind = CheckFileKind(text, path, WantedFile::kCluster);
  if (kind.ok()) return cluster;
  return absl::InvalidArgumentError(
      absl::StrCat(kind.message(),
                   "; a cluster is written as \"8xh100-sxm\", or described by a file with at least "
                   "\"device: NAME\""));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitClusterParts(std::string_view spec) {
  std::vector<std::string> parts = absl::StrSplit(ToAbsl(spec), '+');
  for (std::string& part : parts) {
    absl::StripAsciiWhitespace(&part);
    if (!part.empty() || parts.size() == 1) continue;
    return absl::InvalidArgumentError(
        StrCat("cluster \"", spec,
               "\": nothing stands on one side of a +; write for example "
               "\"2x8xh100-sxm+4x8xa100-80g\""));
  }
  return parts;
}

absl::StatusOr<Cluster> ParseCluster(std::string_view text) {
  std::string spec(text);
  absl::StripAsciiWhitespace(&spec);
  if (spec.empty()) {
    return absl::InvalidArgumentError(
        "empty cluster; write for example \"8xh100-sxm\" or the path of a .yaml file");
  }
  if (LooksLikePath(spec)) return ReadCluster(spec);
  if (spec.find('+') != std::string::npos) {
    MW_RETURN_IF_ERROR(SplitClusterParts(spec).status());
    return absl::InvalidArgumentError(
        absl::StrCat("cluster \"", spec,
                     "\": several types of devices, joined by +, are for "
                     "models and for pipelines of programs (--pipeline auto)"));
  }

  std::string name = spec;
  const std::optional<int64_t> first = TakeCount(&name);
  std::optional<int64_t> second;
  if (first) second = TakeCount(&name);
  const DeviceType* device = FindDevice(absl::AsciiStrToLower(name));
  if (device == nullptr) {
    int64_t bytes = 0;
    if (IsRegularFile(spec, &bytes)) return ReadCluster(spec);
    if (name.empty() || std::all_of(name.begin(), name.end(), absl::ascii_isdigit)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cluster \"", absl::CHexEscape(spec.substr(0, 80)),
                       "\": the type of the devices is missing; write for example \"8xh100-sxm\""));
    }
    return UnknownDevice(name);
  }

  Cluster cluster{.name = spec,
                  .device = *device,
                  .nodes = 1,
                  .devices_per_node = 1,
                  .intra_node = device->intra_node,
                  .inter_node = device->inter_node,
                  .cost_model = "",
                  .calibration = nullptr};
  if (second) {
    MW_RETURN_IF_ERROR(CheckCount(*first, "nodes", spec));
    MW_RETURN_IF_ERROR(CheckCount(*second, "devices a node", spec));
    cluster.nodes = *first;
    cluster.devices_per_node = *second;
  } else if (first) {
    MW_RETURN_IF_ERROR(CheckCount(*first, "devices", spec));
    const int64_t per_node = device->devices_per_node;
    cluster.devices_per_node = std::min<int64_t>(*first, per_node);
    cluster.nodes = *first / cluster.devices_per_node;
    if (cluster.devices() != *first) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cluster \"", spec, "\": nodes of ", device->name, " hold ", per_node, ", so more than ",
          per_node, " devices must be a multiple of ", per_node, " (", cluster.devices(), " or ",
          cluster.devices() + per_node, "); for other nodes write NODESxDEVICESx", device->name));
    }
  }
  MW_RETURN_IF_ERROR(CheckCount(cluster.devices(), "devices", spec));
  return cluster;
}

}  // namespace meshwright
