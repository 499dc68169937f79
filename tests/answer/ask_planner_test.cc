#include "meshwright/answer/ask_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/export/target.h"
#include "meshwright/request/asked_of_plan.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

const std::string kProgram = HloData("tiny_gpt.train.hlo.pb.gz");

// What is answered to options in JSON over the defaults of `plan`.
absl::StatusOr<PlanAnswer> AskedIn(const std::string& subject, const std::string& json,
                                   PlanningHooks hooks = {}) {
  AskedOptions asked;
  absl::StatusOr<GivenOptions> given = ReadOptions(json, PlanOptionRows(asked));
  if (!given.ok()) return given.status();
  asked.given = *std::move(given);
  absl::StatusOr<PlanningRequest> request = MakeRequest({.name = subject}, asked);
  if (!request.ok()) return request.status();
  return AskPlanner(*std::move(request), std::move(hooks));
}

TEST(AskPlanner, DispatchesASweep) {
  const absl::StatusOr<PlanAnswer> answer =
      AskedIn("llama3-8b", R"({"cluster": "8xh100-sxm", "global-batch": 8, "sweep": "gpus=4..8"})");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->csv(), HasSubstr("gpus,global_batch"));
  EXPECT_TRUE(answer->plan.has_value());
}

TEST(AskPlanner, HoldsToWhatFrameworksLaunch) {
  const auto message = [](const std::string& options) {
    return std::string(
        AskedIn("llama3-8b", R"({"cluster": "8xh100-sxm", "global-batch": 8, )" + options + "}")
            .status()
            .message());
  };
  EXPECT_THAT(message(R"("for": "megatrom")"), HasSubstr("megatrom"));
  EXPECT_THAT(message(R"("for": "torchtitan", "grads": "bf16")"),
              HasSubstr("no plan is for --for torchtitan"));
  EXPECT_THAT(message(R"("for": "torchtitan", "steps": 9)"),
              HasSubstr("torchtitan has no launch over groups of nodes"));
}

TEST(AskPlanner, PlansForAFrameworkUnlessToldOtherwise) {
  const auto answer = [](const std::string& more) {
    return AskedIn("llama3-70b", R"({"cluster": "8x8xh100-sxm", "global-batch": 256)" + more + "}");
  };
  const absl::StatusOr<PlanAnswer> usual = answer("");
  const absl::StatusOr<PlanAnswer> any = answer(R"(, "for": "any")");
  const absl::StatusOr<PlanAnswer> all = answer(R"(, "for": "none")");
  ASSERT_TRUE(usual.ok() && any.ok() && all.ok());
  EXPECT_THAT(TargetsThatLaunch(*usual->plan), testing::Contains("megatron"));
  // The plan says so itself.
  const PlanLaunch& launch = usual->plan->model->launch;
  EXPECT_EQ(launch.asked, "");
  EXPECT_EQ(launch.targets, TargetsThatLaunch(*usual->plan));
  EXPECT_EQ(launch.command, "meshwright export plan.json --to megatron -o launch");
  EXPECT_EQ(any->plan->model->launch.asked, "any");
  EXPECT_EQ(all->plan->model->launch, (PlanLaunch{.asked = "none"}));
  EXPECT_EQ(usual->plan->model->configuration, any->plan->model->configuration);
  EXPECT_LT(all->plan->step_seconds, usual->plan->step_seconds);
  EXPECT_THAT(TargetsThatLaunch(*all->plan), testing::IsEmpty());
  EXPECT_THAT(usual->table(), HasSubstr("beyond    another 2 % with tp=1 "));
  for (const auto* const named : {&any, &all})
    EXPECT_THAT((*named)->table(), testing::Not(HasSubstr("beyond")));
  // What no framework is launched with, but fixed, is planned, and said.
  const absl::StatusOr<PlanAnswer> fixed = answer(R"(, "fix": ["recompute=modules"])");
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  EXPECT_THAT(fixed->plan->warnings, testing::Contains(HasSubstr("what --for none plans")));
  EXPECT_THAT(
      std::string(answer(R"(, "for": "any", "fix": ["recompute=modules"])").status().message()),
      HasSubstr("--for any: no configuration of llama3-70b"));
}

// A model that Megatron-LM does not take is planned for, and costed as, a framework that does.
TEST(AskPlanner, CostsAsTheFrameworkThatTakesTheModel) {
  const auto planned = [](const std::string& more) {
    return AskedIn("gemma2-9b", R"({"cluster": "8xh100-sxm", "global-batch": 64)" + more + "}");
  };
  const absl::StatusOr<PlanAnswer> usual = planned("");
  ASSERT_TRUE(usual.ok()) << usual.status();
  const std::vector<std::string> targets = TargetsThatLaunch(*usual->plan);
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(usual->plan->model->framework, targets.front());
  const absl::StatusOr<PlanAnswer> named = planned(R"(, "for": ")" + targets.front() + "\"");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(usual->plan->step_seconds, named->plan->step_seconds);
  // Of models that are no causal language models export writes no program.
  const absl::StatusOr<PlanAnswer> t5 =
      AskedIn("t5-large", R"({"cluster": "8xh100-sxm", "global-batch": 64, "seq": 512})");
  ASSERT_TRUE(t5.ok()) << t5.status();
  const std::string first = TargetsThatLaunch(*t5->plan).front();
  EXPECT_EQ(t5->plan->model->framework, first);
  EXPECT_TRUE(RunsOwnProgram(*t5->plan, **FindExportTarget(first)));
  EXPECT_THAT(t5->plan->model->launch.command,
              HasSubstr(StrCat("--to ", first, " --script YOUR_PROGRAM.py -o launch")));
  EXPECT_FALSE(RunsOwnProgram(*usual->plan, **FindExportTarget(targets.front())));
}

// Whoever stops a search is asked no more once there is an answer.
TEST(AskPlanner, TablesOutliveWhoStopsTheSearch) {
  int times = 0;
  const absl::StatusOr<PlanAnswer> answer =
      AskedIn("llama3-70b", R"({"cluster": "8x8xh100-sxm", "global-batch": 256})",
              {.stop = [&times] { return ++times < 0; }});
  ASSERT_TRUE(answer.ok()) << answer.status();
  const int before = times;
  EXPECT_GT(before, 0);
  EXPECT_THAT(answer->table(), HasSubstr("beyond    another"));
  EXPECT_EQ(times, before);
}

// What is named goes first, whatever framework the step is costed by.
TEST(AskPlanner, SaysWhatLaunchesThePlan) {
  const absl::StatusOr<PlanAnswer> slurm =
      AskedIn("gpt2", R"({"cluster": "8xh100-sxm", "global-batch": 8, "for": "slurm"})");
  ASSERT_TRUE(slurm.ok()) << slurm.status();
  EXPECT_EQ(slurm->plan->model->framework, "megatron");
  EXPECT_EQ(slurm->plan->model->launch.targets.front(), "slurm");
  // Over groups of nodes: that of one framework at least, or the reason why none takes the model.
  const auto groups = [](const std::string& model) {
    return AskedIn(model, R"({"cluster": "8xh100-sxm+8xa100-80g", "global-batch": 16,
                              "seq": 1024, "for": "any"})");
  };
  const absl::StatusOr<PlanAnswer> any = groups("gpt2");
  ASSERT_TRUE(any.ok()) << any.status();
  EXPECT_EQ(any->plan->model->launch.targets, TargetsThatLaunch(*any->plan));
  EXPECT_EQ(any->plan->model->launch.targets.front(), "megatron");
  EXPECT_THAT(std::string(groups("gemma2-9b").status().message()),
              testing::AllOf(HasSubstr("--for any: no framework launches this over groups"),
                             HasSubstr("norms before attention and MLP")));
}

// A plan that is planned again from what it says of itself is asked the same, and gives the same.
TEST(AskPlanner, APlanKnowsWhatItWasAsked) {
  struct Case {
    std::string subject, options, words;
  };
  for (const Case& c : std::vector<Case>{
           {kProgram, R"({"cluster": "4xh100-sxm", "mesh": "x=2,y=2", "seed": 7, "memory": "1GiB",
                          "fix": ["output[0]=replicated"]})",
            "--fix output[0]=replicated --seed 7 --mesh x=2,y=2 --memory 1073741824"},
           {kProgram, R"({"cluster": "4xh100-sxm", "pipeline": 2, "micro-batches": 2,
                          "schedule": "gpipe", "no-recompute": true})",
            "--pipeline 2 --micro-batches 2 --schedule gpipe --no-recompute"},
           {"gpt2", R"({"cluster": "8xh100-sxm", "global-batch": 16, "dtype": "fp16",
                        "fix": ["tp=2"], "moments": "bf16", "memory": "20GiB"})",
            "--fix tp=2 --memory 21474836480 --global-batch 16 --seq 1024 --dtype fp16 "
            "--moments bf16"},
           {"gpt2", R"({"cluster": "2x8xh100-sxm", "global-batch": 16, "framework": "nemo",
                        "release": "25.09", "loss": "f32", "network": "100Gbit/s"})",
            "--global-batch 16 --seq 1024 --framework nemo --release 25.09 --loss f32 "
            "--network 100Gbit/s"},
           {"gpt2", R"({"cluster": "8xh100-sxm+8xa100-80g", "global-batch": 16, "steps": 1000,
                        "max-time": "30d"})",
            "--global-batch 16 --seq 1024 --max-time 2592000s --steps 1000"}}) {
    SCOPED_TRACE(c.options);
    const absl::StatusOr<PlanAnswer> answer = AskedIn(c.subject, c.options);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const Plan& plan = *answer->plan;
    AskedOptions asked = AskedOf(plan);
    AskedOptions usual;
    usual.cluster = asked.cluster;
    usual.cost_model = asked.cost_model;
    usual.deadline = asked.deadline;
    std::vector<std::string> words;
    for (const std::vector<std::string>& word :
         OptionWords(PlanOptionRows(asked), PlanOptionRows(usual))) {
      words.push_back(absl::StrJoin(word, " "));
    }
    EXPECT_EQ(absl::StrJoin(words, " "), c.words);
    absl::StatusOr<PlanningRequest> request = RequestOf(plan, asked);
    ASSERT_TRUE(request.ok()) << request.status();
    const absl::StatusOr<PlanAnswer> again = AskPlanner(*std::move(request), {});
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->plan->step_seconds, plan.step_seconds);
    EXPECT_EQ(again->plan->peak_bytes, plan.peak_bytes);
    EXPECT_EQ(again->plan->options.memory, plan.options.memory);
  }
}

}  // namespace
}  // namespace meshwright
