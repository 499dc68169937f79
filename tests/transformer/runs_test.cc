#include "meshwright/transformer/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "meshwright/base/file.h"

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

std::vector<RunPrediction> Predict(const std::string& path, CsvTable* table) {
  *table = ParseCsv(*ReadFile(path), path).value();
  return PredictRuns(*table, path, BuiltinCostParameters()).value();
}

TEST(PredictRuns, TakesCompleteRowsAndSaysWhyNotOthers) {
  CsvTable table;
  const auto runs = Predict(MESHWRIGHT_TEST_DATA "/transformer/runs.csv", &table);
  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[0].seconds, 8.0);
  // 128 sequences of 2048 tokens on 16 GPUs at 8000 tokens/s each.
  EXPECT_DOUBLE_EQ(runs[1].seconds, 128 * 2048 / (16 * 8000.0));
  EXPECT_EQ(runs[2].memory_gib, 40);
  for (int i = 0; i < 3; ++i) EXPECT_GT(runs[i].predicted_seconds, 0) << i;
  EXPECT_THAT(runs[3].skipped, HasSubstr("sizes not published"));
  EXPECT_EQ(runs[4].skipped, "GPU not known");
  EXPECT_EQ(runs[5].skipped, "global batch not published");
  const std::string report = RunsReport(runs);
  EXPECT_THAT(report, HasSubstr("not taken, 1 row: GPU not known; lines 6"));
  const absl::StatusOr<CsvTable> predicted = ParseCsv(PredictedCsv(table, runs), "out");
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  EXPECT_EQ(predicted->rows.size(), table.rows.size());
  EXPECT_EQ(predicted->header.size(), table.header.size() + 6);
}

TEST(PredictRuns, RefusesBadTables) {
  const auto message = [](std::string_view text) {
    const CsvTable table = ParseCsv(text, "f").value();
    return std::string(PredictRuns(table, "f", BuiltinCostParameters()).status().message());
  };
  EXPECT_EQ(message("source,model\n"), "f:1: no column \"gpu\"");
  EXPECT_EQ(message("source,model,gpu,n_gpus,seq,gbs\nx,secret,h100,8,2048,many\n"),
            "f:2: gbs is \"many\"; it must be a number or empty");
  EXPECT_EQ(message("source,model,gpu,n_gpus,seq,gbs\nx,gpt2,h100,8,2048,2.5\n"),
            "f:2: gbs is \"2.5\"; it must be a whole number or empty");
  EXPECT_EQ(message("source,model,gpu,n_gpus,seq,gbs\nx,gpt2,h100,0,2048,8\n"),
            "f:2: n_gpus is \"0\"; it must be a number above 0 or empty");
}

// What docs/accuracy-runs.md claims of the table beside the project.
TEST(PredictRuns, PublishedRunsWithinTheirBounds) {
  const std::string path = MESHWRIGHT_SHARED "/measured/public_runs.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  CsvTable table;
  double sum = 0;
  int rows = 0;
  for (const RunPrediction& one : Predict(path, &table)) {
    if (!one.skipped.empty()) continue;
    sum += std::abs(one.error());
    ++rows;
    if (one.memory_gib.has_value()) {
      EXPECT_NEAR(*one.predicted_gib / *one.memory_gib, 1, 0.1) << one.line;
    }
  }
  EXPECT_GE(rows, 260);
  EXPECT_LE(sum / rows, 0.12);
}

}  // namespace
}  // namespace meshwright::transformer
