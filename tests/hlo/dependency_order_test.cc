#include "meshwright/hlo/dependency_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DependencyOrderTest, ValidOrderStays) {
  EXPECT_THAT(OrderByDependency({{}, {0}, {}, {1, 2, 2}}).order, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(OrderByDependency({}).order, IsEmpty());
}

TEST(DependencyOrderTest, WhatIsNeededMovesBeforeItsFirstUser) {
  EXPECT_THAT(OrderByDependency({{2}, {}, {3}, {}}).order, ElementsAre(3, 2, 0, 1));
}

TEST(DependencyOrderTest, FindsCycles) {
  EXPECT_THAT(OrderByDependency({{1}, {2}, {3}, {1}}).cycle, ElementsAre(1, 2, 3));
  EXPECT_THAT(OrderByDependency({{}, {1}}).cycle, ElementsAre(1));
}

TEST(DependencyOrderTest, DeepChainsDoNotRecurse) {
  constexpr size_t kNodes = 1000000;
  std::vector<std::vector<size_t>> needs(kNodes);
  for (size_t i = 0; i + 1 < kNodes; ++i) needs[i].push_back(i + 1);
  const DependencyOrder result = OrderByDependency(needs);
  ASSERT_EQ(result.order.size(), kNodes);
  EXPECT_EQ(result.order.front(), kNodes - 1);
}

}  // namespace
}  // namespace meshwright
