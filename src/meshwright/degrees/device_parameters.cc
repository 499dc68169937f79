#include "meshwright/degrees/device_parameters.h"

#include <algorithm>
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
//
// `attention_long` is Shah et al. 2024 (FlashAttention-3, abstract): 740 TFLOPS on an H100.
//
// `fitted_runs` are the rows of that half which are predicted, by key: all others are unseen.
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
    attention: 0.39302, attention_long: 0.75, memory: 0.54545, kernel_seconds: 5.2755e-06,
    host_link: 5e10, host_memory: 5.7e10, host_bytes: 2.5e11}
  h100-96g: {matmul_16: 0.62446, matmul_8: 0.70483, matmul_4: 0.45, half_side: 116.71,
    attention: 0.39302, attention_long: 0.75, memory: 0.54545, kernel_seconds: 5.2755e-06,
    host_link: 5e10, host_memory: 5.7e10, host_bytes: 2.5e11}
  h200: {matmul_16: 0.7, matmul_8: 0.6, matmul_4: 0.45, half_side: 116.71, attention: 0.39302, attention_long: 0.75,
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
fitted_runs: [
  00876ddea2fcb4c1, 01fd23d75ad21b2e, 023e455f919e815e, 024651fe19e586a5, 0768aada5d3b0e21,
  0858060c722b0d14, 089e78f30de361b0, 0a9c471c872ca6d3, 0b70b1b8b8aee4c4, 0cf89166c634798e,
  0e458b3a160bce95, 109744603cf364f1, 10caeafb82970bb1, 11e5eaee0f7fe7da, 1353f8d695aa2e5a,
  1409649f7d453e44, 1a274e0692c56b54, 1bc220579ccf6ab6, 1e48653c2a66095c, 1e7e8f1c2777da6c,
  230bf7f5035ae344, 23b9408280ef0417, 23fef16e08f51514, 2429090e4f787b92, 248e4236fac19c5f,
  3241b3ed9a2dc6c0, 32ebf0243901bf98, 3360c60ee33fb51b, 3609e6d71774506e, 3880de3903b855e0,
  3a4b4aaa44a6e392, 3cb204c7e042a1bf, 3d420e2a38815587, 3dc965d56e3c6f9a, 3dec1632f52df5ed,
  3e8073f45ddcfaa0, 3ede828372d051dc, 41b08b37bbd21208, 4afc23ab30fbf128, 4b57e48577b4fd11,
  4baa0ce1c4381c0b, 524e0a6f6a74d5e0, 53743dac9396b84e, 55cd426f39636393, 5a984f2d9d011e8a,
  5b70c0a8ce08c947, 5d42f08f2b9677c7, 5ec57a65e7a4e5b1, 5f0aa44c8721703e, 5f2e3a4a1513d82f,
  5fbdf114b28dfa53, 602277ec8c013f0f, 63810f4a66b3f5e4, 65098964e680499e, 670602e8571bda80,
  6826093e004740ef, 6b5433d7e2574fe4, 6b8124c31b9c11ff, 6c633b918712b1d7, 6dec50fd529fa3bb,
  70c70d4e11943f8c, 714e44c6ab3a7531, 71591b324be475cb, 718ab1d2f1e258c7, 723c40f69802856c,
  773924610aa0abf7, 7a1381d0713071ae, 7befcb2a20fa1c82, 7d000012f7f881da, 7e8427c5f40c0be8,
  817040b879ac5e38, 8383f602a02996a4, 83bcbe735602628a, 87d21c5bbeb39add, 880f1576e2b878b2,
  8838e4996338e292, 8a39c756ee22ce1c, 8b7cd3dd62c93bd4, 8e0de2f58a8af77a, 8e9779d7ee0488e3,
  8ee730bf302b2029, 8ffcdc5c7045c051, 9226e8973afcdcc8, 991e840527f5be57, 9a93ca775619e176,
  9e9c7c9d31a3364f, a05959994451b212, a1f340e748c90e4b, a242de77ac926e21, a3d5b566b2459974,
  a586d9161f3a448c, a8ba53d472b2e557, abab10e5f2a3135c, abd6fdf7502d1455, ae8f5115d64d648b,
  ae98fbd58ae95ff4, afc0f870a2f9d338, b0583283cc548a45, b1004199ff0cba15, b2f1f3bd936597ba,
  b35a84ddcb08e719, b3f23a031b10b254, b414e9e325c0949b, b6307bfb0ee05c95, b7a4268ca01dc80e,
  b7b49a2112441453, bc1ef3697c2e813d, bce903fc26a05837, bd088cd1551b4f7f, bf17e087e2802e70,
  c3cd70a062c5330b, c4fd2db8acb3c393, c5b5af7fa41fd2db, ccf8aa84fb9ee490, cd6dbaf9ddb0c817,
  cda5eecb9c97c3ba, d14a4a6c3be24959, d1f8fbc5a467257d, d22e4527327f405a, d242d2c578af6e79,
  d4141f1e25ad6f27, d6ae1571de4d8818, dc82b14dea324227, dcdd3a5c0c7efd94, e0a20f9f2e371e80,
  e0d575aa5bfcd835, e1a61bc02626d6e2, e33818bc05869205, e79581c660cd4700, e87ac6dd38b0ae98,
  ea74d910193605cb, ec5972d6b422b1c6, ee2824d773c898ac, ef87d187c10ffde8, ef8e3f542c7ff485,
  efd98ff1e150ff02, f1a927e9e2355f52, f28ad781260b2c97, f6ae68646e76ce51, fa647b7e855641d7,
  fc20600fef5138d3, fce020e7bbe45960, ff384a400fb774c1, ffc8fc1709735f77]
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
    {"attention_long", &DeviceParameters::attention_long, kFraction},
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
          return ReadMap(
              root, "the file",
              {{"devices", false,
                [&](const YAML::Node& node) {
                  return Names(node, kDeviceFields, &DeviceParameters::device, &result.devices);
                }},
               {"frameworks", false,
                [&](const YAML::Node& node) {
                  return Names(node, kFrameworkFields, &FrameworkParameters::framework,
                               &result.frameworks);
                }},
               {"fitted_runs", false,
                [&](const YAML::Node& node) { return Keys(node, &result.fitted_runs); }}});
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

  absl::Status Keys(const YAML::Node& list, std::set<std::string>* out) const {
    if (!list.IsSequence()) return Error(list, "fitted_runs must be a list of keys");
    for (const YAML::Node& node : list) {
      std::string key;
      MW_RETURN_IF_ERROR(ReadText(node, "fitted_runs", &key));
      if (key.size() != 16 || key.find_first_not_of("0123456789abcdef") != std::string::npos) {
        return Error(node, StrCat("found ", Quoted(node), ", expected the key of a run: 16 ",
                                  "hexadecimal digits, in lower case"));
      }
      out->insert(std::move(key));
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

bool CostParameters::Knows(std::string_view device) const {
  return std::any_of(devices.begin(), devices.end(),
                     [&](const DeviceParameters& one) { return one.device == device; });
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
