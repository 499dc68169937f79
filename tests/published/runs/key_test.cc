#include "meshwright/published/runs/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meshwright/published/runs/runs.h"

namespace meshwright::transformer {
namespace {

using ::testing::HasSubstr;

std::string KeyOf(const std::string& text) {
  const CsvTable table = ParseCsv(text, "f").value();
  return RunKey(RowReader(table, table.rows[0], "f"));
}

TEST(RunKey, IsOfWhatWasRunOnly) {
  const std::string key = KeyOf("source,model,gpu,tp,dtype,seq\nx,gpt2,H100,8,bf16,4096\n");
  EXPECT_EQ(key.size(), 16u);
  EXPECT_EQ(KeyOf("tp,seq,model,dtype,gpu,source\n8,4096,gpt2,bf16,H100,x\n"), key);
  EXPECT_EQ(KeyOf("source,model,gpu,tp,dtype,seq,cp\nx, GPT2,h100,8.0,BF16,4096,\n"), key);
  EXPECT_EQ(KeyOf("source,mfu,model,gpu,tp,dtype,seq,notes\nx,40,gpt2,H100,8,bf16,4096,slow\n"),
            key);
  for (const char* const row :
       {"y,gpt2,H100,8,bf16,4096", "x,gpt3,H100,8,bf16,4096", "x,gpt2,H200,8,bf16,4096",
        "x,gpt2,H100,4,bf16,4096", "x,gpt2,H100,8,fp8,4096", "x,gpt2,H100,8,bf16,2048"}) {
    EXPECT_NE(KeyOf(std::string("source,model,gpu,tp,dtype,seq\n") + row + "\n"), key) << row;
  }
}

TEST(PredictRuns, RowsAreFittedWhereTheParametersNameThem) {
  const CsvTable table =
      ParseCsv(
          "source,model,gpu,n_gpus,tp,pp,seq,gbs,dtype,iteration_time_s\n"
          "x,llama3-8b,H100,8,2,1,4096,64,bf16,10\nx,llama3-8b,H100,8,4,1,4096,64,bf16,11\n",
          "f")
          .value();
  CostParameters parameters = BuiltinCostParameters();
  std::vector<RunPrediction> runs = PredictRuns(table, "f", parameters).value();
  EXPECT_FALSE(runs[0].fitted);
  EXPECT_FALSE(runs[1].fitted);
  parameters =
      ParseCostParameters("fitted_runs:\n  - '" + runs[1].key + "'\n", "parameters").value();
  runs = PredictRuns(table, "f", parameters).value();
  EXPECT_FALSE(runs[0].fitted);
  EXPECT_TRUE(runs[1].fitted);
}

TEST(ParseCostParameters, RefusesWhatIsNoKey) {
  const auto message = [](const std::string& text) {
    return std::string(ParseCostParameters(text, "p.yaml").status().message());
  };
  EXPECT_THAT(message("fitted_runs: [0123456789ABCDEF]\n"),
              HasSubstr("p.yaml:1:15: found \"0123456789ABCDEF\", expected the key of a run"));
  EXPECT_THAT(message("fitted_runs: 7\n"), HasSubstr("must be a list of keys"));
}

}  // namespace
}  // namespace meshwright::transformer
