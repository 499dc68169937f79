#include "meshwright/cluster/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

using ::testing::HasSubstr;

std::string PriceError(const std::string& rest) {
  const auto cluster =
      ParseMixedClusterYaml("groups:\n  - {device: a100-40g, nodes: 3" + rest + "}\n", "f.yaml");
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return std::string(CheckPricesKnown(*cluster).message());
}

TEST(Prices, ErrorsNameTheKey) {
  const std::string both = ", available: {on_demand: 1, spot: 2}";
  EXPECT_THAT(PriceError(""), HasSubstr("f.yaml:2:5: no price of a100-40g is known; give "
                                        "price_per_hour: ..."));
  EXPECT_THAT(
      PriceError(both + ", price_per_hour: 4"),
      HasSubstr("f.yaml:2:5: no price of the 2 spot nodes of a100-40g is known; give spot in "
                "price_per_hour: {on_demand: ..., spot: ...}"));
  EXPECT_THAT(
      PriceError(both + ", price_per_hour: {spot: 1}"),
      HasSubstr("no price of the 1 node on demand of a100-40g is known; give on_demand in"));
  EXPECT_THAT(PriceError(both), HasSubstr("give spot and on_demand in"));
  EXPECT_EQ(PriceError(both + ", price_per_hour: {on_demand: 4, spot: 1}"), "");
  EXPECT_EQ(PriceError(", available: {spot: 2}, price_per_hour: {spot: 1}"), "");
}

}  // namespace
}  // namespace meshwright
