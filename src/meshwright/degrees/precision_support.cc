#include "meshwright/degrees/precision_support.h"

#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/fixes.h"

namespace meshwright::transformer {
namespace {

// Types that are said to be there instead of another: not f32, which takes twice the memory.
constexpr std::array<Precision, 5> kPrecisionsTried = {
    Precision::kBf16, Precision::kFp16, Precision::kFp8, Precision::kMxFp8, Precision::kNvFp4};

// Element types of which a device has one if it has hardware for the precision. Scales of blocks
// (MXFP8) came into tensor cores together with operands of 4 bits.
std::vector<std::string_view> TypesOf(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return {"bf16"};
    case Precision::kFp16:
      return {"f16"};
    case Precision::kFp8:
      return {"f8e4m3fn", "f8e4m3fnuz"};
    case Precision::kMxFp8:
    case Precision::kNvFp4:
      return {"f4e2m1fn"};
    case Precision::kF32:
      return {"f32"};
  }
  return {};
}

}  // namespace

bool HasPrecision(const DeviceType& device, Precision precision) {
  for (const std::string_view type : TypesOf(precision)) {
    if (device.peak_flops.contains(std::string(type))) return true;
  }
  return false;
}

std::string PrecisionWarning(const DeviceType& device, Precision precision) {
  if (HasPrecision(device, precision)) return "";
  std::vector<std::string> others;
  for (const Precision other : kPrecisionsTried) {
    if (HasPrecision(device, other)) others.emplace_back(PrecisionName(other));
  }
  // MXFP8 is planned at the rate of 8 bits.
  const std::string_view type =
      precision == Precision::kMxFp8 ? "f8e4m3fn" : TypesOf(precision).front();
  const std::string has = absl::StrJoin(others, " or ");
  return StrCat(device.name, " has no hardware for ", PrecisionName(precision),
                " matmuls, which are planned at ",
                absl::StrFormat("%.4g TFLOPS", device.PeakFlops(type) / 1e12),
                has.empty() ? "" : StrCat("; it has --dtype ", has));
}

}  // namespace meshwright::transformer
