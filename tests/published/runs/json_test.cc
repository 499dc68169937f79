#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/published/runs/runs.h"

namespace meshwright::transformer {
namespace {

class RunsJsonTest : public testing::Test {
 protected:
  const std::string path_ = MESHWRIGHT_TEST_DATA "/transformer/runs.csv";
  const std::vector<RunPrediction> runs_ =
      PredictRuns(ParseCsv(*ReadFile(path_), path_).value(), path_, BuiltinCostParameters())
          .value();
};

TEST_F(RunsJsonTest, SaysWhatTheTablesSay) {
  const auto json = nlohmann::json::parse(RunsJson(runs_));
  EXPECT_EQ(json["reproduction"], "runs");
  ASSERT_EQ(json["cases"].size(), runs_.size());
  for (size_t i = 0; i < runs_.size(); ++i) {
    const auto& one = json["cases"][i];
    EXPECT_EQ(one["line"], runs_[i].line);
    if (!runs_[i].skipped.empty()) {
      EXPECT_EQ(one["skipped"], runs_[i].skipped);
      EXPECT_TRUE(one["predicted_seconds"].is_null());
      continue;
    }
    EXPECT_TRUE(one["skipped"].is_null());
    EXPECT_EQ(one["seconds"], runs_[i].seconds);
    EXPECT_EQ(one["predicted_seconds"], runs_[i].predicted_seconds);
    EXPECT_EQ(one["error"], runs_[i].error());
  }
  EXPECT_EQ(json["cases"][2]["memory_gib"], 40);
  const auto& all = json["errors"]["all"][0];
  EXPECT_EQ(all["rows"], 3);
  EXPECT_TRUE(all["fitted"].is_null());
  EXPECT_EQ(all["error"], all["other"]);
  EXPECT_EQ(json["errors"]["GPU"].size(), 2u);
}

TEST_F(RunsJsonTest, HasEveryRank) {
  const std::vector<RankedRun> ranks = RankRuns(runs_, BuiltinCostParameters(), 2);
  const auto json = nlohmann::json::parse(RanksJson(ranks));
  ASSERT_EQ(json["ranks"].size(), ranks.size());
  ASSERT_FALSE(ranks.empty());
  const auto& first = json["ranks"][0];
  EXPECT_EQ(first["plans"], ranks[0].rank.plans);
  EXPECT_EQ(first["faster_plans"], ranks[0].rank.faster);
  EXPECT_EQ(first["fastest"], ConfigurationText(*ranks[0].rank.best));
  EXPECT_EQ(first["fastest_seconds"], ranks[0].rank.best_time.seconds);
}

}  // namespace
}  // namespace meshwright::transformer
