#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_replace.h"
#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr char kTransfers[] = R"([
  {"system": "A100", "nvs": 4, "type": "p2p", "n_gpus": 2, "topology": 1, "vol_GB": 17.5, "t": 1.000005},
  {"system": "A100", "nvs": 4, "type": "p2p", "n_gpus": 2, "topology": 2, "vol_GB": 0, "t": 0}])";

std::string DataFile(const std::string& name) {
  return std::string(MESHWRIGHT_TEST_DATA "/transformer/nersc_") + name;
}

TEST(ReproduceNerscCommand, OneLineAFileAndASummary) {
  const RunResult run =
      RunMeshwright({"reproduce", "nersc", DataFile("collectives.json"), DataFile("points.jsonl"),
                     DataFile("searches.jsonl"), DataFile("op_variants.json")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, MatchesRegex("file +kind +records +figures +differ +off by +ms\n"
                                    "nersc_collectives.json +collectives +17 +17 +0 .+  ok\n"
                                    "nersc_points.jsonl +points +6 +[0-9]+ +0 .+  ok\n"
                                    "nersc_searches.jsonl +searches +2 +[0-9]+ +0 .+  ok\n"
                                    "nersc_op_variants.json +op variants +2 +[0-9]+ +0 .+  ok\n"
                                    "4 files, 0 differ, largest deviation [0-9.e-]+\n"));
}

TEST(ReproduceNerscCommand, JsonSaysTheSame) {
  const RunResult run = RunMeshwright({"reproduce", "nersc", DataFile("points.jsonl"), "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["reproduction"], "nersc");
  EXPECT_EQ(json["differ"], 0);
  ASSERT_EQ(json["cases"].size(), 1u);
  EXPECT_EQ(json["cases"][0]["kind"], "points");
  EXPECT_EQ(json["cases"][0]["records"], 6);
  EXPECT_EQ(json["cases"][0]["differ"], 0);
  EXPECT_EQ(json["cases"][0]["ok"], true);
  EXPECT_EQ(json["largest_deviation"], json["cases"][0]["deviation"]);
}

TEST(ReproduceNerscCommand, DifferencesAreShownAndHaveAnExitCodeOfTheirOwn) {
  const ScratchFolder folder;
  const std::string file =
      folder.Write("wrong.json", absl::StrReplaceAll(kTransfers, {{"1.000005", "2"}}));
  const RunResult run = RunMeshwright({"reproduce", "nersc", file});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, AllOf(HasSubstr("DIFFERS\n  [0] t: recorded 2, found 1.000005\n"),
                             HasSubstr("1 files, 1 differ, largest deviation 0.5\n")));
  EXPECT_EQ(run.err, "meshwright: 1 of 2 recorded figures were not reproduced\n");
  // Something where there is nothing: no relative deviation.
  const std::string infinite =
      folder.Write("infinite.json",
                   absl::StrReplaceAll(kTransfers, {{"\"t\": 0", "\"t\": 1"}, {"1.000005", "0"}}));
  const RunResult json = RunMeshwright({"reproduce", "nersc", infinite, "--json"});
  EXPECT_EQ(json.exit_code, 4);
  EXPECT_TRUE(nlohmann::json::parse(json.out)["largest_deviation"].is_null());
  EXPECT_EQ(nlohmann::json::parse(json.out)["cases"][0]["differences"].size(), 2u);
}

TEST(ReproduceNerscCommand, BadInput) {
  const ScratchFolder folder;
  const std::string good = folder.Write("good.json", kTransfers);
  EXPECT_EQ(RunMeshwright({"reproduce", "nersc", good}).exit_code, 0);
  const std::string bad = folder.Write(
      "bad.json", absl::StrReplaceAll(kTransfers, {{"\"n_gpus\": 2", "\"n_gpus\": 0"}}));
  const RunResult run = RunMeshwright({"reproduce", "nersc", good, bad});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, MatchesRegex("meshwright: .*bad.json: \\$\\[0\\].n_gpus: found 0, expected "
                                    "an integer from 1 to 1073741824\n"));
  EXPECT_EQ(RunMeshwright({"reproduce", "nersc", folder.Path("none.json")}).exit_code, 2);
  EXPECT_EQ(RunMeshwright({"reproduce", "nersc", folder.Path("")}).exit_code, 2);
  EXPECT_EQ(RunMeshwright({"reproduce", "nersc"}).exit_code, 2);
}

}  // namespace
}  // namespace meshwright
