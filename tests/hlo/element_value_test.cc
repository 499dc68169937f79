#include "meshwright/hlo/element_value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "meshwright/base/strings.h"
#include "tests/testing/fresh_seed.h"

namespace meshwright {
namespace {

std::string Bytes(ElementType type, std::string_view text) {
  std::string data;
  EXPECT_TRUE(AppendElement(type, text, data)) << ElementTypeName(type) << " " << text;
  return data;
}

bool IsValue(ElementType type, std::string_view text) {
  std::string data;
  return AppendElement(type, text, data);
}

// What reading `text` and printing the bytes again gives.
std::string Again(ElementType type, std::string_view text) {
  const std::string data = Bytes(type, text);
  return data.empty() ? "?" : ElementText(type, data.data());
}

TEST(ElementValueTest, PrintsTheFewestDigits) {
  EXPECT_EQ(Again(ElementType::kF32, "0.111803398"), "0.1118034");
  EXPECT_EQ(Again(ElementType::kF32, "5120"), "5120");
  EXPECT_EQ(Again(ElementType::kF32, "4194304"), "4194304");
  EXPECT_EQ(Again(ElementType::kF32, "-1e+09"), "-1e+09");
  EXPECT_EQ(Again(ElementType::kF32, "1e-08"), "1e-08");
  EXPECT_EQ(Again(ElementType::kF32, "-0"), "-0");
  EXPECT_EQ(Again(ElementType::kF32, "1e-45"), "1e-45");  // the smallest subnormal number
  EXPECT_EQ(Again(ElementType::kF32, "3.40282347e+38"), "3.4028235e+38");
  EXPECT_EQ(Again(ElementType::kF64, "0.1"), "0.1");
  EXPECT_EQ(Again(ElementType::kF64, "0.30000000000000004"), "0.30000000000000004");
  EXPECT_EQ(Again(ElementType::kBF16, "0.7969"), "0.797");
}

TEST(ElementValueTest, ReadsSpecialValues) {
  for (const ElementType type :
       {ElementType::kF32, ElementType::kF64, ElementType::kBF16, ElementType::kF16}) {
    for (const char* text : {"inf", "-inf", "nan", "-nan", "nan(0x1)", "-nan(0x2a)", "-0"}) {
      EXPECT_EQ(Again(type, text), text) << ElementTypeName(type);
    }
  }
  EXPECT_EQ(Again(ElementType::kF32, "1e60"), "inf");
  EXPECT_EQ(Again(ElementType::kF32, "-1e400"), "-inf");
  EXPECT_EQ(Again(ElementType::kF32, "1e-400"), "0");
  EXPECT_EQ(Again(ElementType::kF16, "70000"), "inf");
}

// XLA takes -1 for 2^64 - 1, and no negative number for one of a shorter type.
TEST(ElementValueTest, NegativeUnsignedNumbers) {
  EXPECT_EQ(Again(ElementType::kU64, "-1"), "18446744073709551615");
  EXPECT_FALSE(IsValue(ElementType::kU32, "-1"));
}

TEST(ElementValueTest, EveryCodeOfTheSmallFormatsComesBack) {
  for (const ElementType type :
       {ElementType::kF8E5M2, ElementType::kF8E4M3, ElementType::kF8E4M3FN,
        ElementType::kF8E4M3B11FNUZ, ElementType::kF8E5M2FNUZ, ElementType::kF8E4M3FNUZ,
        ElementType::kF8E3M4, ElementType::kF8E8M0FNU}) {
    for (int code = 0; code < 256; ++code) {
      const std::string data(1, static_cast<char>(code));
      const std::string text = ElementText(type, data.data());
      EXPECT_EQ(Bytes(type, text), data) << ElementTypeName(type) << " " << code << " " << text;
    }
  }
  for (int code = 0; code < 16; ++code) {
    const std::string data(1, static_cast<char>(code));
    EXPECT_EQ(Bytes(ElementType::kF4E2M1FN, ElementText(ElementType::kF4E2M1FN, data.data())),
              data);
  }
  for (const ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    for (int code = 0; code < 65536; ++code) {
      std::string data(2, '\0');
      std::memcpy(data.data(), &code, 2);
      const std::string text = ElementText(type, data.data());
      ASSERT_EQ(Bytes(type, text), data) << ElementTypeName(type) << " " << code << " " << text;
    }
  }
}

TEST(ElementValueTest, RandomFloatsComeBack) {
  const uint64_t seed = FreshSeed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20000; ++round) {
    const uint64_t bits = random();
    for (const ElementType type : {ElementType::kF32, ElementType::kF64}) {
      const std::string data(reinterpret_cast<const char*>(&bits),
                             static_cast<size_t>(ElementBytes(type)));
      const std::string text = ElementText(type, data.data());
      ASSERT_EQ(Bytes(type, text), data) << text;
    }
  }
}

TEST(ElementValueTest, KnownCodes) {
  EXPECT_EQ(Bytes(ElementType::kF8E4M3FN, "448"), "\x7e");
  EXPECT_EQ(Bytes(ElementType::kF8E4M3FN, "nan"), "\x7f");
  EXPECT_EQ(Bytes(ElementType::kF8E5M2, "inf"), "\x7c");
  EXPECT_EQ(Bytes(ElementType::kF8E4M3FNUZ, "nan"), "\x80");
  EXPECT_EQ(Bytes(ElementType::kF8E8M0FNU, "1"), "\x7f");
  EXPECT_EQ(Bytes(ElementType::kF4E2M1FN, "6"), "\x07");
  EXPECT_EQ(Bytes(ElementType::kBF16, "1"), std::string("\x80\x3f"));
  EXPECT_EQ(Bytes(ElementType::kF16, "1"), std::string("\x00\x3c", 2));
  // Ties go to even: 1 + 2^-8 lies between two bf16 numbers.
  EXPECT_EQ(Again(ElementType::kBF16, "1.00390625"), "1");
  EXPECT_EQ(Again(ElementType::kBF16, "1.01171875"), Again(ElementType::kBF16, "1.015625"));
}

TEST(ElementValueTest, FormatsWithoutInfinityRefuseIt) {
  EXPECT_FALSE(IsValue(ElementType::kF8E4M3FN, "inf"));
  EXPECT_FALSE(IsValue(ElementType::kF8E4M3FN, "1e9"));
  EXPECT_FALSE(IsValue(ElementType::kF4E2M1FN, "nan"));
  EXPECT_FALSE(IsValue(ElementType::kF8E8M0FNU, "-1"));
  EXPECT_FALSE(IsValue(ElementType::kF8E8M0FNU, "0"));
}

TEST(ElementValueTest, IntegersKeepTheirRange) {
  for (const char* text : {"-128", "127", "0"}) EXPECT_EQ(Again(ElementType::kS8, text), text);
  EXPECT_FALSE(IsValue(ElementType::kS8, "128"));
  EXPECT_FALSE(IsValue(ElementType::kS8, "-129"));
  EXPECT_EQ(Again(ElementType::kS4, "-8"), "-8");
  EXPECT_FALSE(IsValue(ElementType::kS4, "8"));
  EXPECT_EQ(Again(ElementType::kU4, "15"), "15");
  EXPECT_FALSE(IsValue(ElementType::kU4, "16"));
  EXPECT_FALSE(IsValue(ElementType::kU8, "-1"));
  EXPECT_EQ(Again(ElementType::kS64, "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Again(ElementType::kU64, "18446744073709551615"), "18446744073709551615");
  EXPECT_FALSE(IsValue(ElementType::kU64, "18446744073709551616"));
  EXPECT_FALSE(IsValue(ElementType::kS64, "9223372036854775808"));
}

TEST(ElementValueTest, RefusesWhatIsNoValue) {
  for (const char* text : {"", "x", "1x", "--1", "+-1", "NaN", "-nAn(7)", "Infinity", "INF",
                           "nan(1)", "nan(0x0)", "nan(0xfffffffff)", "infinite", "1e", "."}) {
    EXPECT_FALSE(IsValue(ElementType::kF32, text)) << text;
  }
  for (const char* text : {"", "1.0", "x", "true", "-"}) {
    EXPECT_FALSE(IsValue(ElementType::kS32, text)) << text;
  }
  EXPECT_TRUE(IsValue(ElementType::kPred, "true"));
  EXPECT_TRUE(IsValue(ElementType::kPred, "0"));
  EXPECT_FALSE(IsValue(ElementType::kPred, "2"));
  EXPECT_FALSE(IsValue(ElementType::kToken, "0"));
}

TEST(ElementValueTest, ConvertsToDouble) {
  EXPECT_EQ(ElementAsDouble(ElementType::kS4, Bytes(ElementType::kS4, "-3").data()), -3);
  EXPECT_EQ(ElementAsDouble(ElementType::kU8, Bytes(ElementType::kU8, "255").data()), 255);
  EXPECT_EQ(ElementAsDouble(ElementType::kBF16, Bytes(ElementType::kBF16, "1.5").data()), 1.5);
  EXPECT_EQ(ElementAsDouble(ElementType::kPred, Bytes(ElementType::kPred, "true").data()), 1);
  EXPECT_TRUE(std::isnan(
      ElementAsDouble(ElementType::kF8E4M3FN, Bytes(ElementType::kF8E4M3FN, "nan").data())));
}

}  // namespace
}  // namespace meshwright
