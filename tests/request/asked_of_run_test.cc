#include "meshwright/request/asked_of_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "meshwright/base/file.h"
#include "meshwright/request/model_request.h"

namespace meshwright {
namespace {

using transformer::RunPrediction;

std::vector<RunPrediction> Predicted(const std::string& path) {
  return transformer::PredictRuns(*ParseCsv(*ReadFile(path), path), path,
                                  transformer::BuiltinCostParameters())
      .value();
}

absl::StatusOr<Plan> PlanAsked(const AskedRun& run) {
  Subject subject{run.model == "-" ? "standard input" : run.model};
  if (!run.description.empty()) subject.contents = run.description;
  absl::StatusOr<ModelRequest> request = ToModelRequest(subject, run.asked);
  if (!request.ok()) return request.status();
  return PlanModel(*request);
}

// Every digit: what is validated is what plans.
void ExpectSamePlans(const std::string& path, int least) {
  int taken = 0;
  for (const RunPrediction& one : Predicted(path)) {
    if (!one.run.has_value()) continue;
    ++taken;
    const absl::StatusOr<Plan> plan = PlanAsked(AskedOfRun(*one.run));
    EXPECT_TRUE(plan.ok()) << path << ":" << one.line << ": " << plan.status();
    if (!plan.ok()) continue;
    EXPECT_EQ(plan->step_seconds, one.predicted_seconds) << path << ":" << one.line;
    EXPECT_EQ(static_cast<double>(plan->peak_bytes) / (1 << 30), *one.predicted_gib)
        << path << ":" << one.line;
  }
  EXPECT_GE(taken, least);
}

TEST(AskedOfRun, PlansWhatIsReproduced) {
  ExpectSamePlans(MESHWRIGHT_TEST_DATA "/transformer/runs.csv", 3);
}

TEST(AskedOfRun, PlansEveryPublishedRun) {
  for (const auto& [name, least] : {std::pair{"public_runs.csv", 300}, {"public_runs_2.csv", 51}}) {
    const std::string path = std::string(MESHWRIGHT_SHARED "/measured/") + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
    ExpectSamePlans(path, least);
  }
}

}  // namespace
}  // namespace meshwright
