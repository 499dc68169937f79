// Predicted against measured steps: two models under hand-written shardings on 4 H100s, and what
// XLA says of their memory. The programs carry the shardings.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/plan/make/plan_program.h"
#include "tests/testing/exhaustive.h"
#include "tests/testing/reference_texts.h"

namespace meshwright {
namespace {

struct Step {
  std::string config, strategy, mesh;
  double seconds = 0, bytes = 0;
};

std::vector<Step> ReadSteps(const std::string& text) {
  std::vector<Step> steps;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json row = nlohmann::json::parse(line);
    const int x = row["mesh_x"], y = row["mesh_y"];
    std::string mesh = x > 1 ? absl::StrCat("x=", x) : "";
    if (y > 1) absl::StrAppend(&mesh, mesh.empty() ? "" : ",", "y=", y);
    steps.push_back({row["config"], row["strategy"], mesh, row["step_s"], row["peak_bytes"]});
  }
  return steps;
}

absl::StatusOr<PlannedProgram> Estimate(const Step& step) {
  ProgramRequest request;
  request.program = absl::StrCat(MESHWRIGHT_TEST_DATA, "/measured/", step.config, ".",
                                 step.strategy, ".hlo.txt.gz");
  request.cluster = "4xh100-sxm";
  request.mesh = step.mesh;
  request.memory.kind = MemoryBudget::Kind::kUnlimited;
  request.completion = Completion::kPropagate;
  return PlanProgram(request);
}

std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

double Spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> ra = Ranks(a), rb = Ranks(b);
  double sum = 0;
  for (size_t i = 0; i < ra.size(); ++i) sum += (ra[i] - rb[i]) * (ra[i] - rb[i]);
  const auto n = static_cast<double>(ra.size());
  return 1 - 6 * sum / (n * (n * n - 1));
}

TEST(AccuracyTest, TimeAndMemoryOfMeasuredSteps) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  constexpr char kSteps[] = "measured/h100x4_steps.jsonl";
  for (const ReferenceText& reference : ReferenceTexts(kSteps, kSteps)) {
    const std::vector<Step> steps = ReadSteps(reference.text);
    ASSERT_FALSE(steps.empty()) << reference.path;
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> by_config;
    double sum = 0;
    for (const Step& step : steps) {
      SCOPED_TRACE(step.config + " " + step.strategy);
      const absl::StatusOr<PlannedProgram> planned = Estimate(step);
      ASSERT_TRUE(planned.ok()) << planned.status();
      const double error = planned->plan.step_seconds / step.seconds - 1;
      EXPECT_LT(std::abs(error), 0.30) << planned->plan.step_seconds << " s";
      sum += std::abs(error);
      const auto bytes = static_cast<double>(planned->plan.peak_bytes);
      EXPECT_LT(std::abs(bytes / step.bytes - 1), 0.10) << bytes << " bytes";
      by_config[step.config].first.push_back(step.seconds);
      by_config[step.config].second.push_back(planned->plan.step_seconds);
    }
    EXPECT_LT(sum / static_cast<double>(steps.size()), 0.12);
    for (const auto& [config, times] : by_config)
      EXPECT_GE(Spearman(times.first, times.second), 0.9) << config;
  }
}

}  // namespace
}  // namespace meshwright
