#include "meshwright/degrees/precision_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

TEST(PrecisionSupport, IsThatOfTheDataSheets) {
  const struct {
    const char* device;
    bool bf16, fp16, fp8, mxfp8, nvfp4;
  } rows[] = {
      {"v100", false, true, false, false, false},   {"a100-40g", true, true, false, false, false},
      {"h100-sxm", true, true, true, false, false}, {"mi300x", true, true, true, false, false},
      {"tpu-v5p", true, false, true, false, false}, {"b200", true, true, true, true, true}};
  for (const auto& row : rows) {
    const DeviceType& device = *FindDevice(row.device);
    EXPECT_EQ(HasPrecision(device, Precision::kBf16), row.bf16) << row.device;
    EXPECT_EQ(HasPrecision(device, Precision::kFp16), row.fp16) << row.device;
    EXPECT_EQ(HasPrecision(device, Precision::kFp8), row.fp8) << row.device;
    EXPECT_EQ(HasPrecision(device, Precision::kMxFp8), row.mxfp8) << row.device;
    EXPECT_EQ(HasPrecision(device, Precision::kNvFp4), row.nvfp4) << row.device;
  }
}

TEST(PrecisionSupport, WarningsSayWhatThereIs) {
  EXPECT_EQ(PrecisionWarning(*FindDevice("a100-40g"), Precision::kBf16), "");
  EXPECT_EQ(PrecisionWarning(*FindDevice("v100"), Precision::kBf16),
            "v100 has no hardware for bf16 matmuls, which are planned at 15.7 TFLOPS; it has "
            "--dtype fp16");
  EXPECT_EQ(PrecisionWarning(*FindDevice("a100-40g"), Precision::kFp8),
            "a100-40g has no hardware for fp8 matmuls, which are planned at 312 TFLOPS; it has "
            "--dtype bf16 or fp16");
  EXPECT_THAT(PrecisionWarning(*FindDevice("h100-sxm"), Precision::kMxFp8),
              HasSubstr("planned at 1979 TFLOPS; it has --dtype bf16 or fp16 or fp8"));
}

}  // namespace
}  // namespace meshwright::transformer
