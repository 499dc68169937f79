#include "meshwright/plan/make/fix_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright {
namespace {

using ::testing::HasSubstr;

struct FixCase {
  const char* text;
  const char* pattern;
  const char* spec;
};

TEST(ParseFix, SplitsAtTheLastEqualsBeforeASpec) {
  for (const FixCase& c : {
           FixCase{"x=[x,_]", "x", "[x,_]"},
           FixCase{"state[*]['layer*']['wq']=[_,y]", "state[*]['layer*']['wq']", "[_,y]"},
           FixCase{"a=b=[x]", "a=b", "[x]"}, FixCase{"w = P('x', None)", "w", "P('x', None)"},
           FixCase{"w=replicated", "w", "replicated"}, FixCase{"['w']=[]", "['w']", "[]"},
           FixCase{"a=[x]=b=[y]", "a=[x]=b", "[y]"},
           FixCase{"a=[x]=b", "a",
                   "[x]=b"},  // what the planner will say about the spec is its matter
       }) {
    SCOPED_TRACE(c.text);
    const absl::StatusOr<Fix> fix = ParseFix(c.text, "--fix #1");
    ASSERT_TRUE(fix.ok()) << fix.status();
    EXPECT_EQ(fix->pattern, c.pattern);
    EXPECT_EQ(fix->spec, c.spec);
    EXPECT_EQ(fix->origin, "--fix #1");
  }
}

TEST(ParseFix, Errors) {
  EXPECT_THAT(std::string(ParseFix("w", "--fix #2").status().message()),
              HasSubstr("--fix #2: found \"w\", expected NAME=SPEC"));
  EXPECT_THAT(std::string(ParseFix("w=x", "--fix #2").status().message()), HasSubstr("NAME=SPEC"));
  EXPECT_THAT(std::string(ParseFix("=w", "--fix #2").status().message()), HasSubstr("NAME=SPEC"));
  EXPECT_THAT(std::string(ParseFix("", "--fix #2").status().message()), HasSubstr("NAME=SPEC"));
  EXPECT_THAT(std::string(ParseFix("=[x]", "--fix #2").status().message()),
              HasSubstr("the name before `=` is missing"));
  const std::string message(ParseFix(std::string(1000, '\n'), "f").status().message());
  EXPECT_LT(message.size(), 300u);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(ParseFixFile, LinesCommentsAndPositions) {
  const absl::StatusOr<std::vector<Fix>> fixes =
      ParseFixFile("# shardings\n\n  a=[x]  # rows\r\nb*=replicated\n", "fixes.txt");
  ASSERT_TRUE(fixes.ok()) << fixes.status();
  ASSERT_EQ(fixes->size(), 2u);
  EXPECT_EQ((*fixes)[0].pattern, "a");
  EXPECT_EQ((*fixes)[0].spec, "[x]");
  EXPECT_EQ((*fixes)[0].origin, "fixes.txt:3");
  EXPECT_EQ((*fixes)[1].pattern, "b*");
  EXPECT_EQ((*fixes)[1].origin, "fixes.txt:4");
}

TEST(ParseFixFile, ErrorNamesTheLine) {
  EXPECT_THAT(std::string(ParseFixFile("a=[x]\nb\n", "fixes.txt").status().message()),
              HasSubstr("fixes.txt:2: found \"b\""));
}

}  // namespace
}  // namespace meshwright
