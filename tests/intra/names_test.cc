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

TEST(GlobMatchTest, SetsOfNumbers) {
  EXPECT_TRUE(GlobMatch("layer{0..3,7}/w", "layer2/w"));
  EXPECT_TRUE(GlobMatch("layer{0..3,7}/w", "layer7/w"));
  EXPECT_FALSE(GlobMatch("layer{0..3,7}/w", "layer4/w"));
  EXPECT_FALSE(GlobMatch("layer{0..3}/w", "layer02/w"));
  EXPECT_FALSE(GlobMatch("layer{0..3}", "layer12"));
  EXPECT_FALSE(GlobMatch("*{2}", "12"));
  EXPECT_TRUE(GlobMatch("*{2}*", "a1b2c"));
  EXPECT_TRUE(GlobMatch("l{1..15..2}", "l15"));
  EXPECT_FALSE(GlobMatch("l{1..15..2}", "l14"));
  EXPECT_TRUE(GlobMatch("w{01,02}", "w02"));
  EXPECT_FALSE(GlobMatch("w{01,02}", "w2"));
  // Whatever is no such set is literal, and so is a name that looks like one.
  EXPECT_TRUE(GlobMatch("w{0..3}", "w{0..3}"));
  EXPECT_TRUE(GlobMatch("{x}*", "{x}y"));
  EXPECT_TRUE(GlobMatch("{*", "{1"));
  EXPECT_TRUE(GlobMatch("{}?", "{}a"));
  EXPECT_FALSE(GlobMatch("{9..1}", "5"));
  EXPECT_FALSE(GlobMatch("{1}", ""));
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
