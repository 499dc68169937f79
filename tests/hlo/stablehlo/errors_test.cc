#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/writer.h"

// One case for each kind of error: the text, and the whole message. Positions are line:column.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string ErrorOf(std::string_view text) {
  const absl::StatusOr<Module> module = ParseStablehlo(text, "f.mlir");
  EXPECT_FALSE(module.ok()) << text;
  if (module.ok()) return "";
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(module.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

// The error of a function of %a: tensor<2x3xf32> and %s: tensor<f32> that has `operation` in
// line 2.
std::string ErrorIn(std::string_view operation) {
  return ErrorOf(StrCat("func.func @main(%a: tensor<2x3xf32>, %s: tensor<f32>) {\n  ", operation,
                        "\n  return\n}\n"));
}

TEST(StablehloErrors, WhatIsNoProgram) {
  EXPECT_EQ(ErrorOf("ML\xefR\x01"), "f.mlir: byte 5: the bytecode ends in the middle of a text");
  EXPECT_EQ(ErrorOf("module {}"),
            "f.mlir:1:1: no function @main among the 0 functions of the module");
  EXPECT_EQ(ErrorOf("module {"),
            "f.mlir:1:9: the file ends where an operation or '}' was expected");
  EXPECT_EQ(ErrorOf("module { module {} }"),
            "f.mlir:1:10: a module inside of a module; only one can be planned");
  EXPECT_EQ(ErrorOf("func.func private @main(tensor<f32>)"),
            "f.mlir:1:10: function @main has no body");
  EXPECT_EQ(ErrorOf("tpu.module"),
            "f.mlir:1:1: expected func.func, sdy.mesh or the module's end, found \"tpu.module\"");
}

TEST(StablehloErrors, ArgumentsThatJaxGives) {
  EXPECT_EQ(ErrorOf("func.func @main(%a: tensor<i32> {jax.global_constant = "
                    "\"b\"}) {\n  return\n}\n"),
            "f.mlir:1:56: an argument that JAX gives the function when it is called, \"b\": it was "
            "exported for sizes that are not known; export it for known sizes");
}

TEST(StablehloErrors, RegionsOfUnknownOperations) {
  // What JAX 0.11 makes of a cumulative sum on GPUs, with and without attributes before the region.
  for (const std::string_view attributes : {"", "{is_associative = true} "}) {
    const absl::StatusOr<Module> module = ParseStablehlo(
        StrCat("func.func @main(%a: tensor<2x3xf32>, %s: tensor<2xf32>) -> tensor<2x3xf32> {\n"
               "  %0:2 = chlo.scan(%a) inits(%s) dimension=1 ",
               attributes,
               "{\n  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):\n"
               "    %1 = stablehlo.add %x, %y : tensor<2xf32>\n"
               "    stablehlo.return %1, %1 : tensor<2xf32>, tensor<2xf32>\n"
               "  } : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)\n"
               "  return %0#0 : tensor<2x3xf32>\n}\n"),
        "f.mlir");
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_THAT(ToHloText(*module), HasSubstr("custom_call_target=\"chlo.scan\""));
  }
  EXPECT_THAT(ErrorIn("%0 = chlo.scan(%a) {\n  ^bb0(%x: tensor<f32>):\n"
                      "    %1 = stablehlo.add %x, %s : tensor<f32>\n"
                      "    stablehlo.return %1 : tensor<f32>\n"
                      "  } : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
              HasSubstr("has a region that uses values from outside"));
}

TEST(StablehloErrors, OperationsThatNobodyKnows) {
  constexpr std::string_view kDialect =
      ": operations of this dialect cannot be planned; lower the program to StableHLO";
  EXPECT_EQ(ErrorIn("%0 = arith.addf %s, %s : tensor<f32>"),
            StrCat("f.mlir:2:3: arith.addf", kDialect));
  EXPECT_EQ(ErrorIn("%0 = \"tf.Relu\"(%s) : (tensor<f32>) -> tensor<f32>"),
            StrCat("f.mlir:2:3: tf.Relu", kDialect));
  EXPECT_EQ(ErrorIn("%0 = linalg.generic {indexing_maps = [#m]} ins(%a : tensor<2x3xf32>)"),
            StrCat("f.mlir:2:3: linalg.generic", kDialect));
  EXPECT_THAT(ErrorIn("%0 = mhlo.sparse_dot %a, %a : tensor<f32>"),
              StartsWith("f.mlir:2:3: mhlo.sparse_dot: this operation is not known"));
  EXPECT_THAT(ErrorIn("%0 = stablehlo.dynamic_reshape %a, %s : (tensor<2x3xf32>, tensor<f32>) -> "
                      "tensor<6xf32>"),
              StartsWith("f.mlir:2:3: stablehlo.dynamic_reshape: its shape is computed while"));
  EXPECT_THAT(ErrorIn("%0 = stablehlo.uniform_quantize %a : (tensor<2x3xf32>) -> "
                      "tensor<2x3x!quant.uniform<i8:f32, 0.1>>"),
              StartsWith("f.mlir:2:3: stablehlo.uniform_quantize: quantized numbers"));
  EXPECT_THAT(ErrorIn("%0 = stablehlo.add %a, %a : tensor<2x3x!quant.uniform<i8:f32, 0.1>>"),
              StartsWith("f.mlir:2:42: a quantized type; planning needs plain numbers"));
}

TEST(StablehloErrors, Aliases) {
  EXPECT_EQ(ErrorOf("#a = #a\nfunc.func @main(%a: tensor<8xf32> {sdy.sharding = #a}) {\n"
                    "  return\n}\n"),
            "f.mlir:1:5: attributes nested deeper than 128");
  EXPECT_EQ(ErrorOf("func.func @main(%a: tensor<8xf32> {sdy.sharding = #b}) {\n  return\n}\n"),
            "f.mlir:1:51: alias \"#b\" is not defined; add a line #b = ...");
  EXPECT_EQ(ErrorOf("!t = !t\nfunc.func @main(%a: !t) {\n  return\n}\n"),
            "f.mlir:1:6: types nested deeper than 128");
  EXPECT_EQ(ErrorOf("func.func @main(%a: tensor<8xf32> {mhlo.sharding = \"x\"}) {\n  return\n}\n"),
            "f.mlir:1:52: expected mhlo.sharding = \"{...}\" or the bytes of an OpSharding");
}

TEST(StablehloErrors, ArgumentsOfBodiesHaveNames) {
  EXPECT_EQ(
      ErrorOf("func.func @main(%a: tensor<f32>, tensor<i32>) {\n  return\n}\n"),
      "f.mlir:1:10: function @main has a body and 2 arguments, of which 1 have names; all need "
      "one, as %arg0: tensor<f32>");
}

TEST(StablehloErrors, Values) {
  EXPECT_EQ(ErrorIn("%0 = stablehlo.abs %b : tensor<f32>"),
            "f.mlir:2:22: value \"%b\" is not defined before it is used");
  EXPECT_EQ(ErrorIn("%a = stablehlo.abs %s : tensor<f32>"),
            "f.mlir:2:3: value \"%a\" is defined twice in function @main");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.abs %a#1 : tensor<f32>"),
            "f.mlir:2:22: value \"%a\" has 1 parts; there is no #1");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.abs %a : tensor<f32>"),
            "f.mlir:2:3: stablehlo.abs: operand 0 is said to be f32[], the value is f32[2,3]");
  EXPECT_EQ(ErrorIn("%0:2 = \"stablehlo.abs\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
            "f.mlir:2:3: stablehlo.abs has types of 1 results, but names for 2");
  EXPECT_EQ(ErrorIn("return"),
            "f.mlir:3:3: expected '}' after the region's return, found \"return\"");
  EXPECT_EQ(ErrorOf("func.func @main(%a: tensor<f32>) {\n  return %a : tensor<f32>\n}"),
            "f.mlir:2:3: return: returns 1 values; function @main has 0 results");
}

TEST(StablehloErrors, Types) {
  EXPECT_THAT(ErrorIn("%0 = stablehlo.iota dim = 0 : tensor<?xf32>"),
              StartsWith("f.mlir:2:40: this type has a dimension of unknown size; "));
  EXPECT_THAT(ErrorIn("%0 = stablehlo.iota dim = 0 : tensor<4xf32, #stablehlo.bounds<4>>"),
              StartsWith("f.mlir:2:47: a type with bounded dimensions; "));
  EXPECT_EQ(ErrorIn("%0 = stablehlo.iota dim = 0 : tensor<4xf33>"),
            "f.mlir:2:42: expected a size or an element type like f32, bf16, i32, ui8, i1, found "
            "\"f33\"");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.iota dim = 0 : tensor<99999999999999999999xf32>"),
            "f.mlir:2:40: a size that does not fit in 64 bits");
}

TEST(StablehloErrors, Operations) {
  EXPECT_EQ(ErrorIn("%0 = stablehlo.add %s : tensor<f32>"),
            "f.mlir:2:3: stablehlo.add: has 1 operands; it takes 2");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.transpose %a : (tensor<2x3xf32>) -> tensor<3x2xf32>"),
            "f.mlir:2:3: stablehlo.transpose: lacks the attribute dims");
  EXPECT_EQ(ErrorOf("func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
                    "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> "
                    "tensor<2x3xf32>\n  return %0 : tensor<2x3xf32>\n}"),
            "f.mlir:2:3: transpose.1: shape mismatch: is f32[2,3], its operands give f32[3,2]");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.compare GX, %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
                    "tensor<2x3xi1>"),
            "f.mlir:2:3: stablehlo.compare: direction \"GX\"; there are EQ, NE, GE, GT, LE, LT");
  EXPECT_EQ(
      ErrorIn("%0 = stablehlo.compare GT, %a, %a, FLOATING : (tensor<2x3xf32>, "
              "tensor<2x3xf32>) -> tensor<2x3xi1>"),
      "f.mlir:2:3: stablehlo.compare: compare type \"FLOATING\"; there are FLOAT, TOTALORDER, "
      "SIGNED, UNSIGNED, NOTYPE");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.add %a, %a, exactly : tensor<2x3xf32>"),
            "f.mlir:2:30: expected an operand, an attribute or ':', found \"exactly\"");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.slice %a [0:1, 0:1 : (tensor<2x3xf32>) -> tensor<1x1xf32>"),
            "f.mlir:2:27: this '[' is not closed");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.broadcast_in_dim %a, dims = [0, 0] : (tensor<2x3xf32>) -> "
                    "tensor<3x3xf32>"),
            "f.mlir:2:3: stablehlo.broadcast_in_dim: cannot make f32[3,3] of f32[2,3] along these "
            "dimensions");
  EXPECT_EQ(ErrorIn("%0 = call @g(%a) : (tensor<2x3xf32>) -> tensor<f32>"),
            "f.mlir:2:3: func.call: no function \"@g\"; the nearest is \"@main\"");
  EXPECT_EQ(ErrorIn("%0 = call @main(%a) : (tensor<2x3xf32>) -> tensor<f32>"),
            "f.mlir:2:3: func.call: calls @main, which is being called; recursion is not run");
  EXPECT_THAT(ErrorIn("%0 = sdy.manual_computation(%a)"),
              HasSubstr("the body of a shard_map or pmap"));
}

TEST(StablehloErrors, Constants) {
  EXPECT_EQ(ErrorIn("%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>"),
            "f.mlir:2:33: a list of 2, dimension 0 has 3");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.constant dense<300> : tensor<i8>"),
            "f.mlir:2:33: \"300\" is no value of s8");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.constant dense<\"0x0011\"> : tensor<3xi32>"),
            "f.mlir:2:33: 2 bytes, the type has 3 elements of 4");
  EXPECT_EQ(ErrorIn("%0 = stablehlo.constant 3 : i32"),
            "f.mlir:2:27: expected dense<...> as the value of a constant");
}

TEST(StablehloErrors, Shardings) {
  EXPECT_EQ(ErrorIn("%0 = sdy.sharding_constraint %a <@m, [{}, {}]> : tensor<2x3xf32>"),
            "f.mlir:2:36: mesh \"@m\" is not defined; the module has no sdy.mesh");
  EXPECT_EQ(ErrorIn("%0 = sdy.sharding_constraint %a <mesh<[\"x\"=2]>, [{\"z\"}, {}]> : "
                    "tensor<2x3xf32>"),
            "f.mlir:2:53: mesh @ has no axis \"z\"");
  EXPECT_EQ(ErrorOf("func.func @main(%a: tensor<f32> {tf.aliasing_output = 3 : i32}) { return }"),
            "f.mlir:1:55: tf.aliasing_output names no result; there are 0");
}

// Text that is small but would take a recursion or an expansion without end.
TEST(StablehloErrors, NestingIsBounded) {
  std::string regions, attributes, aliases, types;
  for (int i = 0; i < 100000; ++i) {
    regions += "\"a\"() ({ ";
    attributes += "[";
    types += "tuple<";
  }
  EXPECT_THAT(ErrorIn(regions), HasSubstr("regions nested deeper than 128"));
  EXPECT_THAT(ErrorIn(StrCat("\"a\"() {b = ", attributes)),
              HasSubstr("attributes nested deeper than 128"));
  EXPECT_THAT(ErrorIn(StrCat("\"a\"() : () -> ", types)),
              HasSubstr("types nested deeper than 128"));
  for (int i = 1; i < 60; ++i) StrAppend(&aliases, "#a", i, " = [#a", i - 1, ", #a", i - 1, "]\n");
  EXPECT_THAT(
      ErrorOf(StrCat("#a0 = 1\n", aliases, "func.func @main() { \"a\"() {b = #a59} : () -> ()")),
      HasSubstr("aliases in one attribute"));
}

}  // namespace
}  // namespace meshwright
