// What is planned for a target is accepted by it: thousands of plans.

#include "meshwright/export/launch_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/export/megatron_checker.h"
#include "tests/export/sample_plans.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kTop = 60;
constexpr int64_t kExportedOf = 12;  // one of so many is written whole

// Returns how many plans there were.
int64_t JudgePlansFor(const std::string& target, const SampleRequest& request) {
  SCOPED_TRACE(
      absl::StrCat(target, " ", request.model, " ", request.cluster, " ", request.global_batch));
  const absl::StatusOr<Plan> plan = TrySamplePlanOf(request);
  if (!plan.ok()) {
    EXPECT_THAT(std::string(plan.status().message()),
                ::testing::AnyOf(HasSubstr("--for"), HasSubstr("does not fit")));
    return 0;
  }
  const ExportTarget& found = **FindExportTarget(target);
  const auto count = static_cast<int64_t>(plan->model->alternatives.size()) + 1;
  for (int64_t i = 0; i < count; ++i) {
    const absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(*plan, i);
    EXPECT_TRUE(launch.ok()) << launch.status();
    if (!launch.ok()) return i;
    Findings findings(/*wording=*/true);
    found.check_configuration(*launch, launch->configuration, findings);
    EXPECT_THAT(findings.sentences(), IsEmpty());
    if (i % kExportedOf != 0) continue;
    ExportOptions options = CompleteOptions();
    if (target == "deepspeed" || target == "slurm") options.script = "train.py";
    const absl::StatusOr<Artefacts> files = ExportTo(target, *plan, options, i);
    EXPECT_TRUE(files.ok()) << files.status();
    if (!files.ok() || target != "megatron") continue;
    EXPECT_THAT(BrokenMegatronRules(ContentsOf(*files, "launch.sh"),
                                    launch->nodes * launch->devices_per_node),
                IsEmpty());
  }
  return count;
}

TEST(LaunchFilterTest, WhatIsPlannedForATargetIsAccepted) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int64_t plans = 0;
  for (const ExportTarget& target : ExportTargets()) {
    if (target.write_model == nullptr) continue;
    int64_t of_target = 0;
    for (const char* const model : {"llama3-8b", "qwen3-30b-a3b"}) {
      for (const char* const cluster : {"8xh100-sxm", "2x8xh100-sxm", "4x8xh100-sxm"}) {
        for (const int64_t batch : {16, 96}) {
          of_target += JudgePlansFor(target.name, {.model = model,
                                                   .cluster = cluster,
                                                   .global_batch = batch,
                                                   .top = kTop,
                                                   .targets = target.name});
        }
      }
    }
    EXPECT_GT(of_target, 0) << target.name;
    plans += of_target;
  }
  EXPECT_GT(plans, 2000);
}

// Without the filter some targets refuse the best plan: the filter does something.
TEST(LaunchFilterTest, TheBestOfAllIsNotForAll) {
  const Plan free = SamplePlanOf({.fixes = "tp=4,sp=on,pp=2"});
  int refused = 0;
  for (const ExportTarget& target : ExportTargets()) {
    if (target.write_model == nullptr) continue;
    ExportOptions options = CompleteOptions();
    options.script = "train.py";
    if (ExportTo(target.name, free, options).ok()) continue;
    ++refused;
    const Plan kept = SamplePlanOf({.targets = target.name});
    EXPECT_TRUE(ExportTo(target.name, kept, options).ok()) << target.name;
  }
  EXPECT_GT(refused, 0);
}

TEST(LaunchFilterTest, AnyTargetWillDo) {
  const ModelLaunch launch = *ReadModelLaunch(SamplePlanOf({.fixes = "tp=4,sp=on,pp=2"}), 0);
  const auto takes = AnyLaunchFilter(TargetsOfFrameworks(launch), launch);
  transformer::Configuration c = launch.configuration;
  EXPECT_TRUE(takes(c));
  c.ends_as_layers = true;  // of no target
  EXPECT_FALSE(takes(c));
  c = launch.configuration;
  c.recompute = transformer::Recompute::kFull;
  c.recompute_layers = 2;  // of Megatron-LM's, not of all
  EXPECT_TRUE(takes(c));
  EXPECT_FALSE((*LaunchFilter(*ParseLaunchTargets("slurm"), launch))(c));
}

TEST(LaunchFilterTest, Errors) {
  const auto error = [](const char* list) {
    return std::string(ParseLaunchTargets(list).status().message());
  };
  EXPECT_EQ(error("megatron,nemo"), "");
  EXPECT_THAT(error("megatrom"), HasSubstr("--for: found \"megatrom\", did you mean \"megatron\""));
  EXPECT_THAT(error("megatron,megatron"), HasSubstr("megatron is there twice"));
  EXPECT_THAT(error("jax"), HasSubstr("launches plans of programs"));
  EXPECT_THAT(error(""), HasSubstr("--for: found \"\""));
  const absl::StatusOr<Plan> plan =
      TrySamplePlanOf({.model = "t5-large", .sequence = 512, .targets = "megatron"});
  EXPECT_THAT(std::string(plan.status().message()),
              HasSubstr("--for megatron cannot express t5-large in any configuration"));
  const absl::StatusOr<Plan> fixed =
      TrySamplePlanOf({.fixes = "zero=3,pp=2", .targets = "megatron"});
  EXPECT_THAT(std::string(fixed.status().message()),
              HasSubstr("--for megatron: no configuration of llama3-8b on 16 GPUs"));
}

}  // namespace
}  // namespace meshwright
