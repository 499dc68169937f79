#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"

// One case for each kind of error: the text, and the whole message. Positions are line:column.

namespace meshwright {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string HloErrorOf(std::string_view text) {
  const absl::StatusOr<Module> module = ParseHloText(text, "f.hlo");
  EXPECT_FALSE(module.ok()) << text;
  if (module.ok()) return "";
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(module.status().message());
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message;
}

// The error of a program whose entry has `instruction` in line 4, after `a = f32[2,3] parameter(0)`
// and `s = f32[] parameter(1)`.
std::string HloErrorIn(std::string_view instruction) {
  return HloErrorOf(StrCat(
      "HloModule m add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }\n"
      "ENTRY e { a = f32[2,3] parameter(0)\n  s = f32[] parameter(1)\n  ",
      instruction, "\n}\n"));
}

TEST(TextReaderErrors, WhatIsNoHlo) {
  EXPECT_EQ(
      HloErrorOf(""),
      "f.hlo:1:1: the file ends where 'HloModule' (HLO text) or 'module' (MLIR) was expected");
  EXPECT_EQ(HloErrorOf("module @m {}"),
            "f.hlo:1:1: expected 'HloModule' (HLO text) or 'module' (MLIR), found \"module\"");
  EXPECT_EQ(HloErrorOf(std::string_view("\0\xff", 2)),
            "f.hlo:1:1: expected 'HloModule' (HLO text) or 'module' (MLIR), found \"\\x00\"");
  EXPECT_EQ(HloErrorOf("a = f32[] negate(f32[] b) c"),
            "f.hlo:1:27: expected the end after an instruction outside of any computation, found "
            "\"c\"");
  EXPECT_EQ(HloErrorOf("HloModule\n"),
            "f.hlo:2:1: the file ends where the module's name was expected");
}

TEST(TextReaderErrors, Entry) {
  EXPECT_EQ(HloErrorOf("HloModule m\n"),
            "f.hlo:2:1: no computation is marked ENTRY; put it before the main computation");
  EXPECT_EQ(HloErrorOf("HloModule m, entry_computation_layout={(s32[])->s32[]}\n"
                       "f { a = f32[] parameter(0) }\n"),
            "f.hlo:3:1: no computation is marked ENTRY; put it before the main computation; the "
            "last one, f, does not fit entry_computation_layout=");
  EXPECT_EQ(HloErrorOf("HloModule m\nENTRY e { a = f32[] parameter(0) }\n"
                       "ENTRY f { a = f32[] parameter(0) }"),
            "f.hlo:3:7: second ENTRY computation \"f\"; \"e\" is marked already");
}

TEST(TextReaderErrors, Opcode) {
  EXPECT_EQ(HloErrorIn("b = f32[2,3] brodcast(s)"),
            "f.hlo:4:16: unknown opcode \"brodcast\"; the nearest is \"broadcast\"");
  EXPECT_EQ(HloErrorIn("b = f32[2,3] foo-start(s)"),
            "f.hlo:4:16: unknown opcode \"foo-start\"; the nearest is \"copy-start\"");
  EXPECT_THAT(HloErrorIn(StrCat("b = f32[2,3] ", std::string(5000, 'x'), "(s)")),
              StartsWith(StrCat("f.hlo:4:16: unknown opcode \"", std::string(60, 'x'), "...\"")));
}

TEST(TextReaderErrors, ElementType) {
  EXPECT_THAT(HloErrorIn("b = f33[2,3] negate(a)"),
              StartsWith("f.hlo:4:7: unknown element type \"f33\"; valid are pred, "));
  EXPECT_THAT(HloErrorIn("b = tuple[2] negate(a)"), HasSubstr("unknown element type \"tuple\""));
  EXPECT_EQ(HloErrorIn("b = token[2] after-all()"), "f.hlo:4:7: token has no dimensions");
}

TEST(TextReaderErrors, Dimensions) {
  EXPECT_EQ(HloErrorIn("b = f32[2,-3] negate(a)"), "f.hlo:4:13: dimension -3 is negative");
  EXPECT_EQ(HloErrorIn("b = f32[4611686018427387904,2] negate(a)"),
            "f.hlo:4:7: shape f32[4611686018427387904,2] has more than 2^62 elements");
  EXPECT_EQ(HloErrorIn("b = f32[99999999999999999999] negate(a)"),
            "f.hlo:4:11: integer does not fit in 64 bits");
  EXPECT_EQ(HloErrorIn("b = f32[?] negate(a)"),
            "f.hlo:4:11: dimension '?' has no bound; planning needs one, e.g. '<=128'");
  EXPECT_EQ(HloErrorIn("b = f32[2 negate(a)"),
            "f.hlo:4:13: expected ']' after the dimensions, found \"negate\"");
}

TEST(TextReaderErrors, Layout) {
  EXPECT_EQ(HloErrorIn("b = f32[2,3]{0,0} negate(a)"),
            "f.hlo:4:15: layout is not an order of the 2 dimensions: 0 occurs twice");
  EXPECT_EQ(HloErrorIn("b = f32[2,3]{0,2} negate(a)"),
            "f.hlo:4:15: layout is not an order of the 2 dimensions: 2 is out of range");
  EXPECT_EQ(HloErrorIn("b = f32[2,3]{0} negate(a)"), "f.hlo:4:15: layout orders 1 of 2 dimensions");
}

TEST(TextReaderErrors, OperandCount) {
  EXPECT_EQ(HloErrorIn("b = f32[2,3] add(a)"), "f.hlo:4:3: b: add takes 2 operands, found 1");
  EXPECT_EQ(HloErrorIn("b = f32[2,3] negate(a, a)"),
            "f.hlo:4:3: b: negate takes 1 operand, found 2");
  EXPECT_EQ(HloErrorIn("b = f32[2,3] iota(a), iota_dimension=0"),
            "f.hlo:4:3: b: iota takes 0 operands, found 1");
}

TEST(TextReaderErrors, UndefinedNames) {
  EXPECT_EQ(HloErrorIn("b = f32[2,3] add(a, nope)"),
            "f.hlo:4:23: no instruction \"nope\" in computation e");
  EXPECT_EQ(HloErrorIn("b = f32[2,3] negate(a), control-predecessors={nope}"),
            "f.hlo:4:49: no instruction \"nope\" in computation e");
  EXPECT_EQ(HloErrorIn("b = f32[2,3] call(a), to_apply=nope"),
            "f.hlo:4:34: no computation \"nope\"");
  // Names of other computations are not visible.
  EXPECT_EQ(HloErrorIn("b = f32[] negate(x)"), "f.hlo:4:20: no instruction \"x\" in computation e");
}

TEST(TextReaderErrors, Cycles) {
  EXPECT_EQ(HloErrorIn("b = f32[] negate(c)\n  c = f32[] negate(d)\n  d = f32[] negate(b)"),
            "f.hlo:4:3: cyclic reference: b -> c -> d -> b");
  EXPECT_EQ(HloErrorIn("b = f32[] negate(b)"), "f.hlo:4:3: cyclic reference: b -> b");
  EXPECT_EQ(HloErrorOf("HloModule m\n"
                       "f { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=g }\n"
                       "g { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }\n"
                       "ENTRY e { ROOT p = f32[] parameter(0) }"),
            "f.hlo:2:1: recursive call: f -> g -> f");
}

TEST(TextReaderErrors, Duplicates) {
  EXPECT_EQ(HloErrorIn("a = f32[] negate(s)"),
            "f.hlo:4:3: instruction \"a\" is defined twice in computation e");
  EXPECT_EQ(HloErrorOf("HloModule m\nf { a = f32[] parameter(0) }\nf { a = f32[] parameter(0) }\n"),
            "f.hlo:3:1: computation \"f\" is defined twice");
  EXPECT_EQ(HloErrorIn("b = f32[] parameter(1)"), "f.hlo:4:3: b: parameter number 1 is taken by s");
  EXPECT_EQ(HloErrorIn("b = f32[] parameter(3)"),
            "f.hlo:4:3: b: parameter number 3 leaves a gap; computation e has 3 parameters");
  EXPECT_EQ(HloErrorIn("b = f32[] parameter(-1)"), "f.hlo:4:23: parameter numbers start at 0");
  EXPECT_EQ(HloErrorIn("b = f32[] negate(s), foo=1, foo=2"),
            "f.hlo:4:31: attribute \"foo\" is given twice");
  EXPECT_EQ(HloErrorIn("ROOT b = f32[] negate(s)\n  ROOT c = f32[] negate(s)"),
            "f.hlo:5:8: second ROOT \"c\"; b is marked already");
  EXPECT_EQ(HloErrorOf("HloModule m, num_partitions=1, num_partitions=2\n"),
            "f.hlo:1:32: attribute num_partitions is given twice");
}

TEST(TextReaderErrors, MissingAttributes) {
  EXPECT_EQ(HloErrorIn("b = f32[] reduce(a, s), dimensions={0,1}"),
            "f.hlo:4:3: b: reduce lacks the attribute to_apply=");
  EXPECT_EQ(HloErrorIn("b = pred[] compare(s, s)"),
            "f.hlo:4:3: b: compare lacks the attribute direction=");
  EXPECT_EQ(HloErrorIn("b = f32[] fusion(s), calls=add"),
            "f.hlo:4:3: b: fusion lacks the attribute kind=");
  EXPECT_EQ(HloErrorIn("b = f32[] conditional(s, s, s), false_computation=add"),
            "f.hlo:4:3: b: conditional lacks the attribute branch_computations=");
}

TEST(TextReaderErrors, AttributeValues) {
  EXPECT_EQ(HloErrorIn("b = pred[] compare(s, s), direction=UP"),
            "f.hlo:4:39: expected one of the directions EQ, NE, GE, GT, LE, LT, found \"UP\"");
  EXPECT_EQ(HloErrorIn("b = f32[3,2] transpose(a), dimensions=[1,0]"),
            "f.hlo:4:41: expected '{' before a list of integers, found \"[\"");
  EXPECT_EQ(HloErrorIn("b = f32[3,2] transpose(a), dimensions={1,x}"),
            "f.hlo:4:44: expected an integer, found \"x\"");
  EXPECT_EQ(HloErrorIn("b = f32[3,2] transpose(a), dimensions"),
            "f.hlo:5:1: expected '=' after the name of an attribute, found \"}\"");
  EXPECT_EQ(HloErrorIn("b = f32[3,2] transpose(a), "),
            "f.hlo:5:1: expected the name of an attribute, found \"}\"");
  EXPECT_THAT(HloErrorIn("b = f32[] convolution(a, a), dim_labels=bf_oi"),
              StartsWith("f.hlo:4:43: \"bf_oi\" is no dim_labels; expected e.g. b01f_01io->b01f"));
  EXPECT_EQ(HloErrorIn("b = f32[] reduce-window(a, s), window={size=2x2 stride=1}, to_apply=add"),
            "f.hlo:4:51: window field stride has 1 dimensions, the one before it 2");
  EXPECT_THAT(HloErrorIn("b = f32[] reduce-window(a, s), window={sise=2x2}, to_apply=add"),
              StartsWith("f.hlo:4:42: expected size=, stride=, pad=, lhs_dilate=, rhs_dilate=, "
                         "rhs_reversal= or '}' in a window, found \"sise\""));
  EXPECT_EQ(HloErrorIn("b = f32[] negate(s), metadata={op_name=3}"),
            "f.hlo:4:42: expected a string in double quotes, found \"3\"");
  EXPECT_EQ(HloErrorIn("b = f32[] negate(s), foo={1,(2}"),
            "f.hlo:4:33: found '}' where ')' would close the bracket");
  EXPECT_THAT(HloErrorIn("b = f32[] negate(s), metadata={op_name=\"\\q\"}"),
              StartsWith("f.hlo:4:42: bad escape in string: "));
}

TEST(TextReaderErrors, Literals) {
  EXPECT_EQ(HloErrorIn("b = s8[] constant(200)"), "f.hlo:4:21: \"200\" is no value of type s8");
  EXPECT_EQ(HloErrorIn("b = s8[] constant(x)"), "f.hlo:4:21: \"x\" is no value of type s8");
  EXPECT_EQ(HloErrorIn("b = s8[2] constant({1, 2, 3})"),
            "f.hlo:4:22: literal has 3 values along dimension 0; its type s8[2] has 2");
  EXPECT_EQ(HloErrorIn("b = s8[2,2] constant({1, 2})"),
            "f.hlo:4:25: expected '{' before dimension 1 of s8[2,2], found \"1\"");
  EXPECT_EQ(HloErrorIn("b = (s8[], s8[]) constant((1))"),
            "f.hlo:4:31: expected ',' between a tuple's values, found \")\"");
  EXPECT_EQ(HloErrorIn("b = token[] constant(1)"),
            "f.hlo:4:24: a constant cannot have type token[]");
}

TEST(TextReaderErrors, Structure) {
  EXPECT_EQ(HloErrorOf("HloModule m\nENTRY e {\n}\n"),
            "f.hlo:2:7: computation \"e\" has no instructions");
  EXPECT_EQ(
      HloErrorOf("HloModule m\nENTRY e (p: f32[2]) -> f32[3] {\n p = f32[2] parameter(0)\n}\n"),
      "f.hlo:2:8: the signature says the result is f32[3], the root p is f32[2]");
  EXPECT_EQ(HloErrorOf("HloModule m\nENTRY e { 3 }\n"),
            "f.hlo:2:13: expected '=' after the name of an instruction, found \"}\"");
  EXPECT_EQ(HloErrorOf("HloModule m\nENTRY e { p = f32[] parameter(0) } }\n"),
            "f.hlo:2:36: expected a computation: [ENTRY] name [signature] {, found \"}\"");
  EXPECT_EQ(HloErrorOf("HloModule m\nENTRY e { p = f32[] parameter(0) }, foo=1\n"),
            "f.hlo:2:37: expected execution_thread=, found \"foo\"");
  EXPECT_EQ(HloErrorOf("HloModule m, is_scheduled=yes\n"),
            "f.hlo:1:27: expected true or false, found \"yes\"");
  EXPECT_EQ(HloErrorOf("HloModule m\n\nFileNames\n1 \"a\"\n3 \"b\"\n"),
            "f.hlo:5:1: table entry 3 stands where 2 was expected");
}

TEST(TextReaderErrors, TypesThatAreLeftOut) {
  EXPECT_EQ(HloErrorIn("b = iota(), iota_dimension=0"),
            "f.hlo:4:7: b: the type of iota does not follow from its operands; write it before the "
            "opcode, as f32[2,3]");
  EXPECT_EQ(HloErrorIn("b = constant(1)"),
            "f.hlo:4:7: b: the type of constant does not follow from its operands; write it before "
            "the opcode, as f32[2,3]");
  EXPECT_EQ(
      HloErrorIn("b = concatenate(a, s), dimensions={0}"),
      "f.hlo:4:3: b: operands must agree but in dimension 0: operand 0 is f32[2,3], operand 1 "
      "is f32[]");
  EXPECT_EQ(HloErrorIn("b = get-tuple-element(a), index=0"),
            "f.hlo:4:3: b: operand 0 must be a tuple, is f32[2,3]");
}

TEST(TextReaderErrors, ScaledDot) {
  EXPECT_EQ(HloErrorIn("b = f32[2,2] scaled-dot(a, a), lhs_contracting_dims={1}"),
            "f.hlo:4:3: b: scaled-dot takes 4 operands, found 2");
  EXPECT_EQ(HloErrorIn("c = f32[2,4] constant({...})\n b = f32[2,2] scaled-dot(a, a, c, s), "
                       "lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
            "f.hlo: b: operand 2, a scale, f32[2,4], does not divide operand 0, f32[2,3], into "
            "blocks");
}

TEST(TextReaderErrors, NestedInstructions) {
  EXPECT_EQ(HloErrorIn("b = f32[] negate(reduce(a, s))"),
            "f.hlo:4:20: reduce: reduce lacks the attribute dimensions=");
  EXPECT_EQ(HloErrorIn("b = f32[] negate(neg(a))"),
            "f.hlo:4:20: unknown opcode \"neg\"; the nearest is \"log\"");
}

TEST(TextReaderErrors, TypesThatDoNotFit) {
  EXPECT_EQ(HloErrorIn("b = f32[2,4] negate(a)"),
            "f.hlo:4:3: b: shape mismatch: is f32[2,4], its operands give f32[2,3]");
}

constexpr std::string_view kProgram = R"(HloModule m, entry_computation_layout={(f32[2]{0})->f32[]}

FileNames
1 "a"

add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }

ENTRY e {
  a = f32[2]{0} parameter(0), sharding={devices=[2]<=[2]}
  z = f32[] constant(0), metadata={op_name="z"}
  ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=add, backend_config={"a":[1]}
})";

TEST(TextReaderErrors, EveryTruncationIsAnError) {
  ASSERT_TRUE(ParseHloText(kProgram, "f.hlo").ok());
  for (size_t size = 0; size < kProgram.size(); ++size) {
    // Computations that are complete do not make the first of them the main one.
    EXPECT_THAT(HloErrorOf(kProgram.substr(0, size)), StartsWith("f.hlo:")) << size;
  }
  EXPECT_THAT(HloErrorOf(kProgram.substr(0, kProgram.size() - 1)),
              StartsWith("f.hlo:12:1: the file ends where an instruction"));
}

TEST(TextReaderErrors, DeepNestingIsRefused) {
  const std::string open(1000000, '(');
  EXPECT_THAT(HloErrorIn(StrCat("b = ", open)), EndsWith("tuples nested deeper than 128"));
  EXPECT_THAT(HloErrorIn(StrCat("b = f32[] negate(s), foo=", std::string(1000000, '{'))),
              EndsWith("brackets nested deeper than 128"));
  std::string negations, regions = "b = f32[] call(s), to_apply=";
  for (int i = 0; i < 100000; ++i) {
    negations += "negate(";
    regions += "{ p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=";
  }
  EXPECT_THAT(HloErrorIn(StrCat("b = f32[] ", negations)),
              EndsWith("instructions nested deeper than 128"));
  EXPECT_THAT(HloErrorIn(regions), EndsWith("computations nested deeper than 128"));
  std::string dims = "1";
  for (int i = 0; i < 200; ++i) dims += ",1";
  EXPECT_THAT(HloErrorIn(StrCat("b = f32[", dims, "] iota(), iota_dimension=0")),
              EndsWith("more than 128 dimensions"));
}

// Inputs of megabytes that would take minutes if anything were quadratic.
TEST(TextReaderErrors, LargeOddInputsTakeLinearTime) {
  const auto start = std::chrono::steady_clock::now();
  const std::string long_name(10 << 20, 'n');
  EXPECT_THAT(HloErrorOf(StrCat("HloModule m\nENTRY e { ", long_name, " = f32[] negate(x) }")),
              HasSubstr("no instruction \"x\""));
  HloErrorOf(StrCat("HloModule m\nENTRY e {", std::string(10 << 20, '\n')));
  HloErrorOf(StrCat("HloModule m\n", std::string(10 << 20, '/')));
  std::string lines;  // computations on one line, none closed by a '}' at the start of a line
  for (int i = 0; i < 50000; ++i) StrAppend(&lines, "f", i, " { a = f32[] parameter(0) } ");
  EXPECT_TRUE(ParseHloText(StrCat("HloModule m\n", lines), "f.hlo").ok());
  std::string backwards;  // each uses the next
  for (int i = 0; i < 50000; ++i) {
    StrAppend(&backwards, "b", i, " = f32[] negate(b", i + 1, ")\n");
  }
  EXPECT_TRUE(
      ParseHloText(StrCat("HloModule m\nENTRY e {\n", backwards, "b50000 = f32[] parameter(0) }"),
                   "f.hlo")
          .ok());
  std::string attributes;
  for (int i = 0; i < 500000; ++i) StrAppend(&attributes, ", a", i, "=1");
  EXPECT_THAT(HloErrorIn(StrCat("b = f32[] negate(s)", attributes)),
              EndsWith("more than 100 attributes"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace meshwright
