#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_replace.h"
#include "meshwright/base/file.h"
#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

std::string FasopFile(const std::string& name) {
  return std::string(MESHWRIGHT_TEST_DATA "/transformer/fasop/") + name;
}

TEST(ReproduceFasopCommand, OneLineAFileAndASummary) {
  const RunResult run = RunMeshwright({"reproduce", "fasop", FasopFile("gpt2XL.het.csv"),
                                       FasopFile("bert.het.csv"), FasopFile("T5.homo.csv")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, MatchesRegex("file +kind +records +figures +differ +off by +ms\n"
                                    "gpt2XL.het.csv +gpt2XL +9 +117 +0 .+  ok\n"
                                    "bert.het.csv +bert +9 +117 +0 .+  ok\n"
                                    "T5.homo.csv +T5 +7 +91 +0 .+  ok\n"
                                    "3 files, 0 differ, largest deviation [0-9.e-]+\n"));
}

TEST(ReproduceFasopCommand, DifferencesHaveAnExitCodeOfTheirOwn) {
  const ScratchFolder folder;
  const std::string text = *ReadFile(FasopFile("T5.homo.csv"));
  const std::string wrong =
      folder.Write("T5.csv", absl::StrReplaceAll(text, {{"0.649348664", "0.65"}}));
  const RunResult run = RunMeshwright({"reproduce", "fasop", wrong, "--json"});
  EXPECT_EQ(run.exit_code, 4);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["reproduction"], "fasop");
  EXPECT_EQ(json["cases"][0]["differ"], 1);
  EXPECT_THAT(json["cases"][0]["differences"][0].get<std::string>(), HasSubstr("line 4 pt: "));
  EXPECT_EQ(run.err, "meshwright: 1 of 91 recorded figures were not reproduced\n");
}

TEST(ReproduceFasopCommand, BadInput) {
  const ScratchFolder folder;
  const RunResult run =
      RunMeshwright({"reproduce", "fasop", FasopFile("T5.homo.csv"),
                     folder.Write("llama.csv", *ReadFile(FasopFile("T5.homo.csv")))});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("found model \"llama\", expected gpt2XL, bert, T5"));
}

}  // namespace
}  // namespace meshwright
