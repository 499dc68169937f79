#include "meshwright/inter/layers/obstacle_texts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(EffectTextsTest, CallsWhoseResultsAreReadAreNoMereEffects) {
  const TestProgram program = ProgramFromText(R"(HloModule m
ENTRY main {
  x = f32[8,4] parameter(0)
  print = () custom-call(x), custom_call_target="print", custom_call_has_side_effect=true
  count = s32[] custom-call(x), custom_call_target="count", custom_call_has_side_effect=true
  ask = f32[8,4] custom-call(x), custom_call_target="ask", custom_call_has_side_effect=true
  ROOT y = f32[8,4] add(x, ask)
})");
  EXPECT_THAT(EffectTexts(program.graph),
              ElementsAre(StartsWith("print and 1 more operator are called only for an effect, "
                                     "which stages of a pipeline leave out")));
}

TEST(EffectTextsTest, WithoutEffects) {
  const TestProgram program = ProgramFromText(R"(HloModule m
ENTRY main {
  x = f32[8,4] parameter(0)
  ROOT y = f32[8,4] tanh(x)
})");
  EXPECT_THAT(EffectTexts(program.graph), IsEmpty());
}

}  // namespace
}  // namespace meshwright
