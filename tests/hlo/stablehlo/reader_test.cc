#include "meshwright/hlo/stablehlo/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/program/reader.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Module ReadText(std::string_view text) {
  absl::StatusOr<Module> module = ParseStablehlo(text, "f.mlir");
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return module.ok() ? *std::move(module) : Module();
}

// The instructions of the entry computation of a function with this body, as text without names of
// parameters; `signature` is what stands behind @main.
std::vector<std::string> Entry(std::string_view signature, std::string_view body) {
  const Module module = ReadText(StrCat("func.func @main", signature, " {\n", body, "\n}\n"));
  std::vector<std::string> lines;
  if (module.computations.empty()) return lines;
  const Computation& entry = module.entry_computation();
  for (const Instruction& instruction : entry.instructions) {
    if (instruction.opcode == Opcode::kParameter) continue;
    lines.push_back(ToString(module, entry, instruction));
  }
  return lines;
}

// The one operation of a function from two f32[4,8] to `result`.
std::string One(std::string_view operation, std::string_view result) {
  const std::vector<std::string> lines =
      Entry(StrCat("(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> ", result),
            StrCat("%0 = ", operation, "\nreturn %0 : ", result));
  return lines.empty() ? "" : lines.back();
}

TEST(StablehloReader, ShortAndGenericFormsMeanTheSame) {
  struct Pair {
    const char* short_form;
    const char* generic;
    const char* result;
  };
  const Pair kPairs[] = {
      {"stablehlo.add %a, %b : tensor<4x8xf32>",
       "\"stablehlo.add\"(%a, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>",
       "tensor<4x8xf32>"},
      {"stablehlo.transpose %a, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>",
       "\"stablehlo.transpose\"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> "
       "tensor<8x4xf32>",
       "tensor<8x4xf32>"},
      {"stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<4x8xf32>, tensor<4x8xf32>) -> "
       "tensor<4x8xi1>",
       "\"stablehlo.compare\"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction "
       "GT>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<4x8xf32>, "
       "tensor<4x8xf32>) -> tensor<4x8xi1>",
       "tensor<4x8xi1>"},
      {"stablehlo.slice %a [0:4:2, 1:7] : (tensor<4x8xf32>) -> tensor<2x6xf32>",
       "\"stablehlo.slice\"(%a) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 4, "
       "7>, strides = array<i64: 2, 1>}> : (tensor<4x8xf32>) -> tensor<2x6xf32>",
       "tensor<2x6xf32>"},
      {"stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> "
       "tensor<4x16xf32>",
       "\"stablehlo.concatenate\"(%a, %b) <{dimension = 1 : i64}> : (tensor<4x8xf32>, "
       "tensor<4x8xf32>) -> tensor<4x16xf32>",
       "tensor<4x16xf32>"},
      {"stablehlo.dot_general %a, %b, contracting_dims = [1] x [1], precision = [HIGHEST, "
       "DEFAULT] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>",
       "\"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = "
       "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, "
       "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]}> : "
       "(tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>",
       "tensor<4x4xf32>"},
      {"stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
       "(tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>",
       "\"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = "
       "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
       "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : "
       "(tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>",
       "tensor<4xf32>"},
      {"stablehlo.reverse %a, dims = [1] : tensor<4x8xf32>",
       "\"stablehlo.reverse\"(%a) <{dimensions = array<i64: 1>}> : (tensor<4x8xf32>) -> "
       "tensor<4x8xf32>",
       "tensor<4x8xf32>"},
      {"stablehlo.reduce_precision %a, format = e8m7 : tensor<4x8xf32>",
       "\"stablehlo.reduce_precision\"(%a) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : "
       "(tensor<4x8xf32>) -> tensor<4x8xf32>",
       "tensor<4x8xf32>"},
  };
  for (const Pair& pair : kPairs) {
    const std::string read = One(pair.short_form, pair.result);
    EXPECT_NE(read, "") << pair.short_form;
    EXPECT_EQ(read, One(pair.generic, pair.result));
  }
  EXPECT_THAT(One(kPairs[2].short_form, kPairs[2].result),
              HasSubstr("compare(a, b), direction=GT, type=TOTALORDER"));
  EXPECT_THAT(One(kPairs[5].short_form, kPairs[5].result),
              HasSubstr("operand_precision={highest,default}"));
}

TEST(StablehloReader, BlanksAndCommentsStandAnywhere) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"stablehlo.transpose %a, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>",
       "stablehlo.transpose %a, dims = [1, // ]\n 0\n] : (tensor<4x8xf32>) -> tensor<8x4xf32>"},
      {"stablehlo.slice %a [0:4:2, 1:7] : (tensor<4x8xf32>) -> tensor<2x6xf32>",
       "stablehlo.slice %a [0:4:2,\n 1 // ]\n :7] : (tensor<4x8xf32>) -> tensor<2x6xf32>"},
      {"stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<4x8xf32>, "
       "tensor<4x8xf32>) -> tensor<4x4xf32>",
       "stablehlo.dot_general %a, %b, contracting_dims = [\n1]\n x [1 // [\n] : (tensor<4x8xf32>, "
       "tensor<4x8xf32>) -> tensor<4x4xf32>"},
      {"stablehlo.constant dense<[4, 5]> : tensor<2xi32>",
       "stablehlo.constant dense // >\n <[4 // ]>\n, 5// >\n]> : tensor<2xi32>"},
      {"stablehlo.constant dense<4> : tensor<i32> loc(\"c\")",
       "stablehlo.constant dense <4// >\n> : tensor<i32> loc (\n\"c\")"},
  };
  for (const auto& [tidy, spaced] : kPairs) {
    const std::string_view result =
        std::string_view(tidy).substr(std::string_view(tidy).rfind("tensor<"));
    const std::string type(result.substr(0, result.find(" loc")));
    const std::string read = One(tidy, type);
    EXPECT_NE(read, "") << tidy;
    EXPECT_EQ(read, One(spaced, type)) << spaced;
  }
}

TEST(StablehloReader, BroadcastInDim) {
  const auto lines = [](std::string_view from, std::string_view dims, std::string_view to) {
    return Entry(StrCat("(%a: tensor<", from, ">) -> tensor<", to, ">"),
                 StrCat("%0 = stablehlo.broadcast_in_dim %a, dims = ", dims, " : (tensor<", from,
                        ">) -> tensor<", to, ">\nreturn %0 : tensor<", to, ">"));
  };
  EXPECT_THAT(lines("4x8xf32", "[0, 1]", "4x8xf32"), IsEmpty());
  EXPECT_THAT(lines("4x8xf32", "[0, 2]", "4x1x8xf32"),
              ElementsAre("ROOT reshape.1 = f32[4,1,8] reshape(a)"));
  EXPECT_THAT(lines("4x8xf32", "[1, 0]", "8x4xf32"),
              ElementsAre("ROOT transpose.1 = f32[8,4] transpose(a), dimensions={1,0}"));
  EXPECT_THAT(lines("4x8xf32", "[0, 2]", "4x3x8xf32"),
              ElementsAre("ROOT broadcast.1 = f32[4,3,8] broadcast(a), dimensions={0,2}"));
  // XLA's broadcast does not stretch a dimension of size 1.
  EXPECT_THAT(lines("4x1xf32", "[0, 1]", "4x8xf32"),
              ElementsAre("broadcast.1 = f32[4,1] broadcast(a), dimensions={0,1}",
                          "reshape.1 = f32[4] reshape(broadcast.1)",
                          "ROOT broadcast.2 = f32[4,8] broadcast(reshape.1), dimensions={0}"));
}

TEST(StablehloReader, ConstantsAreFoldedAndShared) {
  EXPECT_THAT(Entry("(%a: tensor<4xf32>) -> tensor<4xf32>", R"(
    %c = stablehlo.constant dense<1.0> : tensor<f32>
    %n = stablehlo.constant dense<0x4A800000> : tensor<f32>
    %q = stablehlo.divide %c, %n : tensor<f32>
    %s = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %x = stablehlo.multiply %s, %a : tensor<4xf32>
    %t = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %y = stablehlo.add %x, %t : tensor<4xf32>
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %z = stablehlo.multiply %y, %one : tensor<4xf32>
    return %z : tensor<4xf32>)"),
              ElementsAre("constant.1 = f32[] constant(2.3841858e-07)",
                          "broadcast.1 = f32[4] broadcast(constant.1), dimensions={}",
                          "multiply.1 = f32[4] multiply(a, broadcast.1)",
                          "ROOT add.1 = f32[4] add(multiply.1, broadcast.1)"));
}

TEST(StablehloReader, ConstantsOfEveryForm) {
  const auto constant = [](std::string_view value, std::string_view type) {
    const std::vector<std::string> lines =
        Entry(StrCat("() -> tensor<", type, ">"),
              StrCat("%0 = stablehlo.constant dense<", value, "> : tensor<", type,
                     ">\nreturn %0 : tensor<", type, ">"));
    return lines.empty() ? "" : lines[0].substr(lines[0].find('='));
  };
  EXPECT_EQ(constant("[[1, -2], [3, 4]]", "2x2xi8"), "= s8[2,2] constant({ { 1, -2 }, { 3, 4 } })");
  EXPECT_EQ(constant("true", "i1"), "= pred[] constant(true)");
  EXPECT_EQ(constant("0xFF800000", "f32"), "= f32[] constant(-inf)");
  EXPECT_EQ(constant("\"0x0000803F00000040\"", "2xf32"), "= f32[2] constant({1, 2})");
  EXPECT_EQ(constant("\"0x05\"", "3xi1"), "= pred[3] constant({1, 0, 1})");
  EXPECT_EQ(constant("(1.0, -2.0)", "complex<f32>"), "= c64[] constant((1, -2))");
  EXPECT_EQ(constant("18446744073709551615", "ui64"), "= u64[] constant(18446744073709551615)");
  EXPECT_EQ(constant("", "0x2xf32"), "= f32[0,2] constant({  })");
  EXPECT_EQ(constant("7.0", "4x2xbf16"), "= bf16[] constant(7)");  // then broadcast
  EXPECT_EQ(constant("__elided__", "4xf32"), "= f32[4] constant({...})");
}

TEST(StablehloReader, Reductions) {
  const Module short_form = ReadText(R"(
func.func @main(%a: tensor<4x8xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  const Module generic = ReadText(R"(
func.func @main(%a: tensor<4x8xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  "func.return"(%0) : (tensor<4xf32>) -> ()
})");
  EXPECT_EQ(short_form, generic);
  EXPECT_THAT(ToHloText(short_form),
              HasSubstr("f32[4] reduce(a, z), dimensions={1}, to_apply=region.1"));

  // Left and right of each operand in turn, in the computation all the left ones first.
  const Module pairs = ReadText(R"(
func.func @main(%a: tensor<4xf32>, %i: tensor<4xi32>, %z: tensor<f32>, %n: tensor<i32>) -> tensor<i32> {
  %0:2 = stablehlo.reduce(%a init: %z), (%i init: %n) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>) {
    %1 = stablehlo.maximum %p, %q : tensor<f32>
    %2 = stablehlo.minimum %r, %s : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
})");
  ASSERT_EQ(pairs.computations.size(), 2u);
  const Computation& reducer = pairs.computations[0];
  ASSERT_EQ(reducer.parameters.size(), 4u);
  EXPECT_EQ(reducer[reducer.parameters[1]].shape.type, ElementType::kS32);
  EXPECT_EQ(reducer[reducer.parameters[2]].shape.type, ElementType::kF32);
}

TEST(StablehloReader, LoopsCarryOnlyWhatChanges) {
  const Module module = ReadText(R"(
func.func @main(%w: tensor<8x8xf32>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c, %u = %w, %v = %x) : tensor<i32>, tensor<8x8xf32>, tensor<8x8xf32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dot_general %v, %u, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %1, %u, %2 : tensor<i32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %0#2 : tensor<8x8xf32>
})");
  const std::string text = ToHloText(module);
  EXPECT_THAT(text, HasSubstr("tuple(constant.3, x, w)"));
  EXPECT_THAT(text, HasSubstr("while(tuple."));
  const absl::StatusOr<Module> again = ParseHloText(text, "again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, module);
}

TEST(StablehloReader, BranchesTakeWhatTheyUse) {
  const Module module = ReadText(R"(
func.func @main(%i: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.add %x, %y : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  EXPECT_THAT(ToHloText(module), HasSubstr("conditional(i, tuple.1, y), "
                                           "branch_computations={region.1, region.2}"));
}

// A region uses whatever dominates it, also arguments of the regions around it.
TEST(StablehloReader, InnerRegionsUseArgumentsOfOuterOnes) {
  const Module module = ReadText(R"(
func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%v = %x, %i = %c, %k = %one) : tensor<8xf32>, tensor<i32>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2:3 = stablehlo.while(%u = %v, %j = %k, %same = %i) : tensor<8xf32>, tensor<i32>, tensor<i32>
    cond {
      %3 = stablehlo.compare LT, %j, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = stablehlo.compare GT, %same, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %4 = "stablehlo.if"(%3) ({
        %6 = stablehlo.add %u, %v : tensor<8xf32>
        stablehlo.return %6 : tensor<8xf32>
      }, {
        stablehlo.return %w : tensor<8xf32>
      }) : (tensor<i1>) -> tensor<8xf32>
      %5 = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %4, %5, %same : tensor<8xf32>, tensor<i32>, tensor<i32>
    }
    %7 = stablehlo.add %i, %k : tensor<i32>
    stablehlo.return %2#0, %7, %k : tensor<8xf32>, tensor<i32>, tensor<i32>
  }
  return %0#0 : tensor<8xf32>
})");
  // The inner loop carries u and j, and is given i and v of the outer one's body, and w.
  const std::string text = ToHloText(module);
  EXPECT_THAT(text, HasSubstr("(f32[8], s32[], s32[], f32[8], f32[8]) while("));
  const absl::StatusOr<Module> again = ParseHloText(text, "again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, module);
}

TEST(StablehloReader, FunctionsAreReadOnceAndCalled) {
  const Module module = ReadText(R"(
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<4xf32>) {
    %0 = call @g(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = func.call @g(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @g(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = chlo.square %arg0 : tensor<4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})");
  EXPECT_EQ(module.name, "jit_f");
  ASSERT_EQ(module.computations.size(), 2u);
  EXPECT_EQ(module.other.size(), 1u);
  EXPECT_THAT(ToHloText(module), HasSubstr("call(call.1), to_apply=g.1"));
}

TEST(StablehloReader, LocationsAreMetadata) {
  const Module module = ReadText(R"(
#loc1 = loc("state['w']")
func.func @main(%arg0: tensor<4xf32> loc(#loc1)) -> tensor<4xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<4xf32> loc(#loc5)
  return %0 : tensor<4xf32> loc(#loc5)
} loc(unknown)
#loc2 = loc("/m.py":12:3 to :9)
#loc3 = loc("step"(#loc2))
#loc4 = loc(callsite(#loc3 at #loc2))
#loc5 = loc("jit(step)/jvp()/tanh"(#loc4))
)");
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(entry[entry.parameters[0]].metadata.op_name, "state['w']");
  const Instruction& root = entry[entry.root];
  EXPECT_EQ(root.name, "tanh.1");
  EXPECT_EQ(root.metadata.op_name, "jit(step)/jvp()/tanh");
  EXPECT_EQ(root.metadata.source_file, "/m.py");
  EXPECT_EQ(root.metadata.source_line, 12);
  EXPECT_EQ(root.place.line, 4);
}

TEST(StablehloReader, DonationAndShardings) {
  const Module module = ReadText(R"(
module {
  sdy.mesh @m = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<8x8xf32> {tf.aliasing_output = 1 : i32, sdy.sharding = #sdy.sharding<@m, [{"x"}, {"y", ?}]>},
                  %b: tensor<8x8xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"},
                  %c: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{?}, {?}]>})
      -> (tensor<8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y":(1)2}]>}) {
    %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {"x"}]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@m, [{"x", "y"}, {}]> : tensor<8x8xf32>
    return %1, %c : tensor<8x8xf32>, tensor<8x8xf32>
  }
})");
  ASSERT_EQ(module.input_output_alias.size(), 1u);
  EXPECT_EQ(module.input_output_alias[0], (InputOutputAlias{{1}, 0, {}, false}));
  ASSERT_EQ(module.buffer_donors.size(), 1u);
  EXPECT_EQ(module.buffer_donors[0].first, 1);
  const std::string text = ToHloText(module);
  for (const char* piece :
       {"parameter(0), sharding={mesh['x'=2,'y'=4], [{'x'}, {'y', ?}]}",
        "parameter(1), sharding={replicated}",
        "add(a, b), sharding={mesh['x'=2,'y'=4], [{}, {'x'}]}",
        "custom_call_target=\"Sharding\", sharding={mesh['x'=2,'y'=4], [{'x', 'y'}, {}]}",
        "sharding={mesh['x'=2,'y'=4], [{}, {'y':(1)2}]}"}) {
    EXPECT_THAT(text, HasSubstr(piece));
  }
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(entry[entry.parameters[2]].sharding, "");
}

TEST(StablehloReader, WhatHloHasNoOpcodeFor) {
  EXPECT_EQ(One("chlo.square %a : tensor<4x8xf32> -> tensor<4x8xf32>", "tensor<4x8xf32>"),
            "ROOT multiply.1 = f32[4,8] multiply(a, a)");
  EXPECT_THAT(One("chlo.lgamma %a : tensor<4x8xf32> -> tensor<4x8xf32>", "tensor<4x8xf32>"),
              HasSubstr("map(a), dimensions={0,1}, to_apply="));
  EXPECT_THAT(Entry("(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>",
                    "%0 = chlo.conj %a : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>\n"
                    "return %0 : tensor<4xcomplex<f32>>")
                  .back(),
              HasSubstr("complex(real"));
}

// mhlo and StableHLO have the same operations under two names.
TEST(StablehloReader, MhloIsReadAsStablehlo) {
  constexpr std::string_view kText = R"(
module @m {
  func.func public @main(%a: tensor<64x128xf32>, %b: tensor<128x256xf32>) -> tensor<64xf32> {
    %0 = "DIALECT.dot"(%a, %b) : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
    %1 = DIALECT.tanh %0 : tensor<64x256xf32>
    %2 = DIALECT.constant dense<0.0> : tensor<f32>
    %3 = "DIALECT.compare"(%1, %1) {comparison_direction = #DIALECT<comparison_direction GT>} :
         (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xi1>
    %4 = DIALECT.select %3, %1, %0 : tensor<64x256xi1>, tensor<64x256xf32>
    %5 = DIALECT.reduce(%4 init: %2) applies DIALECT.add across dimensions = [1]
         : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
    return %5 : tensor<64xf32>
  }
})";
  const auto in = [&](std::string_view dialect) {
    return absl::StrReplaceAll(std::string(kText), {{"DIALECT", std::string(dialect)}});
  };
  EXPECT_EQ(ReadText(in("mhlo")), ReadText(in("stablehlo")));
  EXPECT_THAT(One("mhlo.erf %a : tensor<4x8xf32>", "tensor<4x8xf32>"), HasSubstr(" erf(a)"));
  EXPECT_THAT(One("mhlo.copy %a : tensor<4x8xf32>", "tensor<4x8xf32>"), HasSubstr(" copy(a)"));
}

TEST(StablehloReader, ChloBroadcasts) {
  EXPECT_EQ(ToHloText(ReadText(R"(
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<4xf32>) -> tensor<4x8xi1> {
  %0 = chlo.broadcast_add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = chlo.broadcast_compare %0, %c {broadcast_dimensions = array<i64: 0>,
      comparison_direction = #chlo<comparison_direction LT>}
      : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xi1>
  return %1 : tensor<4x8xi1>
})")),
            ToHloText(ReadText(R"(
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<4xf32>) -> tensor<4x8xi1> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.add %a, %0 : tensor<4x8xf32>
  %2 = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.compare LT, %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  return %3 : tensor<4x8xi1>
})")));
}

TEST(StablehloReader, ChloBroadcastsForMaps) {
  for (const std::string_view name : {"next_after", "polygamma", "zeta"}) {
    const auto text = [&](std::string_view operation) {
      return StrCat(
          "func.func @main(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {\n",
          operation, "return %0 : tensor<4x8xf32>\n}\n");
    };
    EXPECT_EQ(ToHloText(ReadText(
                  text(StrCat("%0 = chlo.broadcast_", name,
                              " %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>\n")))),
              ToHloText(ReadText(text(StrCat(
                  "%1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> "
                  "tensor<4x8xf32>\n%0 = chlo.",
                  name, " %a, %1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>\n")))));
  }
}

// Aliases may stand for attributes and types wherever those do.
TEST(StablehloReader, Aliases) {
  const Module module = ReadText(R"(
#mesh = #sdy.mesh<["x"=8]>
#s = #sdy.sharding<@mesh, [{"x"}]>
#t = #s
#all = #sdy.sharding_per_value<[#t]>
!v = tensor<8xf32>
module @m {
  sdy.mesh @mesh = #mesh
  sdy.mesh @other = #sdy.mesh<["y"=8]>
  func.func public @main(%a: !v {sdy.sharding = #s}, %b: tensor<8xf32>
      {sdy.sharding = #sdy.sharding<@other, [{"y"}]>}) -> !v {
    %0 = stablehlo.add %a, %b {sdy.sharding = #all} : !v
    return %0 : !v
  }
})");
  const Computation& entry = module.entry_computation();
  EXPECT_EQ(entry[entry.parameters[0]].sharding, "{mesh['x'=8], [{'x'}]}");
  EXPECT_EQ(entry[entry.parameters[1]].sharding, "{mesh['y'=8], [{'y'}]}");
  EXPECT_EQ(entry[entry.root].sharding, "{mesh['x'=8], [{'x'}]}");
  EXPECT_EQ(entry[entry.root].shape.ToString(), "f32[8]");
}

// Before 2023 annotations were the bytes of an OpSharding.
TEST(StablehloReader, ShardingsInBinary) {
  EXPECT_THAT(One("stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "
                  "\"\\08\\03\\1A\\02\\08\\01\\22\\08\\00\\01\\02\\03\\04\\05\\06\\07\"} : "
                  "(tensor<4x8xf32>) -> tensor<4x8xf32>",
                  "tensor<4x8xf32>"),
              HasSubstr("sharding={devices=[8,1]0,1,2,3,4,5,6,7}"));
  EXPECT_THAT(
      One("stablehlo.custom_call @Sharding(%a) {mhlo.sharding = \"\"} : (tensor<4x8xf32>) -> "
          "tensor<4x8xf32>",
          "tensor<4x8xf32>"),
      HasSubstr("sharding={replicated}"));
}

TEST(StablehloReader, TuplesOfOne) {
  EXPECT_THAT(ToHloText(ReadText(R"(
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %t = stablehlo.tuple %a : tuple<tensor<8xf32>>
  %r = stablehlo.get_tuple_element %t[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  return %r : tensor<8xf32>
})")),
              HasSubstr("f32[8] parameter(0)"));
}

// What Shardy adds computes nothing.
TEST(StablehloReader, ShardyMarks) {
  const Module module = ReadText(R"(
module {
  sdy.mesh @m = <["x"=2]>
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.propagation_barrier %a allowed_direction=NONE : tensor<8xf32>
    sdy.sharding_group %0 group_id=3 : tensor<8xf32>
    %1 = sdy.reshard %0 <@m, [{"x"}]> : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
})");
  const Computation& entry = module.entry_computation();
  ASSERT_EQ(entry.instructions.size(), 2u);
  EXPECT_EQ(entry[entry.root].sharding, "{mesh['x'=2], [{'x'}]}");
}

TEST(StablehloReader, DetectedByContents) {
  EXPECT_EQ(DetectHloFormat("#loc = loc(unknown)\nmodule @m {"), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat("module @jit_f attributes {a = 1} {"), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat("// a comment\nfunc.func @main() {"), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat("#s = #sdy.sharding<@m, []>\nmodule {"), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat("!t = tensor<4xf32>\nmodule {"), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat("module\n  // m\n@m{"), HloFormat::kMlir);
  EXPECT_EQ(DetectHloFormat("HloModule m"), HloFormat::kText);
  EXPECT_EQ(DetectHloFormat("module (a: f32[]) -> f32[] {"), HloFormat::kText);
  EXPECT_EQ(DetectHloFormat("moduleattributes = f32[] parameter(0)"), HloFormat::kText);
  EXPECT_EQ(DetectHloFormat("ENTRY e {"), HloFormat::kText);
}

TEST(StablehloReader, OnlyPublicFunctionIsMain) {
  constexpr std::string_view kFunctions =
      "func.func private @g(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  return %a : tensor<2xf32>\n"
      "}\n"
      "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %0 = call @g(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
      "  return %0 : tensor<2xf32>\n"
      "}\n";
  const absl::StatusOr<Module> module = ParseStablehlo(kFunctions, "f.mlir");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->computations.size(), 2u);
}

// As JAX 0.11 writes a cumulative sum: the region says what is combined, as the function does.
TEST(StablehloReader, CompositesMayHaveRegions) {
  const std::string body =
      "  %0:2 = stablehlo.composite \"chlo.scan\" %a, %b ({\n"
      "  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):\n"
      "    %s = stablehlo.add %x, %y : tensor<4xf32>\n"
      "    stablehlo.return %s, %s : tensor<4xf32>, tensor<4xf32>\n"
      "  }) {composite_attributes = {dimension = 1 : i64}, decomposition = @impl, version = 1 : "
      "i32} : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)\n";
  const absl::StatusOr<Module> module = ParseStablehlo(
      "module @m {\nfunc.func public @main(%a: tensor<4x8xf32>, %b: tensor<4xf32>) -> "
      "tensor<4x8xf32> {\n" +
          body +
          "  return %0#0 : tensor<4x8xf32>\n}\n"
          "func.func private @impl(%a: tensor<4x8xf32>, %b: tensor<4xf32>) -> (tensor<4x8xf32>, "
          "tensor<4xf32>) {\n  return %a, %b : tensor<4x8xf32>, tensor<4xf32>\n}\n}\n",
      "m.mlir");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(ToHloText(*module), HasSubstr(" call("));
}

// XLA makes the operation of such a composite anew; other versions call what it names.
TEST(StablehloReader, CompositesOfChlo) {
  for (const bool known : {true, false}) {
    const absl::StatusOr<Module> module = ParseStablehlo(
        StrCat("func.func @main(%a: tensor<8xf32>) -> tensor<2xf32> {\n"
               "  %0:2 = stablehlo.composite \"chlo.top_k\" %a {composite_attributes = {k = 2 : "
               "i64}, decomposition = @g, version = ",
               known ? 1 : 2,
               " : i32} : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
               "  return %0#0 : tensor<2xf32>\n"
               "}\n"
               "func.func private @g(%a: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>) {\n"
               "  %0:2 = chlo.top_k(%a, k = 2) : tensor<8xf32> -> (tensor<2xf32>, tensor<2xi32>)\n"
               "  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>\n"
               "}\n"),
        "f.mlir");
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(module->computations.size(), known ? 1u : 2u);
  }
}

}  // namespace
}  // namespace meshwright
