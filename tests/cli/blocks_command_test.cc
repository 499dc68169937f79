#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_binary.h"
#include "tests/testing/data.h"

// `meshwright blocks` as users run it.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kGpt = HloData("tiny_gpt.train.hlo.txt.gz");

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

TEST(BlocksCommand, EmitsEveryKindUnderEveryStrategy) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "meshwright_emitted_blocks";
  std::filesystem::remove_all(folder);
  const RunResult run = RunMeshwright(
      {"blocks", kGpt, "--cluster", "2xh100-sxm", "--mesh", "2", "--emit", folder.string()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::ifstream file(folder / "index.json");
  const nlohmann::json index = nlohmann::json::parse(file);
  ASSERT_GT(index.size(), 10U);
  for (const nlohmann::json& row : index) {
    EXPECT_TRUE(std::filesystem::exists(folder / row["proto"].get<std::string>()));
    EXPECT_EQ(row["job"]["kind"], "program");
    EXPECT_EQ(row["job"]["mesh"][0][1], 2);
    // Nothing is partial where nothing is cut.
    EXPECT_TRUE(row["strategy"] != "replicated" || row["partial"].empty());
  }
  const RunResult again = RunMeshwright(
      {"blocks", kGpt, "--cluster", "2xh100-sxm", "--mesh", "2", "--emit", folder.string()});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("nothing is overwritten: name a new or empty folder"));
  std::filesystem::remove_all(folder);
}

// Of what another command takes to name the data nothing is said.
TEST(BlocksCommand, WarnsOfAProgramWithoutABatch) {
  const std::string path = std::string(testing::TempDir()) + "/meshwright_no_batch.hlo.txt";
  std::ofstream(path) << R"(HloModule t
ENTRY main {
  a = f32[1,64] parameter(0)
  w = f32[64,64] parameter(1)
  ROOT y = f32[1,64] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  const RunResult run = RunMeshwright({"blocks", path, "--cluster", "4xh100-sxm", "--mesh", "4"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("warning: gradients are not told from the forward phase: "));
  EXPECT_THAT(run.out, Not(HasSubstr("--data")));
  std::filesystem::remove(path);
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
  expect(RunMeshwright({"blocks", kGpt, "--cluster", "4xh100-sxm", "--mesh", "4", "--emit",
                        "/nowhere/folder"}),
         "/nowhere/folder");
}

}  // namespace
}  // namespace meshwright
