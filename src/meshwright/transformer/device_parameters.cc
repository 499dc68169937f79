#include "meshwright/transformer/device_parameters.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <utility>

#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer {
namespace {

// Fitted by bench/transformer/fit.py on half of the published runs; devices of a generation share
// all but the fractions of the peak, which their power limits set. Where half of the runs tell
// nothing, these are the defaults.
constexpr std::string_view kBuiltin = R"yaml(
devices:
  v100: {matmul_16: 0.90856, matmul_8: 0.6, matmul_4: 0.45, half_side: 110.13,
    attention: 0.50789, memory: 0.89809, kernel_seconds: 4.9274e-06}
  a100-80g: {matmul_16: 0.79392, matmul_8: 0.6, matmul_4: 0.45, half_side: 112.9,
    attention: 0.76824, memory: 0.90458, kernel_seconds: 5.0623e-06}
  a100-40g: {matmul_16: 0.77016, matmul_8: 0.6, matmul_4: 0.45, half_side: 112.9,
    attention: 0.76824, memory: 0.90458, kernel_seconds: 5.0623e-06}
  h100-sxm: {matmul_16: 0.67781, matmul_8: 0.64968, matmul_4: 0.45, half_side: 113.77,
    attention: 0.37404, memory: 0.55312, kernel_seconds: 4.9139e-06}
  h100-96g: {matmul_16: 0.62495, matmul_8: 0.70366, matmul_4: 0.45, half_side: 113.77,
    attention: 0.37404, memory: 0.55312, kernel_seconds: 4.9139e-06}
  h200: {matmul_16: 0.7, matmul_8: 0.6, matmul_4: 0.45, half_side: 113.77, attention: 0.37404,
    memory: 0.55312, kernel_seconds: 4.9139e-06}
  b200: {matmul_16: 0.37058, matmul_8: 0.53976, matmul_4: 0.45, half_side: 223.34,
    attention: 0.82251, memory: 0.90464, kernel_seconds: 1.4085e-05}
  gb200-nvl72: {matmul_16: 0.57907, matmul_8: 0.55423, matmul_4: 0.41667, half_side: 223.34,
    attention: 0.82251, memory: 0.90464, kernel_seconds: 1.4085e-05}
  b300: {matmul_16: 0.35439, matmul_8: 0.6, matmul_4: 0.45, half_side: 223.34,
    attention: 0.82251, memory: 0.90464, kernel_seconds: 1.4085e-05}
  gb300-nvl72: {matmul_16: 0.61857, matmul_8: 0.7391, matmul_4: 0.45, half_side: 223.34,
    attention: 0.82251, memory: 0.90464, kernel_seconds: 1.4085e-05}
frameworks:
  megatron: {elementwise: 1.3903, tensor_exposed: 0.33063, expert_exposed: 1.2563,
    overlap_slowdown: 0.13431, step_seconds: 0.017102}
  megatron-2021: {score_traffic: 12.051, elementwise: 1.5383, tensor_exposed: 1.1871,
    expert_exposed: 0.6, overlap_slowdown: 0.17021, step_seconds: 0.020748}
  megatron-26.06: {expert_kernels: 0.239, elementwise: 0.92226, tensor_exposed: 0.46838,
    expert_exposed: 0.47637, overlap_slowdown: 0.14138, step_seconds: 0.019928}
  fsdp: {attention: 0.54094, elementwise: 0.97152, tensor_exposed: 0.43278, expert_exposed: 0.6,
    overlap_slowdown: 0.37111, step_seconds: 0.019389}
)yaml";

template <typename Parameters>
struct ParameterField {
  const char* name;
  double Parameters::*value;
  double most;
};

constexpr double kFraction = 1;
constexpr double kSecond = 1;

constexpr ParameterField<DeviceParameters> kDeviceFields[] = {
    {"matmul_16", &DeviceParameters::matmul_16, kFraction},
    {"matmul_8", &DeviceParameters::matmul_8, kFraction},
    {"matmul_4", &DeviceParameters::matmul_4, kFraction},
    {"half_side", &DeviceParameters::half_side, 1e6},
    {"attention", &DeviceParameters::attention, kFraction},
    {"memory", &DeviceParameters::memory, kFraction},
    {"kernel_seconds", &DeviceParameters::kernel_seconds, kSecond},
};

constexpr ParameterField<FrameworkParameters> kFrameworkFields[] = {
    {"attention", &FrameworkParameters::attention, 10},
    {"score_traffic", &FrameworkParameters::score_traffic, 100},
    {"elementwise", &FrameworkParameters::elementwise, 100},
    {"tensor_exposed", &FrameworkParameters::tensor_exposed, 10},
    {"expert_exposed", &FrameworkParameters::expert_exposed, 10},
    {"expert_kernels", &FrameworkParameters::expert_kernels, 100},
    {"overlap_slowdown", &FrameworkParameters::overlap_slowdown, 10},
    {"step_seconds", &FrameworkParameters::step_seconds, 60 * kSecond},
};

class ParameterReader {
 public:
  explicit ParameterReader(std::string_view file) : file_(file) {}

  absl::StatusOr<CostParameters> Read(const YAML::Node& root) const {
    CostParameters result;
    if (!root.IsMap()) return ErrorAt(root, "expected a map of devices and frameworks");
    for (const auto& part : root) {
      const std::string key = part.first.Scalar();
      if (key == "devices") {
        MW_RETURN_IF_ERROR(
            Names(part.second, kDeviceFields, &DeviceParameters::device, &result.devices));
      } else if (key == "frameworks") {
        MW_RETURN_IF_ERROR(Names(part.second, kFrameworkFields, &FrameworkParameters::framework,
                                 &result.frameworks));
      } else {
        return ErrorAt(part.first, StrCat("unknown key \"", key, "\"; valid: devices, frameworks"));
      }
    }
    return result;
  }

  absl::Status ErrorAt(const YAML::Node& node, std::string_view message) const {
    return ErrorAt(node.Mark(), message);
  }
  absl::Status ErrorAt(const YAML::Mark& mark, std::string_view message) const {
    return absl::InvalidArgumentError(
        StrCat(file_, ":", mark.line + 1, ":", mark.column + 1, ": ", message));
  }

 private:
  template <typename Parameters, size_t n>
  absl::Status Names(const YAML::Node& map, const ParameterField<Parameters> (&fields)[n],
                     std::string Parameters::*name, std::vector<Parameters>* out) const {
    if (!map.IsMap()) return ErrorAt(map, "expected a map from names to parameters");
    for (const auto& entry : map) {
      Parameters& parameters = out->emplace_back();
      parameters.*name = entry.first.Scalar();
      if (!entry.second.IsMap()) return ErrorAt(entry.second, "expected a map of parameters");
      for (const auto& item : entry.second) {
        MW_RETURN_IF_ERROR(Number(item.first, item.second, fields, &parameters));
      }
    }
    return absl::OkStatus();
  }

  template <typename Parameters, size_t n>
  absl::Status Number(const YAML::Node& key, const YAML::Node& value,
                      const ParameterField<Parameters> (&fields)[n], Parameters* out) const {
    std::vector<std::string> names;
    for (const ParameterField<Parameters>& field : fields) {
      names.emplace_back(field.name);
      if (!key.IsScalar() || key.Scalar() != field.name) continue;
      double number = 0;
      if (!value.IsScalar() || !YAML::convert<double>::decode(value, number) ||
          !std::isfinite(number) || number <= 0 || number > field.most) {
        return ErrorAt(value,
                       StrCat(field.name, " must be a number above 0, at most ", field.most));
      }
      out->*field.value = number;
      return absl::OkStatus();
    }
    return ErrorAt(key, StrCat("unknown parameter; did you mean \"",
                               NearestName(key.IsScalar() ? key.Scalar() : "", names), "\"?"));
  }

  std::string_view file_;
};

}  // namespace

DeviceParameters CostParameters::Device(std::string_view name) const {
  for (const DeviceParameters& one : devices) {
    if (one.device == name) return one;
  }
  return {};
}

FrameworkParameters CostParameters::Framework(std::string_view name) const {
  for (const FrameworkParameters& one : frameworks) {
    if (one.framework == name) return one;
  }
  return {};
}

absl::StatusOr<CostParameters> ParseCostParameters(std::string_view text, std::string_view file) {
  const ParameterReader reader(file);
  // yaml-cpp reports by exceptions; none may leave this function.
  try {
    return reader.Read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    return reader.ErrorAt(e.mark, e.msg);
  }
}

const CostParameters& BuiltinCostParameters() {
  static const auto* const kParameters =
      new CostParameters(ParseCostParameters(kBuiltin, "built-in parameters").value());
  return *kParameters;
}

}  // namespace meshwright::transformer
