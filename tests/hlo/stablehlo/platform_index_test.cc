#include "meshwright/hlo/stablehlo/platform_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/writer.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What jax.export writes where lowerings differ: the index of the rule by that of the platform, and
// a branch for each rule.
std::string PlatformChoiceText(std::string_view index) {
  return StrCat("  %rule = \"stablehlo.case\"(", index,
                R"() ({
    %c = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }, {
    %c = stablehlo.constant dense<0> : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %y = "stablehlo.case"(%rule) ({
    %t = stablehlo.tanh %x : tensor<8x4xf32>
    stablehlo.return %t : tensor<8x4xf32>
  }, {
    %s = stablehlo.sine %x : tensor<8x4xf32>
    %u = "tpu.unknown"(%s) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %s : tensor<8x4xf32>
  }) : (tensor<i32>) -> tensor<8x4xf32>
)");
}

constexpr std::string_view kIndexArgument =
    "%p: tensor<i32> {jax.global_constant = \"_platform_index\"}";

std::string PlatformProgram(std::string_view attributes, std::string_view body) {
  return StrCat("module @m attributes {", attributes, "} {\nfunc.func public @main(",
                kIndexArgument,
                ", %x: tensor<8x4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<8x4xf32> {\n",
                body, "  return %y : tensor<8x4xf32>\n}\n");
}

// The opcodes of the entry computation, and of what it calls where it calls something.
std::vector<std::string> OpcodesOf(const Module& module, ComputationId id) {
  std::vector<std::string> names;
  for (const Instruction& instruction : module[id].instructions) {
    names.emplace_back(OpcodeName(instruction.opcode));
    if (instruction.opcode != Opcode::kCall) continue;
    for (std::string& name : OpcodesOf(module, instruction.called[0])) names.push_back(name);
  }
  return names;
}

TEST(PlatformIndex, CudaIsChosenAndTheOtherBranchesAreNotThere) {
  const StablehloProgram program =
      ReadStablehlo(StrCat(PlatformProgram("meshwright.platforms = [\"tpu\", \"cuda\"]",
                                           PlatformChoiceText("%p")),
                           "}"),
                    "f.mlir")
          .value();
  EXPECT_THAT(OpcodesOf(program.module, program.module.entry), ElementsAre("parameter", "tanh"));
  EXPECT_THAT(program.warnings, IsEmpty());
  // The index is no argument: what is said of the others is said of the right ones.
  ASSERT_EQ(program.source.arguments.size(), 1u);
  ASSERT_EQ(program.module.input_output_alias.size(), 1u);
  EXPECT_EQ(program.module.input_output_alias[0].parameter, 0);
  // The conditional hands on what its branch makes, which stands in the text too.
  ASSERT_EQ(program.source.results.size(), 2u);
  EXPECT_FALSE(program.source.results[0].handed_on);
  EXPECT_TRUE(program.source.results[1].handed_on);
  EXPECT_THAT(program.source.branch_ends, IsEmpty());
}

TEST(PlatformIndex, WithoutCudaItIsTheFirst) {
  // The other branch has an operation that nobody knows, which is refused where it would run.
  const std::string text = StrCat(
      PlatformProgram("meshwright.platforms = [\"rocm\", \"tpu\"]", PlatformChoiceText("%p")), "}");
  EXPECT_THAT(ReadStablehlo(text, "f.mlir").status().message(), HasSubstr("tpu.unknown"));
}

TEST(PlatformIndex, ProgramsThatDoNotSayWhichAreWarnedOf) {
  const std::string text =
      StrCat(PlatformProgram("", "  %y = stablehlo.tanh %x : tensor<8x4xf32>\n"), "}");
  EXPECT_THAT(ReadStablehlo(text, "f.mlir").value().warnings,
              ElementsAre(HasSubstr("planned as it runs on the first")));
  // The warning stands in for the choice: without one there is nothing to warn of.
  const std::string plain =
      "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
      "  return %x : tensor<8xf32>\n}\n";
  EXPECT_THAT(ReadStablehlo(plain, "f.mlir").value().warnings, IsEmpty());
}

TEST(PlatformIndex, IsHandedToFunctionsAndLoops) {
  const std::string body = R"(  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %v = %x, %q = %p) : tensor<i32>, tensor<8x4xf32>, tensor<i32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = func.call @f(%q, %v) : (tensor<i32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      stablehlo.return %j, %w, %q : tensor<i32>, tensor<8x4xf32>, tensor<i32>
    }
  %y = stablehlo.negate %r#1 : tensor<8x4xf32>
)";
  const std::string callee =
      StrCat("func.func private @f(%p: tensor<i32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {\n",
             PlatformChoiceText("%p"), "  return %y : tensor<8x4xf32>\n}\n}");
  const Module module =
      ParseStablehlo(
          StrCat(PlatformProgram("meshwright.platforms = [\"cpu\", \"cuda\"]", body), callee),
          "f.mlir")
          .value();
  const std::string text = ToHloText(module);
  EXPECT_THAT(text, HasSubstr(" tanh("));
  EXPECT_THAT(text, Not(HasSubstr("sine(")));
  EXPECT_THAT(text, Not(HasSubstr("conditional(")));
}

TEST(PlatformIndex, IsANumber) {
  EXPECT_EQ(ReadStablehlo("func.func @main(%p: tensor<2xf32> {jax.global_constant = "
                          "\"_platform_index\"}) {\n  return\n}\n",
                          "f.mlir")
                .status()
                .message(),
            "f.mlir:1:10: the platform index is an integer, not f32[2]");
}

}  // namespace
}  // namespace meshwright
