#include "meshwright/inter/layers/fingerprint.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/intra/test_program.h"

namespace meshwright {
namespace {

// Of the operator `text` on f32[6,8].
uint64_t FingerprintOf(const std::string& result, const std::string& text, Entries entries) {
  const TestProgram program = ProgramFromText(absl::StrCat(R"(HloModule m

ENTRY main {
  p = f32[6,8] parameter(0)
  e = f32[1,8] slice(p), slice={[0:1], [0:8]}
  z = f32[] constant(0)
  ROOT r = )",
                                                           result, " ", text, "\n}\n"));
  for (size_t i = 0; i < program.graph.ops.size(); ++i) {
    if (program.graph.ops[i].name == "r") return OpFingerprints(program.graph, entries).Of(OpId(i));
  }
  ADD_FAILURE() << text;
  return 0;
}

TEST(OpFingerprints, TellsOrDoesNotTellEntriesApart) {
  const auto slice = [](const char* range, Entries entries, int size = 1) {
    return FingerprintOf(absl::StrCat("f32[", size, ",8]"),
                         absl::StrCat("slice(p), slice={[", range, "], [0:8]}"), entries);
  };
  EXPECT_EQ(slice("0:1", Entries::kAlike), slice("4:5", Entries::kAlike));
  EXPECT_NE(slice("0:1", Entries::kByIndex), slice("4:5", Entries::kByIndex));
  // Not where more than one is taken.
  EXPECT_NE(slice("0:2", Entries::kAlike, 2), slice("2:4", Entries::kAlike, 2));
  // What is alike is like nothing that is told apart, whatever is stored of that.
  for (const char* range : {"0:1", "4:5"})
    EXPECT_NE(slice(range, Entries::kAlike), slice(range, Entries::kByIndex));

  const auto pad = [](const char* operand, const char* by, Entries entries, int size = 6) {
    return FingerprintOf(absl::StrCat("f32[", size, ",8]"),
                         absl::StrCat("pad(", operand, ", z), padding=", by, "x0_0"), entries);
  };
  EXPECT_EQ(pad("e", "0_5", Entries::kAlike), pad("e", "3_2", Entries::kAlike));
  EXPECT_NE(pad("e", "0_5", Entries::kByIndex), pad("e", "3_2", Entries::kByIndex));
  EXPECT_NE(pad("e", "0_5", Entries::kAlike), pad("e", "0_6", Entries::kAlike, 7));
  EXPECT_NE(pad("p", "0_1", Entries::kAlike, 7), pad("p", "1_0", Entries::kAlike, 7));
  EXPECT_NE(pad("p", "-5_0", Entries::kAlike, 1), pad("p", "-4_-1", Entries::kAlike, 1));
}

TEST(GraphFingerprint, IsOfWhatIsComputed) {
  const auto of = [](const char* sum, const char* constant) {
    return GraphFingerprint(
        ProgramFromText(absl::StrCat("HloModule m\n\nENTRY main {\n", "  p = f32[] parameter(0)\n",
                                     "  q = f32[] parameter(1)\n", "  c = f32[] constant(",
                                     constant, ")\n", "  s = f32[] ", sum, "\n",
                                     "  ROOT r = f32[] multiply(s, c)\n}\n"))
            .graph);
  };
  const std::string one = of("subtract(p, q), metadata={op_name=\"a\"}", "0.1");
  EXPECT_EQ(one.size(), 16);
  EXPECT_EQ(one, of("subtract(p, q), metadata={op_name=\"b\" source_line=3}", "0.1"));
  EXPECT_NE(one, of("subtract(p, q)", "0.2"));
  EXPECT_NE(one, of("subtract(q, p)", "0.1"));
}

}  // namespace
}  // namespace meshwright
