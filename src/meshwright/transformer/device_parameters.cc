#include "meshwright/transformer/device_parameters.h"

#include <cmath>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/yaml.h"

namespace meshwright::transformer {
namespace {

// Fitted by bench/transformer/fit.py on half of the published runs; devices of a generation share
// all but the fractions of the peak, which their power limits set. Where half of the runs tell
// nothing, these are the defaults.
//
// Host figures are a GPU's share of the system's, at 75 % of the sheets' bandwidths: DGX-2 (2 Xeon
// 8168 and 1.5 TB, GPUs by pairs on PCIe 3 x16), DGX A100 (2 EPYC 7742, 16 channels of DDR4-3200, 2
// or 1 TB, PCIe 4 x16), DGX H100 and H200 (2 Xeon 8480C, 16 x DDR5-4800, 2 TB, PCIe 5 x16), DGX
// B200 (2 Xeon 8570, 16 x DDR5-5600), DGX B300 (2 Xeon 6776P, 16 x DDR5-6400), GB200 and GB300 (a
// Grace of 480 GB LPDDR5X at 512 GB/s for two GPUs, NVLink-C2C of 900 GB/s both ways together).
constexpr std::string_view kBuiltin = R"yaml(
devices:
  v100: {matmul_16: 0.90951, matmul_8: 0.6, matmul_4: 0.45, half_side: 111.35,
    attention: 0.5086, memory: 0.89918, kernel_seconds: 4.9569e-06,
    host_link: 6e9, host_memory: 1.2e10, host_bytes: 9e10}
  a100-80g: {matmul_16: 0.79385, matmul_8: 0.6, matmul_4: 0.45, half_side: 113.37,
    attention: 0.80227, memory: 0.90215, kernel_seconds: 5.1137e-06,
    host_link: 2.4e10, host_memory: 3.8e10, host_bytes: 2.5e11}
  a100-40g: {matmul_16: 0.76957, matmul_8: 0.6, matmul_4: 0.45, half_side: 113.37,
    attention: 0.80227, memory: 0.90215, kernel_seconds: 5.1137e-06,
    host_link: 2.4e10, host_memory: 3.8e10, host_bytes: 1.2e11}
  h100-sxm: {matmul_16: 0.67891, matmul_8: 0.64027, matmul_4: 0.45, half_side: 116.71,
    attention: 0.39302, memory: 0.54545, kernel_seconds: 5.2755e-06,
    host_link: 5e10, host_memory: 5.7e10, host_bytes: 2.5e11}
  h100-96g: {matmul_16: 0.62446, matmul_8: 0.70483, matmul_4: 0.45, half_side: 116.71,
    attention: 0.39302, memory: 0.54545, kernel_seconds: 5.2755e-06,
    host_link: 5e10, host_memory: 5.7e10, host_bytes: 2.5e11}
  h200: {matmul_16: 0.7, matmul_8: 0.6, matmul_4: 0.45, half_side: 116.71, attention: 0.39302,
    memory: 0.54545, kernel_seconds: 5.2755e-06,
    host_link: 5e10, host_memory: 5.7e10, host_bytes: 2.5e11}
  b200: {matmul_16: 0.32001, matmul_8: 0.56529, matmul_4: 0.45, half_side: 237.09,
    attention: 0.84117, memory: 0.92343, kernel_seconds: 1.5731e-05,
    host_link: 5e10, host_memory: 6.7e10, host_bytes: 2.5e11}
  gb200-nvl72: {matmul_16: 0.61075, matmul_8: 0.55253, matmul_4: 0.41859, half_side: 237.09,
    attention: 0.84117, memory: 0.92343, kernel_seconds: 1.5731e-05,
    host_link: 1.7e11, host_memory: 1.9e11, host_bytes: 2.2e11}
  b300: {matmul_16: 0.35325, matmul_8: 0.6, matmul_4: 0.45, half_side: 237.09,
    attention: 0.84117, memory: 0.92343, kernel_seconds: 1.5731e-05,
    host_link: 5e10, host_memory: 7.6e10, host_bytes: 2.5e11}
  gb300-nvl72: {matmul_16: 0.63931, matmul_8: 0.74514, matmul_4: 0.45, half_side: 237.09,
    attention: 0.84117, memory: 0.92343, kernel_seconds: 1.5731e-05,
    host_link: 1.7e11, host_memory: 1.9e11, host_bytes: 2.2e11}
frameworks:
  megatron: {elementwise: 1.3451, tensor_exposed: 0.33778, expert_exposed: 1.2029,
    overlap_slowdown: 0.12395, step_seconds: 0.02757, kept_input: 1}
  megatron-2021: {score_traffic: 11.92, elementwise: 1.5458, tensor_exposed: 1.1951,
    expert_exposed: 0.6, overlap_slowdown: 0.17173, step_seconds: 0.020818}
  megatron-26.06: {expert_kernels: 0.22813, elementwise: 0.88553, tensor_exposed: 0.45799,
    expert_exposed: 0.46786, overlap_slowdown: 0.14053, step_seconds: 0.019957, kept_input: 1}
  fsdp: {attention: 0.51695, elementwise: 0.96588, tensor_exposed: 0.43111, expert_exposed: 0.6,
    overlap_slowdown: 0.36031, step_seconds: 0.019078}
  megatron-23.04: {attention: 0.3, elementwise: 1.3451, tensor_exposed: 0.33778,
    expert_exposed: 1.2029, overlap_slowdown: 0.12395, step_seconds: 0.02757, kept_input: 1}
  megatron-23.09: {attention: 0.59, elementwise: 1.3451, tensor_exposed: 0.33778,
    expert_exposed: 1.2029, overlap_slowdown: 0.12395, step_seconds: 0.02757, kept_input: 1}
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
    {"host_link", &DeviceParameters::host_link, 1e15},
    {"host_memory", &DeviceParameters::host_memory, 1e15},
    {"host_bytes", &DeviceParameters::host_bytes, 1e15},
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
    {"kept_input", &FrameworkParameters::kept_input, 2},
};

class ParameterReader : public YamlReader {
 public:
  using YamlReader::YamlReader;

  absl::StatusOr<CostParameters> Read(std::string_view text) const {
    CostParameters result;
    MW_RETURN_IF_ERROR(ReadDocument(
        text, "devices or frameworks", "set of parameters", [&](const YAML::Node& root) {
          return ReadMap(root, "the file",
                         {{"devices", false,
                           [&](const YAML::Node& node) {
                             return Names(node, kDeviceFields, &DeviceParameters::device,
                                          &result.devices);
                           }},
                          {"frameworks", false, [&](const YAML::Node& node) {
                             return Names(node, kFrameworkFields, &FrameworkParameters::framework,
                                          &result.frameworks);
                           }}});
        }));
    return result;
  }

 private:
  template <typename Parameters, size_t n>
  absl::Status Names(const YAML::Node& map, const ParameterField<Parameters> (&fields)[n],
                     std::string Parameters::*name, std::vector<Parameters>* out) const {
    if (!map.IsMap()) return Error(map, "expected a map from names to parameters");
    for (const auto& entry : map) {
      Parameters& parameters = out->emplace_back();
      MW_RETURN_IF_ERROR(ReadText(entry.first, "name", &(parameters.*name)));
      std::vector<Field> numbers;
      for (const ParameterField<Parameters>& field : fields) {
        numbers.push_back({field.name, false, [&](const YAML::Node& node) {
                             return Number(node, field, &parameters);
                           }});
      }
      MW_RETURN_IF_ERROR(ReadMap(entry.second, parameters.*name, numbers));
    }
    return absl::OkStatus();
  }

  template <typename Parameters>
  absl::Status Number(const YAML::Node& node, const ParameterField<Parameters>& field,
                      Parameters* out) const {
    double number = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, number) ||
        !std::isfinite(number) || number <= 0 || number > field.most) {
      return Error(node, StrCat(field.name, " must be a number above 0, at most ", field.most));
    }
    out->*field.value = number;
    return absl::OkStatus();
  }
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
  return ParameterReader(file).Read(text);
}

const CostParameters& BuiltinCostParameters() {
  static const auto* const kParameters =
      new CostParameters(ParseCostParameters(kBuiltin, "built-in parameters").value());
  return *kParameters;
}

}  // namespace meshwright::transformer
