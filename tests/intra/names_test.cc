#include "meshwright/intra/names.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(GlobMatchTest, StarAndQuestionMarkOnlyAreSpecial) {
  EXPECT_TRUE(GlobMatch("state[*]['layer*']['wq']", "state[0]['layer12']['wq']"));
  EXPECT_FALSE(GlobMatch("state[*]['layer*']['wq']", "state[0]['layer12']['wk']"));
  EXPECT_TRUE(GlobMatch("a?c", "abc"));
  EXPECT_FALSE(GlobMatch("a?c", "ac"));
  EXPECT_TRUE(GlobMatch("[ab]", "[ab]"));
  EXPECT_FALSE(GlobMatch("[ab]", "a"));
}

TEST(GlobMatchTest, EmptyPatternsAndTexts) {
  EXPECT_TRUE(GlobMatch("", ""));
  EXPECT_FALSE(GlobMatch("", "a"));
  EXPECT_TRUE(GlobMatch("*", ""));
  EXPECT_TRUE(GlobMatch("**", "anything"));
  EXPECT_FALSE(GlobMatch("?", ""));
}

TEST(GlobMatchTest, ManyStarsStayPolynomial) {
  const std::string text(5000, 'a');
  EXPECT_FALSE(GlobMatch("*a*a*a*a*a*a*a*b", text));
}

}  // namespace
}  // namespace meshwright
