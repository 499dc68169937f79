#include "meshwright/hlo/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOfProgram(std::string text) {
  const absl::StatusOr<Program> program = ParseProgram(std::move(text), "f");
  EXPECT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(program.status().message());
}

// One program, a shard_map, in the two forms that JAX gives it; its shards are not planned as if
// they were whole.
TEST(ProgramTest, PartitionedProgramsAreRefused) {
  EXPECT_THAT(
      ErrorOfProgram(R"(HloModule jit_f
body {
  x = f32[256,256] parameter(0)
  ROOT t = f32[256,256] tanh(x)
}
ENTRY main {
  x = f32[512,1024] parameter(0)
  l = f32[256,256] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape"
  m = f32[256,256] call(l), to_apply=body
  ROOT g = f32[512,1024] custom-call(m), custom_call_target="xla.sdy.LocalToGlobalShape"
})"),
      HasSubstr("f:8:3: l: custom-call xla.sdy.GlobalToLocalShape: the body of a shard_map"));
  EXPECT_THAT(ErrorOfProgram(R"(module @jit_f {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<256x256xf32>) {
      %1 = stablehlo.tanh %arg1 : tensor<256x256xf32>
      sdy.return %1 : tensor<256x256xf32>
    } : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
    return %0 : tensor<512x1024xf32>
  }
})"),
              HasSubstr("f:4:5: sdy.manual_computation: the body of a shard_map"));
}

TEST(ProgramTest, ErrorsSayWhereTheTextHasIt) {
  EXPECT_THAT(ErrorOfProgram("HloModule m,\n  num_partitions=1, replica_count=4\n"
                             "ENTRY e {\n  ROOT a = f32[8] parameter(0)\n}"),
              HasSubstr("f:2:21: 4 replicas: "));
  EXPECT_THAT(ErrorOfProgram("module @m attributes {mhlo.num_replicas = 4 : i32} {\n"
                             "  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
                             "    return %a : tensor<8xf32>\n  }\n}"),
              HasSubstr("f:1:43: 4 replicas: "));
  EXPECT_THAT(ErrorOfProgram("module {\n  func.func @main(%a: tensor<8xf32>) -> tensor<9xf32> {\n"
                             "    %0 = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<9xf32>\n"
                             "    return %0 : tensor<9xf32>\n  }\n}"),
              HasSubstr("f:3:5: reshape"));
}

TEST(ProgramTest, WhatIsNoProgramIsCalledWhatItIs) {
  using std::string_literals::operator""s;
  const auto error = [](std::string contents) {
    return std::string(ParseProgram(std::move(contents), "f").status().message());
  };
  for (const std::string& empty : {""s, " \n\n"s, "\xef\xbb\xbf"s}) {
    EXPECT_THAT(error(empty), HasSubstr("f: the file is empty; expected a program"));
  }
  EXPECT_THAT(error("// a\n\n  // b"),
              HasSubstr("f: the file has nothing but comments; expected a program: HLO text or "
                        "proto, or StableHLO as MLIR text"));
  EXPECT_THAT(error(std::string(1000, '\0')), HasSubstr("f: the file has nothing but NUL bytes"));
  const std::string text = "HloModule m\nENTRY e {\n  ROOT a = f32[8] parameter(0)\n}\n";
  std::string wide;
  for (const char c : text) wide += {c, '\0'};
  for (const std::string& mark : {""s, "\xff\xfe"s}) {
    EXPECT_THAT(error(mark + wide), HasSubstr("f: text in UTF-16; convert it to UTF-8"));
  }
  EXPECT_TRUE(ParseProgram("\xef\xbb\xbf" + text, "f").ok());
  for (const char* proto :
       {"hlo_module {\n  name: \"m\"\n}", "name: \"m\"\nid: 1",
        "# proto-file: xla/service/hlo.proto\n#\n\nhlo { hlo_module { id: 1 } }"}) {
    EXPECT_THAT(error(proto), HasSubstr("f: a proto in protobuf's text format, which is not read; "
                                        "pass it in its binary format; expected a program: "));
  }
  for (const char* text : {"module {\n  module {\n  }\n}", "word: hello\nfoo\n", "name: me\n",
                           "Subject: 5 things\n", "e { note: \"a\" }"}) {
    EXPECT_THAT(error(text), testing::Not(HasSubstr("proto in protobuf")));
  }
}

// Text stays text where a byte of it is damaged, and its reader says where.
TEST(ProgramTest, ControlCharactersInTextHaveAPlace) {
  for (const char control : {'\0', '\x01', '\x1b'}) {
    const std::string byte(1, control);
    EXPECT_THAT(
        ErrorOfProgram("HloModule m\nENTRY e {\n  ROOT a" + byte + " = f32[8] parameter(0)\n}\n"),
        HasSubstr("f:3:9: "));
    EXPECT_THAT(ErrorOfProgram("e {\n  ROOT a" + byte + " = f32[8] parameter(0)\n}\n"),
                HasSubstr("f:2:9: "));
    EXPECT_THAT(ErrorOfProgram("#loc = loc(unknown)\nmodule {\n  func.func " + byte + "@main"),
                HasSubstr("f:3:13: "));
  }
}

TEST(ProgramTest, FormatsAreToldApart) {
  for (const auto& [text, kind] : {std::pair("e {\n  ROOT a = f32[8] parameter(0)\n}", "hlo_text"),
                                   std::pair("f32[8] negate(f32[8] a)", "hlo_text"),
                                   std::pair("#s = #sdy.sharding<@m, [{\"x\"}]>\n"
                                             "sdy.mesh @m = <[\"x\"=8]>\n"
                                             "func.func @main(%a: tensor<8xf32> {sdy.sharding = "
                                             "#s}) -> tensor<8xf32> {\n"
                                             "  return %a : tensor<8xf32>\n}",
                                             "stablehlo")}) {
    const absl::StatusOr<Program> program = ParseProgram(std::move(text), "f");
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(program->input.kind, kind);
    EXPECT_EQ(program->graph.parameters.size(), 1u);
  }
}

TEST(ProgramTest, UnknownAttributesAreNamed) {
  const auto warnings = [](const std::string& text) {
    return ParseProgram(text, "f").value().graph.warnings;
  };
  const std::string before = "ENTRY e {\n  a = f32[4,4] parameter(0)\n", after = "\n}";
  EXPECT_THAT(
      warnings("HloModule m, replica_count=1, is_scheduled=false, config={x}\n" + before +
               "  b = f32[4,4] add(a, a), index=1\n"
               "  c = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
               "lhs_batch_dim={}, operand_precision={high,high}\n"
               "  d = f32[4,4] dot(a, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
               "lhs_batch_dim={}, statistics={visualizing_index=0}\n"
               "  ROOT t = f32[4,4] tanh(d), result_accuracy={mode=highest}, origin={{\"x\"}}" +
               after),
      ElementsAre("attributes that are not known are ignored: config= of HloModule, index= of add "
                  "(\"b\" in line 4), lhs_batch_dim= of dot (2 times, first \"c\" in line 5)"));
  EXPECT_THAT(warnings("HloModule m, a=1, b=2, c=3, d={4}, e=5\n" + before +
                       "  ROOT b = f32[4,4] tanh(a)" + after),
              ElementsAre("attributes that are not known are ignored: a= of HloModule, b= of "
                          "HloModule, c= of HloModule and 2 more"));
}

// Names that other opcodes have: nothing may come of them, and that is said.
TEST(ProgramTest, AttributesOfOtherOpcodesAreNamed) {
  const auto warnings = [](std::string_view instruction) {
    const std::string text = StrCat(
        "HloModule m\n"
        "s {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)\n}\n"
        "ENTRY e {\n  a = f32[4,4] parameter(0)\n  zero = f32[] constant(0)\n  ROOT r = ",
        instruction, "\n}");
    return ParseProgram(text, "f").value().graph.warnings;
  };
  for (const std::string_view attribute :
       {"dimensions={0}", "to_apply=s", "calls=s", "called_computations={s}", "channel_id=1",
        "operand_precision={high,high}", "algorithm=dot_f32_f32_f32", "padding_type=PADDING_SAME",
        "output_to_operand_aliasing={{}: (0, {})}", "result_accuracy={mode=highest}",
        "async_execution_thread=\"main\"", "literal=f32[] 1", "mode=cross_replica",
        "slice_sizes={{1}}", "num_carries=1", "conv_kind=fprop", "fft_length={4}",
        "lhs_contracting_dims={1}"}) {
    const std::string_view name = attribute.substr(0, attribute.find('='));
    EXPECT_THAT(warnings(StrCat("f32[4,4] add(a, a), ", attribute)),
                ElementsAre(StrCat("attributes that are not known are ignored: ", name,
                                   "= of add (\"r\" in line 10)")));
  }
  for (const std::string_view instruction :
       {"f32[4] reduce(a, zero), dimensions={1}, to_apply=s",
        "f32[4,4] sort(a), dimensions={1}, "
        "to_apply={x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), "
        "direction=LT}",
        "f32[4,4] exponential(a), result_accuracy={mode=highest}",
        "f32[4,4] custom-call(a), custom_call_target=\"t\", called_computations={s}, "
        "output_to_operand_aliasing={{}: (0, {})}, padding_type=PADDING_SAME, literal=f32[] 1",
        "f32[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
        "operand_precision={high,high}, algorithm=dot_f32_f32_f32"}) {
    for (const std::string& warning : warnings(instruction)) {
      EXPECT_THAT(warning, Not(HasSubstr("not known"))) << instruction;
    }
  }
}

}  // namespace
}  // namespace meshwright
