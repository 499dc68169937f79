// `meshwright plan` of models as users run it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "meshwright/plan/plan_json.h"
#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunResult PlanModelOf(const std::string& model, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"plan", model};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunMeshwright(arguments);
}

void ExpectRefused(const RunResult& run, int exit_code, const std::string& message) {
  EXPECT_EQ(run.exit_code, exit_code) << run.err;
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr(message));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(PlanModelCommand, WritesAPlanThatReadsBack) {
  const ScratchFolder folder;
  const std::string file = folder.Path("plan.json");
  const RunResult run = PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "32",
                                                  "--seq", "4096", "--top", "3", "-o", file});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("model     llama3-8b, 8.03e+09 parameters"));
  EXPECT_THAT(run.out, HasSubstr("next best"));
  const absl::StatusOr<Plan> plan = ParsePlanJson(ReadText(file), file);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(plan->transformer.has_value());
  EXPECT_EQ(plan->transformer->parameters, 8'030'261'248);
  EXPECT_EQ(plan->transformer->alternatives.size(), 2u);
  double sum = 0;
  PlanStepParts::VisitMembers(plan->transformer->seconds,
                              [&](const char*, double seconds) { sum += seconds; });
  EXPECT_NEAR(sum, plan->step_seconds, 1e-9 * sum);
  EXPECT_LE(plan->peak_bytes, *plan->budget_bytes);
  int64_t bytes = 0;
  for (const int64_t category : plan->memory_by_category) bytes += category;
  EXPECT_EQ(bytes, plan->peak_bytes);
}

TEST(PlanModelCommand, FixesHold) {
  const ScratchFolder folder;
  const std::string model =
      folder.Write("model.yaml", "model: {layers: 4, hidden: 64, heads: 4, ffn: 96, vocab: 100}");
  const RunResult run =
      PlanModelOf(model, {"--cluster", "8xh100-sxm", "--global-batch", "16", "--seq", "64", "--fix",
                          "tp=2,pp=2", "--fix", "recompute=full", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const absl::StatusOr<Plan> plan = ParsePlanJson(run.out, "plan");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->transformer->configuration.tp, 2);
  EXPECT_EQ(plan->transformer->configuration.pp, 2);
  EXPECT_EQ(plan->transformer->configuration.recompute, "full");
  EXPECT_EQ(plan->inputs.size(), 1u);
}

TEST(PlanModelCommand, FewestGpusFit) {
  const RunResult run = PlanModelOf("llama3-8b", {"--cluster", "2x8xh100-sxm", "--global-batch",
                                                  "16", "--objective", "gpus", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const absl::StatusOr<Plan> plan = ParsePlanJson(run.out, "plan");
  ASSERT_TRUE(plan.ok()) << plan.status();
  // 16 bytes a parameter are more than one GPU has.
  EXPECT_GT(plan->cluster.parts[0].devices_per_node, 1);
  EXPECT_LT(plan->cluster.parts[0].devices(), 16);
}

TEST(PlanModelCommand, SweepsNumbersOfGpus) {
  const ScratchFolder folder;
  const std::string csv = folder.Path("scaling.csv");
  const RunResult run = PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "64",
                                                  "--sweep", "gpus=8..32", "--weak", "--csv", csv});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("      32      256 "));
  const std::string text = ReadText(csv);
  EXPECT_THAT(text, HasSubstr("\n8,64,"));
  EXPECT_THAT(text, HasSubstr("\n16,128,"));
  EXPECT_THAT(text, HasSubstr("\n32,256,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(PlanModelCommand, SaysWhatIsWrong) {
  const std::vector<std::string> usual = {"--cluster", "8xh100-sxm", "--global-batch", "16"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), usual.begin(), usual.end());
    return more;
  };
  ExpectRefused(PlanModelOf("llama3-8b", with({"--fix", "tp=3"})), 2, "valid are 1, 2, 4, 8");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--fix", "pp=3"})), 2, "pp=3 is not possible");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--pipeline", "2"})), 2,
                "--pipeline is for programs");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--dtype", "f64"})), 2, "expected one of bf16");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--objective", "speed"})), 2,
                "time, gpus, memory or cost");
  ExpectRefused(PlanModelOf("lama3-8b", with({})), 2, "the nearest name is \"llama3-8b\"");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "8..16"})), 2,
                "expected gpus=FIRST..LAST");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "gpus=12..24"})), 2,
                "not whole nodes of 8");
  ExpectRefused(PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm"}), 2, "--global-batch is");
  ExpectRefused(
      PlanModelOf(MESHWRIGHT_TEST_DATA "/hlo/pipeline/tied_clip.train.hlo.txt.gz", with({})), 2,
      "--global-batch is for models");
}

TEST(PlanModelCommand, SaysWhatIsMissingWhereNothingFits) {
  const RunResult run = PlanModelOf(
      "llama3-70b", {"--cluster", "8xh100-sxm", "--global-batch", "8", "--seq", "1024"});
  ExpectRefused(run, 3, "does not fit into 80");
  EXPECT_THAT(run.err, HasSubstr("the least that any of"));
}

}  // namespace
}  // namespace meshwright
