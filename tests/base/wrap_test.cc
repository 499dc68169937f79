#include "meshwright/base/wrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

using ::testing::ElementsAre;

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_THAT(Wrapped("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrapped("one two three", 6), ElementsAre("one", "two", "three"));
  EXPECT_THAT(Wrapped("one two three", 80), ElementsAre("one two three"));
}

TEST(Wrapped, KeepsLinesAndLongWords) {
  EXPECT_THAT(Wrapped("a b\n\nc", 80), ElementsAre("a b", "", "c"));
  EXPECT_THAT(Wrapped("a incomprehensible b", 5), ElementsAre("a", "incomprehensible", "b"));
  EXPECT_THAT(Wrapped("", 5), ElementsAre(""));
}

TEST(Hanging, GoesOnUnderItsBeginning) {
  EXPECT_EQ(Hanging("label  ", "text"), "label  text\n");
  const std::string word(40, 'x');
  EXPECT_EQ(Hanging("label  ", word + " " + word), "label  " + word + "\n       " + word + "\n");
  // Just 80 columns are no reason to break.
  EXPECT_EQ(Hanging("ab", std::string(39, 'x') + " " + std::string(38, 'y')),
            "ab" + std::string(39, 'x') + " " + std::string(38, 'y') + "\n");
}

TEST(FirstColumn, IsAsWideForEveryName) {
  EXPECT_EQ(FirstColumn("name", 6), "name  ");
  EXPECT_EQ(FirstColumn("name", 4), "name");
  EXPECT_EQ(FirstColumn("name", 3), "name\n   ");
}

}  // namespace
}  // namespace meshwright
