#include "meshwright/cluster/device_names.h"

#include <gtest/gtest.h>

#include "meshwright/cluster/cluster.h"

namespace meshwright {
namespace {

TEST(DeviceNames, WrittenInManyWays) {
  EXPECT_TRUE(IsSameName("A100_40G", "a100-40g"));
  EXPECT_TRUE(IsSameName("H100 SXM", "h100-sxm"));
  EXPECT_FALSE(IsSameName("a100", "a100-40g"));
  EXPECT_FALSE(IsSameName("h10-0", "h100"));
  ASSERT_NE(FindDevice("A100_40G"), nullptr);
  EXPECT_EQ(FindDevice("A100_40G")->name, "a100-40g");
}

TEST(DeviceNames, OfMeasurements) {
  EXPECT_TRUE(IsNameOfDevice("A100", "a100-40g"));
  EXPECT_TRUE(IsNameOfDevice("a100-40g", "A100-40G"));
  EXPECT_TRUE(IsNameOfDevice("A10", "a10g"));
  EXPECT_TRUE(IsNameOfDevice("NVIDIA H100 80GB HBM3", "h100-sxm"));
  EXPECT_TRUE(IsNameOfDevice("slow nodes", "slow_nodes"));
  EXPECT_FALSE(IsNameOfDevice("A10", "a100-40g"));
  EXPECT_FALSE(IsNameOfDevice("A1", "a10g"));
  EXPECT_FALSE(IsNameOfDevice("", "a10g"));
  EXPECT_FALSE(IsNameOfDevice("a100-80g", "a100-40g"));
}

}  // namespace
}  // namespace meshwright
