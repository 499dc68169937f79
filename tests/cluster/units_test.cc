#include "meshwright/cluster/units.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(ParseBytes, ReadsDecimalAndBinaryUnits) {
  const struct {
    const char* text;
    int64_t bytes;
  } kCases[] = {
      {"123", 123},
      {"0", 0},
      {"60GiB", int64_t{60} << 30},
      {"80GB", 80'000'000'000},
      {"80G", 80'000'000'000},
      {" 1.5 TB ", 1'500'000'000'000},
      {"4KiB", 4096},
      {"2Mi", 2 << 20},
      {"1e3", 1000},
      {"60gib", int64_t{60} << 30},
      {"8Gbit", 1'000'000'000},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    ASSERT_TRUE(ParseBytes(c.text).ok()) << ParseBytes(c.text).status();
    EXPECT_EQ(*ParseBytes(c.text), c.bytes);
  }
}

TEST(ParseBytes, RefusesOthers) {
  for (const char* text : {"", "GB", "-1", "1 potato", "80Gb", "80gb", "nan", "inf", "1e400",
                           "0x10", "1 2", "9e18GB", "9223372036854775808"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(ParseBytes(text).ok());
  }
  EXPECT_NE(ParseBytes("many").status().message().find("80GiB"), absl::string_view::npos);
  // One line, whatever the input.
  EXPECT_EQ(ParseBytes("a\nb").status().message().find('\n'), absl::string_view::npos);
  EXPECT_LT(ParseBytes(std::string(100'000, 'x')).status().message().size(), 300u);
}

TEST(ParseBandwidth, ReadsBytesAndBits) {
  EXPECT_DOUBLE_EQ(*ParseBandwidth("900GB/s"), 900e9);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("400Gbit/s"), 50e9);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("400 Gbps"), 50e9);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("3.35TB/s"), 3.35e12);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("1GiB/s"), 1073741824.0);
  EXPECT_DOUBLE_EQ(*ParseBandwidth("5e10"), 5e10);
  for (const char* text : {"", "900GB", "fast", "-1GB/s", "900Gb/s", "/s", "1e308TB/s"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(ParseBandwidth(text).ok());
  }
}

TEST(ParseDuration, ReadsUnits) {
  EXPECT_DOUBLE_EQ(*ParseDuration("30s"), 30);
  EXPECT_DOUBLE_EQ(*ParseDuration("3us"), 3e-6);
  EXPECT_DOUBLE_EQ(*ParseDuration("250 ms"), 0.25);
  EXPECT_DOUBLE_EQ(*ParseDuration("2min"), 120);
  EXPECT_DOUBLE_EQ(*ParseDuration("1h"), 3600);
  EXPECT_DOUBLE_EQ(*ParseDuration("1.5"), 1.5);
  for (const char* text : {"", "s", "3 parsecs", "-1s", "infs"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(ParseDuration(text).ok());
  }
}

TEST(ParseFlops, ReadsUnits) {
  EXPECT_DOUBLE_EQ(*ParseFlops("989TFLOPS"), 989e12);
  EXPECT_DOUBLE_EQ(*ParseFlops("1.2 PFLOP/s"), 1.2e15);
  EXPECT_DOUBLE_EQ(*ParseFlops("400TOPS"), 4e14);
  EXPECT_DOUBLE_EQ(*ParseFlops("1e12"), 1e12);
  EXPECT_FALSE(ParseFlops("fast").ok());
}

}  // namespace
}  // namespace meshwright
