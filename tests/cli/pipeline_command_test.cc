// Pipelines as users ask for them: plan --pipeline and simulate.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "meshwright/plan/plan_json.h"
#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PipelineCommand : public testing::Test {
 protected:
  RunResult Plan(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {
        "plan", MESHWRIGHT_TEST_DATA "/hlo/pipeline/tied_clip.train.hlo.txt.gz", "--cluster",
        "2xh100-sxm"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMeshwright(arguments);
  }

  void ExpectBad(const RunResult& run, int exit_code, const std::string& message) const {
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(folder_.Names(), IsEmpty());
  }

  const ScratchFolder folder_;
};

TEST_F(PipelineCommand, FromTheProgramToTheTrace) {
  const std::string plan = folder_.Path("plan.json"), stages = folder_.Path("stages"),
                    trace = folder_.Path("trace.json");
  const RunResult run =
      Plan({"--pipeline", "2", "--micro-batches", "2", "-o", plan, "--emit", stages});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 stages, 2 micro-batches, 1f1b"));
  const auto index = nlohmann::json::parse(ReadText(stages + "/stages.json"));
  EXPECT_EQ(index["stages"].size(), 2);
  EXPECT_THAT(ReadText(stages + "/stage0.forward.hlo.txt"), HasSubstr("HloModule"));
  const RunResult simulated = RunMeshwright({"simulate", plan, "--trace", trace});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("2 groups, 2 micro-batches, 1f1b"));
  EXPECT_FALSE(nlohmann::json::parse(ReadText(trace))["traceEvents"].empty());
  const absl::StatusOr<meshwright::Plan> read = ParsePlanJson(ReadText(plan), plan);
  ASSERT_TRUE(read.ok()) << read.status();
  const RunResult json = RunMeshwright({"simulate", plan, "--json"});
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(json.out)["seconds"], read->step_seconds);
}

TEST_F(PipelineCommand, BadValuesSayWhatWouldDo) {
  for (const char* option : {"--micro-batches", "--schedule", "--layers", "--data"})
    ExpectBad(Plan({option, "1"}), 2, std::string(option) + " is of pipelines");
  ExpectBad(Plan({"--pipeline", "0"}), 2, "--pipeline: found \"0\", expected auto or a number");
  ExpectBad(Plan({"--pipeline", "2", "--micro-batches", "-1"}), 2, "--micro-batches: found \"-1\"");
  ExpectBad(Plan({"--pipeline", "2", "--schedule", "f1b"}), 2, "--schedule: unknown schedule");
  ExpectBad(Plan({"--pipeline", "3"}), 2, "3 stages are more than the 2 devices");
  ExpectBad(Plan({"--pipeline", "auto", "--mesh", "3"}), 2, "a stage can have 1, 2 devices");
  ExpectBad(Plan({"--pipeline", "2", "--mesh", "2"}), 2,
            "2 devices make 1 stages of mesh 2, not 2");
  ExpectBad(Plan({"--pipeline", "auto", "--memory", "1KiB"}), 3, "nothing fits");
  ExpectBad(Plan({"--pipeline", "auto", "--emit", folder_.Path("none/stages")}), 2,
            "does not exist");
  ExpectBad(RunMeshwright({"simulate", folder_.Path("none.json")}), 2, "none.json");
}

}  // namespace
}  // namespace meshwright
