#include "meshwright/base/strings.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(StringsTest, StrCatTakesEveryKindOfString) {
  const std::string_view view = "view";
  const std::string string = "string";
  EXPECT_EQ(StrCat(view, " ", string, " ", 3, " ", 0.5), "view string 3 0.5");
  std::string out = "<";
  StrAppend(&out, view, absl::string_view("absl"), ">");
  EXPECT_EQ(out, "<viewabsl>");
}

TEST(StringsTest, ViewsConvertBothWays) {
  EXPECT_EQ(FromAbsl(ToAbsl(std::string_view("a\0b", 3))), std::string_view("a\0b", 3));
}

}  // namespace
}  // namespace meshwright
