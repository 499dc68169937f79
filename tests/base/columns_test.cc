#include "meshwright/base/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cwchar>
#include <sstream>
#include <string>

namespace meshwright {
namespace {

TEST(Columns, PrintableShowsWhatWouldActOnATerminal) {
  EXPECT_EQ(Printable("plain"), "plain");
  EXPECT_EQ(Printable("a\nb\tc\x1b[31m\x7f"), "a\\nb\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(Printable("\u202eabc\u2066"), "\\u202eabc\\u2066");
  EXPECT_EQ(Printable("caf\xe9"), "caf\xef\xbf\xbd");
  EXPECT_EQ(Printable("\xc0\xaf\xed\xa0\x80"),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(Printable("층/שכבה/🚀"), "층/שכבה/🚀");
}

// The C library's own tables say how wide a letter is at least.
TEST(Columns, DisplayWidthIsNeverTooSmall) {
  ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
  for (wchar_t letter = 0x20; letter < 0x30000; ++letter) {
    if (letter >= 0xd800 && letter <= 0xdfff) continue;
    std::string text(MB_CUR_MAX, '\0');
    std::mbstate_t state = {};
    const size_t bytes = std::wcrtomb(text.data(), letter, &state);
    if (bytes == static_cast<size_t>(-1)) continue;
    text.resize(bytes);
    EXPECT_GE(static_cast<int>(DisplayWidth(text)), wcwidth(letter)) << std::hex << int{letter};
  }
  EXPECT_EQ(DisplayWidth("שכבה"), 4u);
  EXPECT_EQ(DisplayWidth("🚀 층"), 5u);
}

TEST(Columns, FitKeepsWholeLettersAndBothEnds) {
  EXPECT_EQ(Fit("short", 5), "short");
  EXPECT_EQ(Fit("abcdefghij", 6), "ab..ij");
  const std::string rockets = Fit("🚀🚀🚀🚀🚀🚀", 7);
  EXPECT_LE(DisplayWidth(rockets), 7u);
  EXPECT_EQ(rockets, "🚀..🚀");
  EXPECT_EQ(Printable(rockets), rockets);
}

void ExpectLinesFit(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(DisplayWidth(line), kColumns) << line;
}

TEST(Columns, EveryLineFitsWhateverTheCells) {
  const std::string name(10000, 'n'), wide =
                                          "층층층층층층층층층층층층층층층층층층층층층층층층층층층층"
                                          "층층층층층층층층층층층층층층층층";
  const std::string text = Columns({{name, wide, "1"}, {"a", "b", name}}, {false, false, true});
  ExpectLinesFit(text);
  EXPECT_THAT(text, testing::HasSubstr("층..층"));
  EXPECT_EQ(Columns({{"a", "12"}, {"bcd", "3"}}, {false, true}), "  a    12\n  bcd   3\n");
}

TEST(Columns, WrapWordsBreaksBetweenThem) {
  EXPECT_EQ(WrapWords("one two", 4), "one two\n");
  const std::string text =
      WrapWords("label     " + std::string(60, 'a') + " bbb " + std::string(90, 'c'), 10);
  ExpectLinesFit(text);
  EXPECT_THAT(text, testing::HasSubstr("\n          c"));
  EXPECT_EQ(WrapWords("  a\nb", 2), "  a\\nb\n");
}

}  // namespace
}  // namespace meshwright
