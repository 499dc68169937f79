#include "meshwright/hlo/known_branches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text/writer.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

// The root of a program that takes one of two branches, f(x) = -x and g(y) = tanh(y).
std::string ChosenRoot(std::string_view predicate, std::string_view conditional) {
  Module module =
      ParseHloText(
          StrCat("f { x = f32[4] parameter(0)\nROOT r = f32[4] negate(x) }\n"
                 "g { y = f32[4] parameter(0)\nROOT r = f32[4] tanh(y) }\n"
                 "ENTRY e {\na = f32[4] parameter(0)\nb = f32[4] parameter(1)\n",
                 predicate, "\nROOT c = f32[4] conditional(p, a, b), ", conditional, "\n}\n"),
          "f.hlo")
          .value();
  CallKnownBranches(module);
  const Computation& entry = module.entry_computation();
  return ToString(module, entry, entry[entry.root]);
}

constexpr std::string_view kBranches = "branch_computations={f, g}";

TEST(KnownBranches, TakeThePlaceOfConditionals) {
  const std::string first = "ROOT c = f32[4] call(a), to_apply=f";
  const std::string second = "ROOT c = f32[4] call(b), to_apply=g";
  EXPECT_EQ(ChosenRoot("p = s32[] constant(0)", kBranches), first);
  EXPECT_EQ(ChosenRoot("p = s32[] constant(1)", kBranches), second);
  // Indices that are none take the last branch.
  EXPECT_EQ(ChosenRoot("p = s32[] constant(7)", kBranches), second);
  EXPECT_EQ(ChosenRoot("p = s32[] constant(-1)", kBranches), second);
  constexpr std::string_view kTwo = "true_computation=f, false_computation=g";
  EXPECT_EQ(ChosenRoot("p = pred[] constant(true)", kTwo), first);
  EXPECT_EQ(ChosenRoot("p = pred[] constant(false)", kTwo), second);
}

TEST(KnownBranches, MayBeComputedFromConstants) {
  EXPECT_THAT(ChosenRoot("q = pred[] constant(true)\no = s32[] constant(1)\ni = s32[] convert(q)\n"
                         "p = s32[] subtract(i, o)",
                         kBranches),
              HasSubstr("call(a)"));
  EXPECT_THAT(ChosenRoot("p = s32[] parameter(2)", kBranches), HasSubstr("conditional(p, a, b)"));
}

}  // namespace
}  // namespace meshwright
