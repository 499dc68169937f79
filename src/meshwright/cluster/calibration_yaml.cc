// The YAML form of a calibration:
//
//   device: h100-sxm               # whose peak rates the efficiencies refer to
//   source: h100x4_micro.csv
//   kernel_start: 2.5us
//   step: 80us                     # launch overhead of a step,
//   array: 1.7us                   # and of each array on each device
//   overlap_cost: 0.5              # of a second of a hidden collective
//   matmul:
//     bf16: {efficiency: 0.74, half_mn: 64, half_k: 128}
//   memory: [[33554432, 10.4], ...]        # bytes read and written, microseconds
//   rearrange: [[33554432, 13.0], ...]
//   collectives:
//     all-reduce:
//       2: [[1024, 42.3], ...]     # members of the group; bytes of the full buffer, microseconds

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/yaml.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/units.h"

namespace meshwright {
namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                     CollectiveKind::kCollectivePermute};
constexpr int64_t kMostMembers = int64_t{1} << 20;

class CalibrationReader : public YamlReader {
 public:
  using YamlReader::YamlReader;

  absl::StatusOr<Calibration> Read(std::string_view text) const {
    Calibration result;
    MW_RETURN_IF_ERROR(
        ReadDocument(text, "at least device, matmul and memory", "calibration",
                     [&](const YAML::Node& root) { return ReadCalibration(root, &result); }));
    if (result.rearrange.empty()) result.rearrange = result.memory;
    return result;
  }

 private:
  absl::Status ReadCalibration(const YAML::Node& root, Calibration* result) const {
    const auto field = [](const char* key, bool required, auto read) {
      return Field{key, required, [=](const YAML::Node& node) { return read(node, key); }};
    };
    using Node = const YAML::Node&;
    using Key = const std::string&;
    return ReadMap(
        root, "a calibration",
        {field("device", true,
               [=, this](Node n, Key k) { return ReadText(n, k, &result->device); }),
         field("source", false,
               [=, this](Node n, Key k) { return ReadText(n, k, &result->source); }),
         field("kernel_start", false,
               [=, this](Node n, Key k) { return Duration(n, k, &result->kernel_start_seconds); }),
         field("step", false,
               [=, this](Node n, Key k) { return Duration(n, k, &result->step_seconds); }),
         field("array", false,
               [=, this](Node n, Key k) { return Duration(n, k, &result->array_seconds); }),
         field("overlap_cost", false,
               [=, this](Node n, Key k) { return Number(n, k, 0, 1, &result->overlap_cost); }),
         field("matmul", true, [=, this](Node n, Key) { return Matmul(n, &result->matmul); }),
         field("memory", true, [=, this](Node n, Key k) { return Curve(n, k, &result->memory); }),
         field("rearrange", false,
               [=, this](Node n, Key k) { return Curve(n, k, &result->rearrange); }),
         field("collectives", false,
               [=, this](Node n, Key) { return Collectives(n, &result->collectives); })});
  }

  using OnKey =
      std::function<absl::Status(const std::string&, const YAML::Node&, const YAML::Node&)>;

  absl::Status EachKey(const YAML::Node& node, std::string_view what, const OnKey& on_key) const {
    if (!node.IsMap()) return Error(node, StrCat("expected ", what, ", found ", Quoted(node)));
    std::vector<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        return Error(entry.first, StrCat("key \"", key, "\" stands here twice"));
      seen.push_back(key);
      MW_RETURN_IF_ERROR(on_key(key, entry.first, entry.second));
    }
    return absl::OkStatus();
  }

  absl::Status Duration(const YAML::Node& node, const std::string& key, double* value) const {
    if (!node.IsScalar())
      return Error(node, StrCat(key, ": expected a time, found ", Quoted(node)));
    const absl::StatusOr<double> parsed = ParseDuration(node.Scalar());
    if (!parsed.ok()) return Error(node, StrCat(key, ": ", FromAbsl(parsed.status().message())));
    *value = *parsed;
    return absl::OkStatus();
  }

  absl::Status Number(const YAML::Node& node, const std::string& key, double least, double most,
                      double* value) const {
    if (!node.IsScalar() || !absl::SimpleAtod(node.Scalar(), value) ||
        !(*value >= least && *value <= most)) {
      return Error(node, StrCat(key, ": expected a number from ", least, " to ", most, ", found ",
                                Quoted(node)));
    }
    return absl::OkStatus();
  }

  absl::Status Matmul(const YAML::Node& node, std::map<std::string, MatmulCurve>* matmul) const {
    return EachKey(
        node, "matmul, a map from element types",
        [&](const std::string& type, const YAML::Node& name, const YAML::Node& value) {
          if (type.empty()) return Error(name, "expected an element type such as bf16");
          MatmulCurve& curve = (*matmul)[type];
          MW_RETURN_IF_ERROR(EachKey(
              value, "{efficiency, half_mn, half_k}",
              [&](const std::string& key, const YAML::Node& key_node, const YAML::Node& number) {
                if (key == "efficiency") return Number(number, key, 1e-3, 1, &curve.efficiency);
                if (key == "half_mn") return Number(number, key, 0, 1e6, &curve.half_mn);
                if (key == "half_k") return Number(number, key, 0, 1e6, &curve.half_k);
                return UnknownKey(key_node, "{efficiency, half_mn, half_k}",
                                  {"efficiency", "half_mn", "half_k"});
              }));
          if (curve.efficiency == 0) return Error(value, StrCat(type, " needs an efficiency"));
          return absl::OkStatus();
        });
  }

  absl::Status Curve(const YAML::Node& node, const std::string& key, TimeCurve* curve) const {
    constexpr double kMost = 1e18;
    if (!node.IsSequence() || node.size() == 0) {
      return Error(node,
                   StrCat(key, ": expected a list of [bytes, microseconds], found ", Quoted(node)));
    }
    for (const YAML::Node& point : node) {
      if (!point.IsSequence() || point.size() != 2)
        return Error(point, StrCat(key, ": expected [bytes, microseconds], found ", Quoted(point)));
      TimeCurve::Point p;
      MW_RETURN_IF_ERROR(Number(point[0], "bytes", 0, kMost, &p.bytes));
      MW_RETURN_IF_ERROR(Number(point[1], "microseconds", 0, kMost, &p.seconds));
      p.seconds *= 1e-6;
      if (!curve->empty() &&
          (p.bytes <= curve->points.back().bytes || p.seconds < curve->points.back().seconds)) {
        return Error(point,
                     StrCat(key, ": bytes must rise, and times not fall, from point to point"));
      }
      curve->points.push_back(p);
    }
    if (curve->points.back().bytes <= 0)
      return Error(node, StrCat(key, ": no point above 0 bytes"));
    return absl::OkStatus();
  }

  absl::Status Collectives(
      const YAML::Node& node,
      std::map<CollectiveKind, std::map<int64_t, TimeCurve>>* collectives) const {
    return EachKey(
        node, "collectives, a map from kinds",
        [&](const std::string& kind_name, const YAML::Node& name, const YAML::Node& groups) {
          std::vector<std::string> known;
          for (CollectiveKind kind : kKinds) {
            known.emplace_back(CollectiveName(kind));
            if (known.back() != kind_name) continue;
            return EachKey(
                groups, "a map from numbers of members",
                [&, kind](const std::string& members, const YAML::Node& members_node,
                          const YAML::Node& points) {
                  int64_t n = 0;
                  if (!absl::SimpleAtoi(members, &n) || n < 2 || n > kMostMembers) {
                    return Error(members_node, StrCat("expected a number of members from 2, found ",
                                                      Quoted(members_node)));
                  }
                  return Curve(points, StrCat(kind_name, " of ", n), &(*collectives)[kind][n]);
                });
          }
          return UnknownKey(name, "collectives", known);
        });
  }
};

std::string CurveText(const TimeCurve& curve) {
  return absl::StrCat("[",
                      absl::StrJoin(curve.points, ", ",
                                    [](std::string* out, const TimeCurve::Point& p) {
                                      absl::StrAppendFormat(out, "[%.0f, %.3f]", p.bytes,
                                                            p.seconds * 1e6);
                                    }),
                      "]");
}

}  // namespace

absl::StatusOr<Calibration> ParseCalibration(std::string_view text, std::string_view file) {
  return CalibrationReader(file).Read(text);
}

std::string CalibrationYaml(const Calibration& calibration) {
  std::string text = absl::StrFormat(
      "device: %s\nsource: \"%s\"\nkernel_start: %.3fus\nstep: %.3fus\narray: "
      "%.3fus\noverlap_cost: "
      "%.3f\nmatmul:\n",
      calibration.device, absl::CHexEscape(calibration.source),
      calibration.kernel_start_seconds * 1e6, calibration.step_seconds * 1e6,
      calibration.array_seconds * 1e6, calibration.overlap_cost);
  for (const auto& [type, curve] : calibration.matmul) {
    absl::StrAppendFormat(&text, "  %s: {efficiency: %.3f, half_mn: %.0f, half_k: %.0f}\n", type,
                          curve.efficiency, curve.half_mn, curve.half_k);
  }
  absl::StrAppend(&text, "# [bytes, microseconds]\nmemory: ", CurveText(calibration.memory),
                  "\nrearrange: ", CurveText(calibration.rearrange), "\n");
  if (!calibration.collectives.empty()) absl::StrAppend(&text, "collectives:\n");
  for (const auto& [kind, groups] : calibration.collectives) {
    absl::StrAppend(&text, "  ", ToAbsl(CollectiveName(kind)), ":\n");
    for (const auto& [members, curve] : groups)
      absl::StrAppend(&text, "    ", members, ": ", CurveText(curve), "\n");
  }
  return text;
}

}  // namespace meshwright
