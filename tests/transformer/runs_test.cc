#include "meshwright/transformer/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
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
  std::map<std::string, std::pair<double, int>> of_source;
  for (const RunPrediction& one : Predict(path, &table)) {
    if (!one.skipped.empty()) continue;
    sum += std::abs(one.error());
    ++rows;
    of_source[one.source].first += std::abs(one.error());
    ++of_source[one.source].second;
    if (one.memory_gib.has_value()) {
      EXPECT_LE(*one.predicted_gib / *one.memory_gib, 1.1) << one.line;
      EXPECT_GE(*one.predicted_gib / *one.memory_gib, 0.95) << one.line;
    }
  }
  EXPECT_GE(rows, 260);
  EXPECT_LE(sum / rows, 0.1);
  for (const auto& [source, errors] : of_source) {
    EXPECT_LE(errors.first / errors.second, 0.15) << source;
  }
}

// Recipes and containers of a source decide what its rows do not say.
TEST(PredictRuns, FollowsTheRecipesOfSources) {
  const std::string header =
      "source,model,gpu,n_gpus,tp,pp,vpp,cp,ep,mbs,seq,gbs,dtype,recompute,iteration_time_s\n";
  const auto run = [&](const std::string& row) {
    const CsvTable table = ParseCsv(header + row + "\n", "f").value();
    const std::vector<RunPrediction> runs =
        PredictRuns(table, "f", BuiltinCostParameters()).value();
    EXPECT_TRUE(runs[0].run.has_value()) << runs[0].skipped;
    return runs[0];
  };
  const std::string gpt3 = ",gpt3-175b,h100-80gb,512,4,8,12,1,1,1,2048,2048,";
  const RunPrediction first = run("MLPerf Training v3.0" + gpt3 + "fp8,,10");
  const RunPrediction second = run("MLPerf Training v3.1" + gpt3 + ",,10");
  const RunPrediction later = run("MLPerf Training v4.0" + gpt3 + "fp8,,10");
  EXPECT_EQ(first.run->framework, "megatron-23.04");
  EXPECT_EQ(second.run->framework, "megatron-23.09");
  EXPECT_EQ(later.run->framework, "megatron");
  EXPECT_EQ(later.run->state, (StateOptions{.gradient_bytes = 2}));
  EXPECT_EQ(second.run->configuration.precision, Precision::kFp8);
  // Slower attention alone.
  EXPECT_GT(first.predicted_seconds, second.predicted_seconds);
  EXPECT_GT(second.predicted_seconds, later.predicted_seconds);
  // What latent attention makes of its latents is made again where memory is short.
  const std::string deepseek =
      "Megatron-Bridge 26.04 NeMo Container,DeepSeekV3,gb300,256,1,2,8,1,32,";
  const RunPrediction small = run(deepseek + "1,4096,4096,mxfp8,,13");
  const RunPrediction large = run(deepseek + "2,4096,4096,mxfp8,,13");
  EXPECT_EQ(small.run->configuration.recompute, Recompute::kNone);
  EXPECT_EQ(large.run->configuration.recompute, Recompute::kModules);
  EXPECT_LE(*large.predicted_gib * (1 << 30),
            static_cast<double>(large.run->cluster.device.memory_bytes));
  const RunPrediction told = run(deepseek + "2,4096,4096,mxfp8,none,13");
  EXPECT_EQ(told.run->configuration.recompute, Recompute::kNone);
}

}  // namespace
}  // namespace meshwright::transformer
