#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_binary.h"

// `meshwright blocks` as users run it.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kGpt = MESHWRIGHT_TEST_DATA "/hlo/tiny_gpt.train.hlo.txt.gz";

TEST(BlocksCommand, PrintsBlocksAndSegments) {
  const RunResult run = RunMeshwright({"blocks", kGpt, "--cluster", "4xh100-sxm", "--mesh", "4"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("blocks    9, with "));
  EXPECT_THAT(run.out, HasSubstr("\nsegments  "));
  EXPECT_THAT(run.out, HasSubstr("\nspace     10^"));
  ExpectFitsATerminal(run.out);
}

TEST(BlocksCommand, PrintsTheSameAsJson) {
  const RunResult run =
      RunMeshwright({"blocks", kGpt, "--cluster", "4xh100-sxm", "--mesh", "2x2", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["mesh"]["x"], 2);
  EXPECT_EQ(json["blocks"].size(), 9U);
  size_t blocks = 0;
  for (const nlohmann::json& segment : json["sequence"])
    blocks += json["distinct_segments"][segment.get<size_t>()]["kinds"].size();
  EXPECT_EQ(blocks, 9U);
  EXPECT_EQ(json["blocks"][0]["strategies"][0], "replicated");
  EXPECT_GT(json["space_before"], json["space_after"]);
  EXPECT_TRUE(json["warnings"].empty());
}

TEST(BlocksCommand, RefusesWhatItCannotRead) {
  const auto expect = [](const RunResult& run, const std::string& message) {
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr(message));
  };
  expect(RunMeshwright({"blocks", kGpt, "--cluster", "4xh100-sxm", "--mesh", "3"}), "mesh");
  expect(RunMeshwright({"blocks", "/nowhere", "--cluster", "4xh100-sxm", "--mesh", "4"}),
         "/nowhere");
  expect(RunMeshwright({"blocks", kGpt, "--mesh", "4"}), "--cluster");
}

}  // namespace
}  // namespace meshwright
