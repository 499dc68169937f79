#include "meshwright/hlo/shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "meshwright/hlo/text/shape.h"

namespace meshwright {
namespace {

Shape ParseText(std::string_view text) {
  TextCursor cursor(text, "test");
  absl::StatusOr<Shape> shape = ParseShape(cursor);
  EXPECT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(cursor.AtEnd()) << text;
  return shape.ok() ? *shape : Shape();
}

TEST(ShapeTest, TextComesBack) {
  for (const char* text : {
           "f32[]",
           "pred[0]",
           "bf16[2,3]{1,0}",
           "f32[2,3]{0,1:T(8,128)}",
           "s4[8]{0:E(4)}",
           "f32[8,128]{1,0:T(8,128)(2,1)S(1)}",
           "s32[]{:T(128)}",
           "f32[<=10,5]{1,0}",
           "f32[5,<=10]",
           "()",
           "(f32[], s32[2]{0})",
           "((f32[1]{0}), token[], opaque[])",
           "f8e4m3b11fnuz[4]",
           "c128[2,2]{1,0}",
           "u1[7]",
           "f4e2m1fn[2]",
           "f8e8m0fnu[2]",
           "f32[2]{0:P(s32[]{:T(4)})}",
           "(f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])",
       }) {
    EXPECT_EQ(ParseText(text).ToString(), text);
  }
}

TEST(ShapeTest, EmptyLayoutIsNoLayout) {
  EXPECT_EQ(ParseText("f32[]{}"), ParseText("f32[]"));
  EXPECT_EQ(ParseText("f32[2]{}"), ParseText("f32[2]"));
  EXPECT_NE(ParseText("f32[2]{0}"), ParseText("f32[2]"));
}

TEST(ShapeTest, SpacesAndCommentsDoNotMatter) {
  EXPECT_EQ(ParseText("( f32 [ 2 , 3 ] , /*index=1*/ s32[] )"), ParseText("(f32[2,3], s32[])"));
}

TEST(ShapeTest, SameTypeIgnoresLayoutAndDynamicFlags) {
  EXPECT_TRUE(ParseText("(f32[2,<=3]{0,1})").SameType(ParseText("(f32[2,3]{1,0})")));
  EXPECT_FALSE(ParseText("f32[2]").SameType(ParseText("bf16[2]")));
  EXPECT_FALSE(ParseText("f32[2]").SameType(ParseText("f32[2,1]")));
  EXPECT_FALSE(ParseText("(f32[2])").SameType(ParseText("(f32[2], f32[2])")));
}

TEST(ShapeTest, CountsElementsAndBytes) {
  EXPECT_EQ(ParseText("f32[2,3]").elements(), 6);
  EXPECT_EQ(ParseText("f32[2,3]").bytes(), 24);
  EXPECT_EQ(ParseText("f32[]").bytes(), 4);
  EXPECT_EQ(ParseText("pred[7]").bytes(), 7);
  EXPECT_EQ(ParseText("c128[2]").bytes(), 32);
  EXPECT_EQ(ParseText("s4[3]").bytes(), 3);
  EXPECT_EQ(ParseText("(f32[2], (bf16[3], token[]))").bytes(), 14);
  EXPECT_EQ(ParseText("token[]").elements(), 0);
  EXPECT_EQ(ParseText("f32[0,5]").elements(), 0);
}

TEST(ShapeTest, CountsSaturate) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Shape huge = Shape::Array(ElementType::kF32, {kMax, kMax});
  EXPECT_EQ(huge.elements(), kMax);
  EXPECT_EQ(huge.bytes(), kMax);
  EXPECT_EQ(Shape::Tuple({huge, huge}).bytes(), kMax);
  EXPECT_EQ(Shape::Array(ElementType::kF32, {kMax, kMax, 0}).elements(), 0);
}

TEST(ElementTypeTest, NamesComeBack) {
  for (int number = 0; number < 40; ++number) {
    const auto type = static_cast<ElementType>(number);
    const std::string_view name = ElementTypeName(type);
    if (name == "invalid") continue;
    EXPECT_EQ(ElementTypeFromName(name), type) << name;
  }
  EXPECT_EQ(ElementTypeFromName("f31"), ElementType::kInvalid);
  EXPECT_EQ(ElementTypeFromName(""), ElementType::kInvalid);
  EXPECT_TRUE(IsFloating(ElementType::kF8E4M3FN));
  EXPECT_FALSE(IsFloating(ElementType::kC64));
  EXPECT_TRUE(IsInteger(ElementType::kU1));
  EXPECT_FALSE(IsInteger(ElementType::kPred));
}

}  // namespace
}  // namespace meshwright
