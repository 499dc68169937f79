// Names and types of values, as mlir_value.cc reads them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/hlo/stablehlo/mlir_module.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::StatusOr<MlirModule> ReadMlir(std::string_view text) {
  return ParseMlirModule(text, "f.mlir", MlirAliases(text));
}

std::string MlirErrorOf(std::string_view text) {
  return std::string(ReadMlir(text).status().message());
}

TEST(MlirValue, PartsOfANameFollowEachOther) {
  constexpr std::string_view kText =
      "func.func @main(%a: tensor<2xf32>) -> tensor<i32> {\n"
      "  %0:2, %b = \"t.three\"(%a) : (tensor<2xf32>) -> (tensor<f32>, tensor<i32>, tensor<i1>)\n"
      "  return %0#1 : tensor<i32>\n"
      "}\n";
  const absl::StatusOr<MlirModule> module = ReadMlir(kText);
  ASSERT_TRUE(module.ok()) << module.status();
  const MlirFunction& main = module->functions[0];
  EXPECT_THAT(main.value_names, ElementsAre("a", "0", "0", "b"));
  std::vector<std::string> types;
  for (const Shape* type : main.types) types.push_back(type->ToString(false));
  EXPECT_THAT(types, ElementsAre("f32[2]", "f32[]", "s32[]", "pred[]"));
  EXPECT_THAT(main.body.operations[0].results, ElementsAre(1, 2, 3));
  EXPECT_THAT(main.body.operations[1].operands, ElementsAre(2));
  ASSERT_EQ(main.uses.size(), 2u);
  EXPECT_FALSE(main.uses[0].is_part);
  EXPECT_TRUE(main.uses[1].is_part);
  EXPECT_EQ(kText.substr(main.uses[1].begin, main.uses[1].end - main.uses[1].begin), "%0#1");
}

TEST(MlirValue, PartsMayStandBehindABlank) {
  const absl::StatusOr<MlirModule> module = ReadMlir(
      "#alias = 1 : i32\n"
      "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
      "  %0:2 = \"t.two\"(%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)\n"
      "  return %0 #1 : tensor<f32>\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(module->functions[0].body.operations[1].operands, ElementsAre(2));
}

TEST(MlirValue, ResultsNeedNoNames) {
  const absl::StatusOr<MlirModule> module = ReadMlir(
      "func.func @main(%a: tensor<f32>) {\n"
      "  \"t.two\"(%a) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)\n"
      "  return\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  const MlirFunction& main = module->functions[0];
  EXPECT_THAT(main.body.operations[0].results, ElementsAre(1, 2));
  EXPECT_THAT(main.body.operations[0].definitions, IsEmpty());
  EXPECT_EQ(main.types.size(), 3u);
}

TEST(MlirValue, NamesOfARegionEndWithIt) {
  constexpr std::string_view kRegion =
      "\"t.region\"() ({\n    %x = \"t.make\"() : () -> tensor<f32>\n    t.return\n  }) : () -> "
      "()\n";
  const std::string region(kRegion);
  const std::string twice = "func.func @main() {\n  " + region + "  " + region + "  return\n}\n";
  EXPECT_EQ(MlirErrorOf(twice), "");
  EXPECT_EQ(MlirErrorOf("func.func @main() {\n  " + region +
                        "  \"t.use\"(%x) : (tensor<f32>) -> ()\n  return\n}\n"),
            "f.mlir:6:11: value \"%x\" is not defined before it is used");
}

TEST(MlirValue, EveryTextOfATypeIsReadOnce) {
  const absl::StatusOr<MlirModule> module = ReadMlir(
      "func.func @main(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>,\n"
      "                %c: tensor<2xf32>, %d: tensor<2xf32>) {\n  return\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<const Shape*>& types = module->functions[0].types;
  EXPECT_EQ(types[0], types[1]);
  EXPECT_EQ(types[2], types[3]);
  EXPECT_EQ(types[0]->ToString(false), "c64[2]");
  EXPECT_EQ(module->shapes.size(), 2u);
}

TEST(MlirValue, OperandsAreOfTheTypesSaid) {
  const auto use = [](std::string_view types) {
    return MlirErrorOf(
        "func.func @main(%a: tensor<2xf32>, %b: tensor<i1>) {\n  \"t.use\"(%a, %b) : " +
        std::string(types) + " -> ()\n  return\n}\n");
  };
  EXPECT_EQ(use("(tensor<2xf32>, tensor<i1>)"), "");
  EXPECT_EQ(use("(tensor<2xf32>)"), "f.mlir:2:3: t.use has 2 operands, but types of 1");
  EXPECT_EQ(use("(tensor<2xf32>, tensor<2xi1>)"),
            "f.mlir:2:3: t.use: operand 1 is said to be pred[2], the value is pred[]");
}

}  // namespace
}  // namespace meshwright
