#include "meshwright/cluster/device_names.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"

namespace meshwright {
namespace {

struct OtherName {
  std::string_view device, name, source;
};

constexpr std::string_view kCuda = "cudaDeviceProp::name, as nvidia-smi lists it";

constexpr OtherName kOtherNames[] = {
    {"a10g", "A10", "FASOP's measurements, made on AWS g5 nodes"},
    {"a10g", "NVIDIA A10G", kCuda},
    {"a100-40g", "NVIDIA A100-SXM4-40GB", kCuda},
    {"a100-80g", "NVIDIA A100-SXM4-80GB", kCuda},
    {"a100-40g-pcie", "NVIDIA A100-PCIE-40GB", kCuda},
    {"h100-sxm", "NVIDIA H100 80GB HBM3", kCuda},
    {"h100-pcie", "NVIDIA H100 PCIe", kCuda},
    {"h200", "NVIDIA H200", kCuda},
    {"b200", "NVIDIA B200", kCuda},
    {"v100", "Tesla V100-SXM2-32GB", kCuda},
    {"l4", "NVIDIA L4", kCuda},
    {"rtx3090", "NVIDIA GeForce RTX 3090", kCuda},
};

// Letters and digits in lower case, words with one "-" between them.
std::string DeviceWords(std::string_view name) {
  std::string words;
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      words += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else if (!words.empty() && words.back() != '-') {
      words += '-';
    }
  }
  if (!words.empty() && words.back() == '-') words.pop_back();
  return words;
}

}  // namespace

bool IsSameName(std::string_view a, std::string_view b) { return DeviceWords(a) == DeviceWords(b); }

bool IsNameOfDevice(std::string_view written, std::string_view device) {
  const std::string words = DeviceWords(written), own = DeviceWords(device);
  if (words.empty()) return false;
  if (own == words || own.rfind(words + "-", 0) == 0) return true;
  return std::any_of(std::begin(kOtherNames), std::end(kOtherNames), [&](const OtherName& other) {
    return other.device == own && DeviceWords(other.name) == words;
  });
}

}  // namespace meshwright
