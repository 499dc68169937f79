#include "meshwright/base/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Error(const std::string& text) {
  const std::string error(ParseJson(text, "f").status().message());
  EXPECT_EQ(ParseInputJson(text, "f").status().message(), error);
  return error;
}

TEST(ParseJson, KeepsTheOrderOfMembers) {
  EXPECT_EQ(ParseJson(R"({"b": 1, "a": [2, {"c": null}]})", "f")->dump(),
            R"({"b":1,"a":[2,{"c":null}]})");
}

TEST(ParseJsonErrors, SayWhere) {
  EXPECT_THAT(Error(""), StartsWith("f: not valid JSON, at $: parse error at line 1, column 1"));
  EXPECT_THAT(Error("{\"a\": [1, {\"b\": [2,\n}"),
              StartsWith("f: not valid JSON, at $.a[1].b[1]: parse error at line 2, column 1"));
  EXPECT_EQ(Error(R"({"a": {"b": 1, "b": 2}})"), "f: \"b\" occurs twice in one object");
}

TEST(ParseJsonErrors, DepthIsBounded) {
  const auto nested = [](int levels) {
    return std::string(levels, '[') + "1" + std::string(levels, ']');
  };
  EXPECT_TRUE(ParseJson(nested(kMostJsonLevels), "f").ok());
  const std::string error = Error(nested(kMostJsonLevels + 1));
  EXPECT_THAT(error, HasSubstr("more than 200 lists and objects within each other"));
  EXPECT_LT(error.size(), 300u);
  // Members after what is too deep: an object that grows copies what it holds.
  Error("{\"a\": " + nested(300'000) + ", \"b\": 1, \"c\": 2, \"d\": 3, \"e\": 4}");
  Error(std::string(300'000, '['));
}

}  // namespace
}  // namespace meshwright
