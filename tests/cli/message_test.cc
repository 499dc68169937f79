#include "meshwright/cli/message.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

TEST(Message, IsWrappedForATerminalOnly) {
  const std::string message =
      "step.hlo:3:5: instruction \"dot.12\" is said to be f32[128,256], its operands give "
      "f32[128,512]\n  run `meshwright plan --help` for usage";
  EXPECT_EQ(MessageText(message, Wrap::kNever),
            "meshwright: step.hlo:3:5: instruction \"dot.12\" is said to be f32[128,256], its "
            "operands give f32[128,512]\n  run `meshwright plan --help` for usage\n");
  EXPECT_EQ(MessageText(message, Wrap::kColumns),
            "meshwright: step.hlo:3:5: instruction \"dot.12\" is said to be f32[128,256], its\n"
            "  operands give f32[128,512]\n  run `meshwright plan --help` for usage\n");
}

TEST(Message, FitsANarrowTerminal) {
  EXPECT_EQ(Narrowed("memory    41.2 GiB of 80.0 GiB a device, 38.8 GiB free\n"
                     "  state[0]['layer{0..3}']['wo']  x12  f32[4096,4096]  [x,_]\n"
                     "next\n"
                     "    meshwright report plan.json -o report.html --csv tables\n"
                     "    meshwright verify plan.json \\\n"
                     "      --program tests/data/hlo/step.train.hlo.txt.gz\n",
                     40),
            "memory    41.2 GiB of 80.0 GiB a device,\n"
            "          38.8 GiB free\n"
            "  state[0]['layer{0..3}']['wo']  x12\n"
            "    f32[4096,4096]  [x,_]\n"
            "next\n"
            "    meshwright report plan.json -o report.html --csv tables\n"
            "    meshwright verify plan.json \\\n"
            "      --program tests/data/hlo/step.train.hlo.txt.gz\n");
  EXPECT_EQ(Narrowed("a word-that-is-longer-than-the-screen b", 20),
            "a\n  word-that-is-longer-than-the-screen\n  b");
}

TEST(Message, DoesNotSteerATerminal) {
  for (const Wrap wrap : {Wrap::kNever, Wrap::kColumns}) {
    EXPECT_EQ(MessageText("a\x1b[2Jb\nc", wrap), "meshwright: a\\x1b[2Jb\\nc\n");
  }
}

// Files of logs, pipes to editors: a long error is one line.
TEST(Message, OfTheProgramIsOneLineWhereNobodyReadsATerminal) {
  const std::string path =
      "/a/path/that/does/not/exist/and/has/more/than/eighty/columns/by/far/x.hlo";
  const RunResult run = RunMeshwright({"plan", path, "--cluster", "8xh100-sxm"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err_text.find('\n'), run.err_text.size() - 1) << run.err_text;
}

}  // namespace
}  // namespace meshwright
