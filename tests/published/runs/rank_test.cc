#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_split.h"
#include "meshwright/base/file.h"
#include "meshwright/degrees/search.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/published/runs/runs.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::transformer {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

Run SmallRun() {
  Run run;
  run.model = *LoadModel("llama2-7b");
  run.cluster = *ParseCluster("2x8xa100-80g");
  run.workload = {.sequence = 4096, .global_batch = 32};
  return run;
}

// Every plan that fits, in the order of the search.
TEST(RankRun, CountsWhatTheSearchRanksBefore) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  auto run = SmallRun();
  const Space space(run.model, run.workload, 16, UsualFixes(), Precision::kBf16);
  const auto make_costs = [&] { return CalibratedCosts(run.model, run.workload, run.cluster); };
  const SearchResult all =
      Search(space, make_costs,
             {.top = space.Count(), .budget_bytes = run.cluster.device.memory_bytes, .threads = 1});
  ASSERT_GT(all.best.size(), 100);
  for (const size_t place : {size_t{0}, all.best.size() / 50, all.best.size() - 1}) {
    run.configuration = all.best[place].configuration;
    const RunRank rank = RankRun(run, BuiltinCostParameters());
    EXPECT_TRUE(rank.fits);
    EXPECT_EQ(rank.plans, std::ssize(all.best));
    EXPECT_EQ(rank.best_time.seconds, all.best[0].seconds);
    EXPECT_EQ(rank.seconds, all.best[place].seconds);
    int64_t faster = 0;
    std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> degrees, before;
    const auto degrees_of = [](const Configuration& c) {
      return std::tuple(c.tp, c.cp, c.pp, c.micro_batch);
    };
    bool own = false;  // whether its degrees have been met
    for (const RankedConfiguration& one : all.best) {
      faster += one.seconds < rank.seconds * (1 - 1e-9) ? 1 : 0;
      own = own || degrees_of(one.configuration) == degrees_of(run.configuration);
      degrees.insert(degrees_of(one.configuration));
      if (!own) before.insert(degrees_of(one.configuration));
    }
    EXPECT_EQ(rank.faster, faster) << place;
    EXPECT_EQ(rank.degrees, std::ssize(degrees)) << place;
    EXPECT_EQ(rank.faster_degrees, std::ssize(before)) << place;
  }
}

TEST(RankRun, SaysWhatDoesNotFit) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  auto run = SmallRun();
  run.configuration = {.dp = 16, .micro_batch = 2};  // 18 bytes a parameter are 121 GB
  const RunRank rank = RankRun(run, BuiltinCostParameters());
  EXPECT_FALSE(rank.fits);
  EXPECT_TRUE(rank.best.has_value());
  run.model = *LoadModel("llama3.1-405b");
  run.configuration = {.tp = 16, .sequence_parallel = true};
  EXPECT_FALSE(RankRun(run, BuiltinCostParameters()).best.has_value());
}

TEST(RanksReport, HasARowARunAndOneASource) {
  const std::string path = MESHWRIGHT_TEST_DATA "/transformer/runs.csv";
  const auto runs =
      PredictRuns(ParseCsv(*ReadFile(path), path).value(), path, BuiltinCostParameters()).value();
  const std::string report = RanksReport(RankRuns(runs, BuiltinCostParameters(), 2));
  EXPECT_EQ(report, RanksReport(RankRuns(runs, BuiltinCostParameters(), 1)));
  int ranked = 0;
  for (const absl::string_view line : absl::StrSplit(report, '\n')) EXPECT_LE(line.size(), 80u);
  EXPECT_THAT(report, ContainsRegex("\n  because  [a-z]+ [0-9.e-]+ -> [0-9.e-]+ s \\([-+]"));
  for (const RunPrediction& one : runs) {
    if (!one.run.has_value() || one.run->framework.framework->zero == 3) continue;
    ++ranked;
    EXPECT_THAT(report, HasSubstr(ConfigurationText(one.run->configuration)));
    EXPECT_THAT(report, HasSubstr("\n" + one.source + " "));
  }
  EXPECT_GT(ranked, 0);
}

}  // namespace
}  // namespace meshwright::transformer
