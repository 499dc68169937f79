#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"
#include "tests/hlo/mutator.h"
#include "tests/testing/fresh_seed.h"

// Damaged programs: the reader must answer with a module or an error, and a module must survive
// being written as HLO text and read.

namespace meshwright {
namespace {

constexpr std::string_view kStablehloPrograms[] = {
    R"(#loc1 = loc("x")
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<4x8xf32> {tf.aliasing_output = 0 : i32, sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>} loc(#loc1), %arg1: tensor<i32>) -> (tensor<4x8xf32> {jax.result_info = "r"}, tensor<4xf32>) {
    %cst = stablehlo.constant dense<-1.5e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<4x8xf32> loc(#loc2)
    %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"x", "y"}]> : tensor<4x8xf32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = call @g(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %c = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
    %5 = stablehlo.slice %4 [0:4, 1:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %6 = stablehlo.dot_general %5, %4, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %6, %3 : tensor<4x8xf32>, tensor<4xf32>
  }
  func.func private @g(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = chlo.lgamma %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
#loc2 = loc("jit(f)/mul"(callsite("f"("/f.py":1:2 to :3) at #loc1)))
)",
    R"(func.func @main(%x: tensor<8xf32>, %p: tensor<i1>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c, %u = %x, %v = %x) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %v, %u : tensor<8xf32>
    stablehlo.return %1, %u, %2 : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  }
  %3 = "stablehlo.if"(%p) ({
    stablehlo.return %0#2 : tensor<8xf32>
  }, {
    %4 = stablehlo.negate %x : tensor<8xf32>
    stablehlo.return %4 : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %5:2 = "stablehlo.sort"(%3, %x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):
    %6 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %6 : tensor<i1>
  }) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %5#1 : tensor<8xf32>
}
)",
    R"(func.func @main(%i: tensor<1x8x8x2xf32>, %k: tensor<3x3x2x4xf32>, %t: tensor<10x4xf32>, %s: tensor<3x1xi32>) -> (tensor<1x4x4x4xf32>, tensor<10x4xf32>) {
  %0 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x8x8x4xf32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = "stablehlo.reduce_window"(%0, %z) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %9 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) : (tensor<1x8x8x4xf32>, tensor<f32>) -> tensor<1x4x4x4xf32>
  %2 = "stablehlo.gather"(%t, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %3 = "stablehlo.scatter"(%t, %s, %2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %9 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  %4 = stablehlo.pad %3, %z, low = [1, 0], high = [0, 2], interior = [0, 1] : (tensor<10x4xf32>, tensor<f32>) -> tensor<11x9xf32>
  %5 = stablehlo.custom_call @f(%4) {backend_config = "", mhlo.backend_config = {a = 1 : i64}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l]) {i=11, j=9, k=10, l=4}>} : (tensor<11x9xf32>) -> tensor<10x4xf32>
  return %1, %5 : tensor<1x4x4x4xf32>, tensor<10x4xf32>
}
)",
};

constexpr std::string_view kStablehloPieces[] = {"{",
                                                 "}",
                                                 "(",
                                                 ")",
                                                 "[",
                                                 "]",
                                                 "<",
                                                 ">",
                                                 ",",
                                                 "=",
                                                 ":",
                                                 "\"",
                                                 "\\",
                                                 "->",
                                                 "%",
                                                 "%0",
                                                 "#",
                                                 "#loc1",
                                                 "@",
                                                 "@main",
                                                 "^bb0",
                                                 "dense<",
                                                 "tensor<",
                                                 "x",
                                                 "?",
                                                 "loc(",
                                                 "-1",
                                                 "9223372036854775807",
                                                 "99999999999999999999",
                                                 "4611686018427387904x",
                                                 "array<i64: ",
                                                 "f32",
                                                 "i1",
                                                 "{}",
                                                 "//",
                                                 "\n"};

TEST(StablehloFuzz, DamagedProgramsGiveAStatus) {
  for (const std::string_view program : kStablehloPrograms) {
    ASSERT_TRUE(ParseStablehlo(program, "f.mlir").ok())
        << ParseStablehlo(program, "f.mlir").status();
  }
  const uint64_t seed = FreshSeed();
  Mutator mutator(seed, kStablehloPieces);
  int accepted = 0;
  constexpr int kRounds = 6000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = mutator.Mutate(
        std::string(kStablehloPrograms[mutator.Below(std::size(kStablehloPrograms))]));
    const absl::StatusOr<Module> module = ParseStablehlo(text, "f.mlir");
    if (!module.ok()) {
      const std::string message(module.status().message());
      ASSERT_EQ(message.rfind("f.mlir:", 0), 0u) << message << "\n" << text;
      ASSERT_EQ(message.find('\n'), std::string::npos) << message;
      ASSERT_LT(message.size(), 2000u) << text;
      continue;
    }
    ++accepted;
    const absl::StatusOr<Graph> graph = BuildGraph(*module);
    ASSERT_TRUE(graph.ok() || !graph.status().message().empty());
    const std::string written = ToHloText(*module);
    const absl::StatusOr<Module> again = ParseHloText(written, "written");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text << "\n----\n" << written;
    ASSERT_EQ(ToHloText(*again), written) << text;
  }
  std::cout << accepted << " of " << kRounds << " damaged programs were still valid\n";
  EXPECT_GT(accepted, 0);
}

// Programs that end anywhere.
TEST(StablehloFuzz, TruncatedPrograms) {
  for (const std::string_view program : kStablehloPrograms) {
    for (size_t size = 0; size < program.size(); size += 3) {
      const absl::StatusOr<Module> module = ParseStablehlo(program.substr(0, size), "f.mlir");
      EXPECT_TRUE(module.ok() || module.status().message().rfind("f.mlir:", 0) == 0);
    }
  }
}

}  // namespace
}  // namespace meshwright
