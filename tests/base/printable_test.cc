#include "meshwright/base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

TEST(Printable, WhatIsNotToBeSeenIsEscaped) {
  EXPECT_EQ(Printable("a\x1b[31m\n\t\r\x7f"), "a\\x1b[31m\\n\\t\\r\\x7f");
  EXPECT_EQ(Printable("x\u202ey\u2066z"), "x\\u202ey\\u2066z");
  EXPECT_EQ(Printable("a\u200bb\u200cc\u200dd\ufeff"), "a\\u200bb\\u200cc\\u200dd\\ufeff");
  EXPECT_EQ(Printable("soft\u00adhyphen"), "soft\\xadhyphen");
  EXPECT_EQ(Printable("\u2060\u3164\ufe0f"), "\\u2060\\u3164\\ufe0f");
  EXPECT_EQ(Printable("tag\U000e0041"), "tag\\U000e0041");
  EXPECT_EQ(Printable("\xff\xc0\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(Printable("שלום 世界 🚀 é"), "שלום 世界 🚀 é");
}

TEST(Printable, JsonStaysTheSameJson) {
  EXPECT_EQ(JsonPrintable("{\n \"a\u202eb\": \"\u00ad\u007f\"\n}"),
            "{\n \"a\\u202eb\": \"\\u00ad\\u007f\"\n}");
  EXPECT_EQ(JsonPrintable("\"tag\U000e0041\""), "\"tag\\udb40\\udc41\"");
  EXPECT_EQ(JsonPrintable("\"שלום 世界 🚀 é\""), "\"שלום 世界 🚀 é\"");
}

TEST(Printable, LongNamesAreCutAndTheirLengthIsSaid) {
  EXPECT_EQ(Shortened("short", 10), "short");
  const std::string cut = Shortened(std::string(10000, 'n'), 60);
  EXPECT_NE(cut.find("..(10000 characters).."), std::string::npos);
  EXPECT_LT(DisplayWidth(cut), 90u);
  EXPECT_EQ(Fit(std::string(100, 'n'), 10), "nnnn..nnnn");
}

TEST(Printable, BrokenTextIsWholeAgainWhenPutTogether) {
  const std::string text = "世界世界abc";
  std::string all;
  for (const std::string& piece : Broken(text, 5)) {
    EXPECT_LE(DisplayWidth(piece), 5u);
    all += piece;
  }
  EXPECT_EQ(all, text);
  EXPECT_EQ(Broken("", 5).size(), 1u);
}

TEST(Printable, FitLeftTakesItsWidth) {
  EXPECT_EQ(FitLeft("a\nb", 6), "a\\nb  ");
  EXPECT_EQ(FitLeft("\u00e9", 3), "\u00e9  ");
  EXPECT_EQ(FitLeft("0123456789", 6), Fit("0123456789", 6));
}

}  // namespace
}  // namespace meshwright
