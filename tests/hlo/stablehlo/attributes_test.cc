// What lowerings learn of an operation's attributes, as stablehlo_attributes.cc reads them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/lowering.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An operation t.op with these attributes, and a lowering to ask about it.
class Attributed {
 public:
  explicit Attributed(std::string_view attributes)
      : text_(StrCat("sdy.mesh @m = <[\"x\"=2, \"y\"=4]>\nfunc.func @main() {\n  \"t.op\"() {",
                     attributes, "} : () -> ()\n  return\n}\n")),
        aliases_(text_),
        module_(*ParseMlirModule(text_, "f.mlir", aliases_)),
        lowering_(module_, text_, "f.mlir", aliases_) {}

  const StablehloLowering& lowering() const { return lowering_; }
  const MlirOperation& operation() const { return module_.functions[0].body.operations[0]; }

 private:
  std::string text_;
  MlirAliases aliases_;
  MlirModule module_;
  StablehloLowering lowering_;
};

TEST(StablehloAttributes, LongAndShortNamesMeanTheSame) {
  for (const std::string_view text : {"dims = array<i64: 1, 0>", "permutation = [1, 0]"}) {
    const Attributed op(text);
    const auto dims = op.lowering().RequiredIntegers(op.operation(), {"dims", "permutation"}, 2);
    ASSERT_TRUE(dims.ok()) << dims.status();
    EXPECT_THAT(*dims, ElementsAre(1, 0));
  }
}

TEST(StablehloAttributes, ListsHaveTheSizeThatIsNeeded) {
  const Attributed op("dims = array<i64: 1, 0>");
  const auto error = [&](int64_t size) {
    return std::string(op.lowering().Integers(op.operation(), {"dims"}, size).status().message());
  };
  EXPECT_EQ(error(2), "");
  EXPECT_EQ(error(-1), "");
  EXPECT_EQ(error(3), "f.mlir:3:3: t.op: attribute dims has 2 numbers; it needs 3");
  EXPECT_THAT(*op.lowering().Integers(op.operation(), {"other"}, 3, {7}), ElementsAre(7));
  EXPECT_EQ(op.lowering().RequiredIntegers(op.operation(), {"other"}, 3).status().message(),
            "f.mlir:3:3: t.op: lacks the attribute other");
}

TEST(StablehloAttributes, Numbers) {
  const Attributed op("dim = 3 : i64, flag, text = \"three\"");
  EXPECT_EQ(*op.lowering().Integer(op.operation(), {"dim"}), 3);
  EXPECT_EQ(op.lowering().Integer(op.operation(), {"text"}).status().message(),
            "f.mlir:3:3: t.op: lacks the attribute text, a number");
  EXPECT_EQ(op.lowering().IntegerOr(op.operation(), "dim", 5), 3);
  EXPECT_EQ(op.lowering().IntegerOr(op.operation(), "flag", 5), 1);  // a unit attribute is true
  EXPECT_EQ(op.lowering().IntegerOr(op.operation(), "text", 5), 5);
  EXPECT_EQ(op.lowering().IntegerOr(op.operation(), "none", 5), 5);
}

TEST(StablehloAttributes, Words) {
  const Attributed op(
      "a = #stablehlo<comparison_direction GT>, b = #stablehlo.transpose<NO_TRANSPOSE>, c = "
      "\"LT\"");
  const auto word = [&](std::string_view name) {
    return StablehloLowering::Word(op.operation().Find(name));
  };
  EXPECT_EQ(word("a"), "GT");
  EXPECT_EQ(word("b"), "NO_TRANSPOSE");
  EXPECT_EQ(word("c"), "LT");
  EXPECT_EQ(word("d"), "");
}

TEST(StablehloAttributes, ShardingOfOneValue) {
  const Attributed op(
      "one = #sdy.sharding<@m, [{\"x\"}, {}]>,"
      " two = #sdy.sharding_per_value<[<@m, [{\"x\"}]>, <@m, [{\"y\"}]>]>");
  const auto one = op.lowering().SdySharding(*op.operation().Find("one"));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(*one, "{mesh['x'=2,'y'=4], [{'x'}, {}]}");
  EXPECT_THAT(
      std::string(op.lowering().SdySharding(*op.operation().Find("two")).status().message()),
      HasSubstr("shardings of 2 values, not of one"));
}

TEST(StablehloAttributes, CountsOfOperandsAndResults) {
  const Attributed op("");
  EXPECT_TRUE(op.lowering().Expect(op.operation(), 0, -1, 0).ok());
  EXPECT_EQ(op.lowering().Expect(op.operation(), 2, 0, 0).message(),
            "f.mlir:3:3: t.op: has 0 operands; it takes 2");
}

}  // namespace
}  // namespace meshwright
