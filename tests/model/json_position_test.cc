#include "meshwright/model/json_position.h"

#include <gtest/gtest.h>

namespace meshwright::transformer {
namespace {

constexpr char kText[] =
    "\n"
    "{\"a}\": [1, {\"x\": \"\\\"]\", \"y\" : true}],\n"
    "\t\"b\\n\": {\"c\": {}, \"d\": -1.5e3},\n"
    "  \"e\": null}\n";

TEST(PositionOf, FollowsNamesAndIndices) {
  EXPECT_EQ(PositionOf(kText, {}), (TextPosition{2, 1}));
  EXPECT_EQ(PositionOf(kText, {"a}"}), (TextPosition{2, 8}));
  EXPECT_EQ(PositionOf(kText, {"a}", "0"}), (TextPosition{2, 9}));
  EXPECT_EQ(PositionOf(kText, {"a}", "1", "y"}), (TextPosition{2, 31}));
  EXPECT_EQ(PositionOf(kText, {"b\n", "d"}), (TextPosition{3, 24}));
  EXPECT_EQ(PositionOf(kText, {"e"}), (TextPosition{4, 8}));
}

TEST(PositionOf, StopsAtTheLastValueThatIsThere) {
  EXPECT_EQ(PositionOf(kText, {"z"}), (TextPosition{2, 1}));
  EXPECT_EQ(PositionOf(kText, {"b\n", "z"}), (TextPosition{3, 9}));
  EXPECT_EQ(PositionOf(kText, {"a}", "7"}), (TextPosition{2, 8}));
  EXPECT_EQ(PositionOf(kText, {"e", "deeper"}), (TextPosition{4, 8}));
}

}  // namespace
}  // namespace meshwright::transformer
