#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/writer.h"

// Operations that newer versions of StableHLO do without, or that only MHLO has.

namespace meshwright {
namespace {

using ::testing::HasSubstr;

Module ReadOlder(std::string_view text) {
  absl::StatusOr<Module> module = ParseStablehlo(text, "f.mlir");
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return module.ok() ? *std::move(module) : Module();
}

// A function of `arguments` that returns `%0` of type `result`.
std::string OlderFunction(std::string_view arguments, std::string_view result,
                          std::string_view body) {
  return StrCat("func.func @main(", arguments, ") -> ", result, " {\n", body,
                "\nreturn %0 : ", result, "\n}\n");
}

void ExpectOlderEqual(std::string_view older, std::string_view newer) {
  EXPECT_EQ(ToHloText(ReadOlder(older)), ToHloText(ReadOlder(newer)));
}

// The root of a program, as text.
std::string OlderRoot(std::string_view text) {
  const Module module = ReadOlder(text);
  if (!module.entry.valid()) return "";
  const Computation& entry = module.entry_computation();
  return ToString(module, entry, entry[entry.root]);
}

std::string OlderError(std::string_view text) {
  return std::string(ParseStablehlo(text, "f.mlir").status().message());
}

TEST(OlderOperations, EinsumIsAProduct) {
  const std::string arguments = "%a: tensor<2x3x4xf32>, %b: tensor<5x4x2xf32>";
  const std::string product =
      "stablehlo.dot_general %a, %b, batching_dims = [0] x [2], contracting_dims = [2] x [1] : "
      "(tensor<2x3x4xf32>, tensor<5x4x2xf32>) -> tensor<2x3x5xf32>";
  for (const std::string_view dialect : {"stablehlo", "mhlo"}) {
    const auto einsum = [&](std::string_view config, std::string_view result) {
      return OlderFunction(
          arguments, result,
          StrCat("%0 = \"", dialect, ".einsum\"(%a, %b) <{einsum_config = \"", config,
                 "\"}> : (tensor<2x3x4xf32>, tensor<5x4x2xf32>) -> ", result));
    };
    ExpectOlderEqual(einsum("nik,jkn->nij", "tensor<2x3x5xf32>"),
                     OlderFunction(arguments, "tensor<2x3x5xf32>", StrCat("%0 = ", product)));
    ExpectOlderEqual(einsum("nik, jkn -> jni", "tensor<5x2x3xf32>"),
                     OlderFunction(arguments, "tensor<5x2x3xf32>",
                                   StrCat("%1 = ", product,
                                          "\n%0 = stablehlo.transpose %1, dims = [2, 0, 1] : "
                                          "(tensor<2x3x5xf32>) -> tensor<5x2x3xf32>")));
    EXPECT_THAT(OlderError(einsum("nik,jkn->ni", "tensor<2x3xf32>")),
                HasSubstr("sums over a dimension that one side has alone"));
    EXPECT_THAT(OlderError(einsum("nii,jkn->nij", "tensor<2x3x5xf32>")),
                HasSubstr("each dimension needs a letter of its own"));
    EXPECT_THAT(OlderError(einsum("nik,jkn", "tensor<2x3x5xf32>")),
                HasSubstr("lacks its einsum_config"));
  }
}

TEST(OlderOperations, IndexSelectIsAGather) {
  EXPECT_THAT(
      OlderRoot(OlderFunction(
          "%a: tensor<2x5x3x7xf32>, %i: tensor<2x4xi32>", "tensor<2x5x4x7xf32>",
          "%0 = \"stablehlo.torch_index_select\"(%a, %i) <{dim = 2 : i64, batch_dims = 1 "
          ": i64}> : (tensor<2x5x3x7xf32>, tensor<2x4xi32>) -> tensor<2x5x4x7xf32>")),
      HasSubstr("gather(a, i), offset_dims={1,3}, collapsed_slice_dims={2}, start_index_map={2}, "
                "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
                "slice_sizes={1,5,1,7}"));
  EXPECT_THAT(OlderError(OlderFunction(
                  "%a: tensor<2x5xf32>, %i: tensor<4xi32>", "tensor<4x5xf32>",
                  "%0 = \"stablehlo.torch_index_select\"(%a, %i) <{dim = 2 : i64, batch_dims "
                  "= 0 : i64}> : (tensor<2x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>")),
              HasSubstr("dim and batch_dims do not fit operands of 2 and 1 dimensions"));
}

TEST(OlderOperations, OfMhloAlone) {
  EXPECT_THAT(OlderRoot(OlderFunction(
                  "%a: tensor<3x4xf32>", "tensor<3x4x1xf32>",
                  "%0 = \"mhlo.bitcast\"(%a) : (tensor<3x4xf32>) -> tensor<3x4x1xf32>")),
              HasSubstr(" bitcast(a)"));
  EXPECT_THAT(OlderRoot(OlderFunction("%a: tensor<5xf32>, %b: tensor<5xui32>", "tensor<5xi8>",
                                      "%0 = \"mhlo.stochastic_convert\"(%a, %b) : (tensor<5xf32>, "
                                      "tensor<5xui32>) -> tensor<5xi8>")),
              HasSubstr(" stochastic-convert(a, b)"));
  EXPECT_THAT(
      OlderRoot(OlderFunction("%a: tensor<3xf32>", "tensor<3xf32>",
                              "%t = \"mhlo.after_all\"() : () -> !mhlo.token\n"
                              "%0 = \"mhlo.add_dependency\"(%a, %t) : (tensor<3xf32>, !mhlo.token) "
                              "-> tensor<3xf32>")),
      HasSubstr(" add-dependency(a, after"));
  EXPECT_THAT(OlderRoot("func.func @main() -> tensor<2xui64> {\n"
                        "%0 = mhlo.xla.rng_get_and_update_state {delta = 7: i64}\n"
                        "func.return %0 : tensor<2xui64>\n}\n"),
              HasSubstr("u64[2] rng-get-and-update-state(), delta=7"));
}

TEST(OlderOperations, FusionsAreComputations) {
  EXPECT_THAT(OlderRoot(OlderFunction("%a: tensor<4xf32>", "tensor<4xf32>",
                                      R"(%0 = "mhlo.fusion"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %1 = mhlo.tanh %x : tensor<4xf32>
    mhlo.return %1 : tensor<4xf32>
  }) {fusion_kind = #mhlo<fusion_kind kInput>} : (tensor<4xf32>) -> tensor<4xf32>)")),
              HasSubstr(" fusion(a), kind=kInput, calls="));
}

TEST(OlderOperations, ConstantsOfArith) {
  ExpectOlderEqual(
      OlderFunction("", "tensor<2xf32>", "%0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>"),
      OlderFunction("", "tensor<2xf32>",
                    "%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>"));
}

TEST(OlderOperations, BarriersOfNothing) {
  const std::string with = OlderFunction("%a: tensor<4xf32>", "tensor<4xf32>",
                                         "stablehlo.optimization_barrier\n"
                                         "stablehlo.optimization_barrier {a = 1 : i32}\n"
                                         "%0 = stablehlo.tanh %a : tensor<4xf32>");
  EXPECT_THAT(OlderRoot(with), HasSubstr(" tanh(a)"));
}

// What asks for shardings is in them, and the rest stands where the computation stood.
TEST(OlderOperations, NamedComputations) {
  const Module module = ReadOlder(R"(
module {
  sdy.mesh @m = <["x"=2]>
  func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.named_computation<"inner">(%a) in_shardings=[<@m, [{"x"}, {}]>] out_shardings=[<@m, [{?}, {?}]>] (%b: tensor<8x4xf32>) {
      %1 = stablehlo.tanh %b : tensor<8x4xf32>
      sdy.return %1 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
})");
  const Computation& entry = module.entry_computation();
  ASSERT_EQ(entry.instructions.size(), 3u);
  EXPECT_EQ(entry.instructions[1].custom_call_target, "Sharding");
  EXPECT_EQ(entry.instructions[1].sharding, "{mesh['x'=2], [{'x'}, {}]}");
  EXPECT_EQ(entry[entry.root].opcode, Opcode::kTanh);
}

TEST(OlderOperations, ModulesInGenericForm) {
  const std::string function =
      OlderFunction("%a: tensor<4xf32>", "tensor<4xf32>", "%0 = stablehlo.tanh %a : tensor<4xf32>");
  ExpectOlderEqual(StrCat("\"builtin.module\"() <{sym_name = \"m\"}> ({\n^bb0:\n", function,
                          "}) {mhlo.num_partitions = 1 : i32} : () -> ()\n"),
                   StrCat("module @m {\n", function, "}\n"));
  EXPECT_EQ(OlderError("\"builtin.module\"(%a)"),
            "f.mlir:1:18: expected ')' as a module has no operands, found \"%a\"");
}

}  // namespace
}  // namespace meshwright
