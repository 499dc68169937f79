#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

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
  const ScratchFolder folder;
  const std::string bert = folder.Path("bert.csv"), t5 = folder.Path("T5.csv");
  for (const auto& [model, cluster, path] :
       {std::tuple("bert-large", "1x4xa100-40g+3x4xa10g", bert), {"t5-large", "8x4xa10g", t5}}) {
    const RunResult plan = RunMeshwright(
        {"plan", model, "--cluster", cluster, "--cost-model", "fasop", "--csv", path});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
  }
  const RunResult run = RunMeshwright({"reproduce", "fasop", bert, t5});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, MatchesRegex("file +kind +records +figures +differ +off by +ms\n"
                                    "bert.csv +bert +356 +4628 +0 .+  ok\n"
                                    "T5.csv +T5 +89 +1157 +0 .+  ok\n"
                                    "2 files, 0 differ, largest deviation [0-9.e-]+\n"));
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
  EXPECT_EQ(json["cases"][0]["differ"], 83);
  EXPECT_THAT(json["cases"][0]["differences"][0].get<std::string>(), HasSubstr("line 4 pt: "));
  EXPECT_THAT(json["cases"][0]["differences"][1].get<std::string>(),
              HasSubstr("row: recorded none, found "))
      << "82 of 89 rows are left out";
  EXPECT_EQ(run.err, "meshwright: 83 of 173 recorded figures were not reproduced\n");
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
