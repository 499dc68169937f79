#include "meshwright/base/nearest_name.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("same", "same"), 0);
}

TEST(NearestNameTest, FirstOfTheNearest) {
  EXPECT_EQ(NearestName("doot", {"add", "dot", "root"}), "dot");
  EXPECT_EQ(NearestName("b", {"a", "c"}), "a");
  EXPECT_EQ(NearestName("anything", {}), "");
}

TEST(NearestNameTest, GoesOnBehindTheWordBeforeOtherWords) {
  EXPECT_EQ(NearestName("h100", {"h200", "h100-pcie", "h100-sxm"}), "h100-sxm");
  EXPECT_EQ(NearestName("h100", {"h200", "h1000"}), "h200");
  EXPECT_EQ(NearestName("", {"-a", "b"}), "b");
}

}  // namespace
}  // namespace meshwright
