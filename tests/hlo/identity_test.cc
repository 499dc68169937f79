#include "meshwright/hlo/identity.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"

namespace meshwright {
namespace {

// The operand that `r = ...` is, in a program with a parameter x: f32[2,2], zeros and ones.
int Identity(std::string_view r) {
  const std::string text = StrCat(R"(HloModule m
ENTRY e {
  x = f32[2,2] parameter(0)
  scalar = f32[] constant(0)
  zeros = f32[2,2] broadcast(scalar), dimensions={}
  ones = f32[2,2] constant({{1,1},{1,1}})
  mixed = f32[2,2] constant({{1,0},{1,1}})
  ROOT )",
                                  r, "\n}\n");
  const absl::StatusOr<Module> module = ParseHloText(text, "test");
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return -2;
  const Computation& entry = module->entry_computation();
  return IdentityOperand(*module, {&entry}, entry[entry.root]);
}

TEST(Identity, NeutralElements) {
  EXPECT_EQ(Identity("r = f32[2,2] add(x, zeros)"), 0);
  EXPECT_EQ(Identity("r = f32[2,2] add(zeros, x)"), 1);
  EXPECT_EQ(Identity("r = f32[2,2] subtract(x, zeros)"), 0);
  EXPECT_EQ(Identity("r = f32[2,2] subtract(zeros, x)"), -1);
  EXPECT_EQ(Identity("r = f32[2,2] multiply(ones, x)"), 1);
  EXPECT_EQ(Identity("r = f32[2,2] multiply(x, zeros)"), -1);
  EXPECT_EQ(Identity("r = f32[2,2] multiply(x, mixed)"), -1);
  EXPECT_EQ(Identity("r = f32[2,2] divide(x, ones)"), 0);
  EXPECT_EQ(Identity("r = f32[2,2] divide(ones, x)"), -1);
  EXPECT_EQ(Identity("r = f32[2,2] maximum(x, zeros)"), -1);
}

TEST(Identity, MovesThatMoveNothing) {
  EXPECT_EQ(Identity("r = f32[2,2] transpose(x), dimensions={0,1}"), 0);
  EXPECT_EQ(Identity("r = f32[2,2] transpose(x), dimensions={1,0}"), -1);
  EXPECT_EQ(Identity("r = f32[2,2] reshape(x)"), 0);
  EXPECT_EQ(Identity("r = f32[4] reshape(x)"), -1);
  EXPECT_EQ(Identity("r = f32[2,2] broadcast(x), dimensions={0,1}"), 0);
  EXPECT_EQ(Identity("r = f32[2,2] slice(x), slice={[0:2], [0:2]}"), 0);
  EXPECT_EQ(Identity("r = f32[1,2] slice(x), slice={[0:1], [0:2]}"), -1);
  EXPECT_EQ(Identity("r = f32[2,2] convert(x)"), 0);
  EXPECT_EQ(Identity("r = f64[2,2] convert(x)"), -1);
}

TEST(Identity, AnnotatedValuesAreTheirOwn) {
  EXPECT_EQ(Identity("r = f32[2,2] add(x, zeros), sharding={devices=[2,1]<=[2]}"), -1);
}

}  // namespace
}  // namespace meshwright
