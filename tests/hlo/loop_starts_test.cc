#include "meshwright/hlo/loop_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/verify/verifier.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

TEST(LoopStartsTest, AreSeparateWhereTheyAreFilled) {
  absl::StatusOr<Module> module = ParseHloText(R"(HloModule m
body {
  p = (f32[4], f32[4], f32[4], s32[]) parameter(0)
  a = f32[4] get-tuple-element(p), index=0
  b = f32[4] get-tuple-element(p), index=1
  c = f32[4] get-tuple-element(p), index=2
  i = s32[] get-tuple-element(p), index=3
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT out = (f32[4], f32[4], f32[4], s32[]) tuple(b, a, c, next)
}
condition {
  p = (f32[4], f32[4], f32[4], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=3
  end = s32[] constant(9)
  ROOT on = pred[] compare(i, end), direction=LT
}
ENTRY main {
  zero = f32[] constant(0)
  zeros = f32[4] broadcast(zero), dimensions={}
  x = f32[4] parameter(0)
  first = s32[] constant(0)
  start = (f32[4], f32[4], f32[4], s32[]) tuple(zeros, zeros, x, first)
  loop = (f32[4], f32[4], f32[4], s32[]) while(start), condition=condition, body=body
  last = f32[4] get-tuple-element(loop), index=0
  ROOT sum = f32[4] add(last, zeros)
})",
                                               "test");
  ASSERT_TRUE(module.ok()) << module.status();
  SeparateLoopStarts(*module);
  EXPECT_FALSE(FindVerifierError(*module).has_value());
  const Computation& main = module->entry_computation();
  const auto operands = [&](const std::string& name) {
    std::vector<std::string> names;
    for (const Instruction& instruction : main.instructions) {
      if (instruction.name != name) continue;
      for (InstructionId operand : instruction.operands) names.push_back(main[operand].name);
    }
    return names;
  };
  EXPECT_THAT(operands("start"), ElementsAre("zeros.1", "zeros.2", "x", "first"));
  EXPECT_THAT(operands("zeros.1"), ElementsAre("zero"));
  EXPECT_THAT(operands("sum"), ElementsAre("last", "zeros"));
  // Nothing is left to separate.
  const Module again = *module;
  SeparateLoopStarts(*module);
  EXPECT_EQ(module->entry_computation().instructions, again.entry_computation().instructions);
}

}  // namespace
}  // namespace meshwright
