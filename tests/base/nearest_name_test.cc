#include "meshwright/base/nearest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(NearestNameTest, SharesAPartWhereNoneIsNear) {
  EXPECT_EQ(NearestName("--batch-size", {"--max-time", "--global-batch", "--data"}),
            "--global-batch");
  EXPECT_EQ(NearestName("--meh", {"--mesh", "--memory"}), "--mesh");
}

TEST(NamesLikeTest, ThoseThatContainItBeforeNearOnes) {
  const std::vector<std::string> names = {"eq.7", "state[0]['layer0']['wq']", "wq2", "tok", "eq.7"};
  EXPECT_EQ(NamesLike("wq", names, 3),
            (std::vector<std::string>{"wq2", "state[0]['layer0']['wq']"}));
  EXPECT_EQ(NamesLike("*['wq'?", names, 3), (std::vector<std::string>{"state[0]['layer0']['wq']"}));
  EXPECT_EQ(NamesLike("eq.8", names, 1), (std::vector<std::string>{"eq.7"}));
  EXPECT_EQ(NamesLike("eq", names, 3), (std::vector<std::string>{"eq.7"}));
  EXPECT_TRUE(NamesLike("wq", {}, 3).empty());
}

}  // namespace
}  // namespace meshwright
