#include "meshwright/degrees/device_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::transformer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DeviceWarnings, SayWhatWasNotMeasured) {
  DeviceType device = *FindDevice("h100-sxm");
  EXPECT_THAT(DeviceWarnings(device, Precision::kBf16), IsEmpty());
  device.name = "mine";
  EXPECT_THAT(DeviceWarnings(device, Precision::kBf16),
              ElementsAre(AllOf(HasSubstr("no training run on mine was measured"),
                                HasSubstr("--layers-csv layers.csv` measures the layers"))));
  EXPECT_THAT(DeviceWarnings(device, Precision::kBf16, /*layers_measured=*/true), IsEmpty());
  device.base = "h100-sxm";
  EXPECT_THAT(DeviceWarnings(device, Precision::kBf16), IsEmpty());
  EXPECT_THAT(DeviceWarnings(device, Precision::kNvFp4),
              ElementsAre(HasSubstr("mine has no hardware for nvfp4")));
}

}  // namespace
}  // namespace meshwright::transformer
