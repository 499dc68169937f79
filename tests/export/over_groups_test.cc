// Launches of plans over groups of nodes: ranks, hosts and heterogeneous jobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/export/target.h"
#include "meshwright/model/builtin_models.h"
#include "meshwright/model/model_reader.h"
#include "meshwright/plan/document/plan_json.h"
#include "meshwright/plan/make/build_groups_plan.h"
#include "tests/export/megatron_checker.h"
#include "tests/export/sample_plans.h"
#include "tests/export/shell.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct GroupRequest {
  std::string cluster;
  int64_t global_batch = 64;
  std::vector<std::string> fixes = {};
  std::string targets = "";  // as --for
};

constexpr char kTwoKinds[] =
    "groups:\n"
    "  - {name: fast, device: h100-sxm, nodes: 2}\n"
    "  - {name: slow, device: a100-80g, nodes: 2}\n"
    "between_groups: {bandwidth: 25GB/s, latency: 10us}\n";

absl::StatusOr<Plan> GroupPlanOf(const GroupRequest& wanted) {
  const transformer::BuiltinModel& builtin = *transformer::FindBuiltinModel("llama3-8b");
  GroupsRequest request;
  request.description = builtin.config;
  request.problem.model = *transformer::ReadHuggingFaceConfig(builtin.config, builtin.name);
  request.problem.workload = {.sequence = 4096, .global_batch = wanted.global_batch};
  request.problem.cluster = *ParseMixedClusterYaml(wanted.cluster, "cluster.yaml");
  request.problem.fixes = *transformer::ParseFixes(wanted.fixes);
  request.options.proof_effort = 100'000;
  if (!wanted.targets.empty()) {
    ModelLaunch launch;
    launch.model = request.problem.model;
    launch.SetDescription(request.description);
    launch.workload = request.problem.workload;
    request.problem.alike = true;
    request.problem.takes = *LaunchFilter(*ParseLaunchTargets(wanted.targets), launch);
  }
  const absl::StatusOr<GroupsAnswer> answer = PlanGroups(request);
  if (!answer.ok()) return answer.status();
  return ParsePlanJson(PlanToJson(BuildGroupsPlan(request, *answer)), "plan.json");
}

// Whatever --for megatron finds is accepted, and its arguments obey Megatron's rules.
TEST(LaunchOverGroups, MegatronRunsWhatIsPlannedForIt) {
  int exported = 0;
  for (const int64_t fast : {1, 2, 3}) {
    for (const int64_t slow : {1, 2}) {
      for (const int64_t batch : {48, 128}) {
        const std::string cluster =
            absl::StrCat("groups:\n  - {name: fast, device: h100-sxm, nodes: ", fast,
                         "}\n  - {name: slow, device: a100-40g, nodes: ", slow,
                         "}\nbetween_groups: {bandwidth: 25GB/s, latency: 10us}\n");
        for (const char* const fixes : {"recompute=full", "pp=3", "tp=8"}) {
          SCOPED_TRACE(absl::StrCat(cluster, batch, " ", fixes));
          const absl::StatusOr<Plan> plan = GroupPlanOf({cluster, batch, {fixes}, "megatron,nemo"});
          if (!plan.ok()) {
            EXPECT_THAT(std::string(plan.status().message()),
                        testing::AnyOf(HasSubstr("no degrees"), HasSubstr(" is not possible")));
            continue;
          }
          ++exported;
          ExportOptions options = CompleteOptions();
          for (const PlanClusterPart& part : plan->cluster.parts) {
            for (int64_t i = 0; i < part.nodes; ++i) {
              options.nodes.push_back(absl::StrCat(part.device, i));
            }
          }
          const absl::StatusOr<Artefacts> files = ExportTo("megatron", *plan, options);
          ASSERT_TRUE(files.ok()) << files.status();
          const std::string script = ContentsOf(*files, "launch.sh");
          int64_t gpus = 0;
          for (const PlanClusterPart& part : plan->cluster.parts) gpus += part.devices();
          EXPECT_THAT(BrokenMegatronRules(script, gpus), IsEmpty());
          EXPECT_TRUE(ExportTo("nemo", *plan, options).ok());
          // The layout's layers are the stages'.
          const MegatronArguments arguments = ReadMegatronArguments(script);
          const auto layout = arguments.find("--pipeline-model-parallel-layout");
          if (layout == arguments.end()) continue;
          const std::vector<std::string> stages = absl::StrSplit(layout->second[0], '|');
          ASSERT_EQ(stages.size(), plan->pipeline->stages.size());
        }
      }
    }
  }
  EXPECT_GE(exported, 20);
}

TEST(LaunchOverGroups, ScriptsRunWithRanksAlongThePipeline) {
  const absl::StatusOr<Plan> plan = GroupPlanOf({kTwoKinds, 64, {"tp=8,dp=1,pp=4"}, "megatron"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ExportOptions options = CompleteOptions();
  options.partition = "fast=gpu-a,slow=gpu-b";
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", *plan, options);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string job = ContentsOf(*files, "job.sbatch");
  EXPECT_THAT(job, HasSubstr("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"));
  EXPECT_THAT(job, HasSubstr("#SBATCH --partition=gpu-a\n#SBATCH hetjob\n"));
  EXPECT_THAT(job, HasSubstr("#SBATCH --partition=gpu-b\n"));
  EXPECT_THAT(job, HasSubstr("--het-group=0,1"));
  const LaunchFolder folder(*files);
  std::string output;
  EXPECT_EQ(folder.Run("shellcheck --shell=bash launch.sh job.sbatch", &output), 0) << output;
  // A Slurm of the test's own gives each component its nodes.
  EXPECT_EQ(folder.Run("scontrol() { printf '%s-1\\n%s-2\\n' \"$3\" \"$3\"; }; export -f scontrol; "
                       "srun() { :; }; export -f srun; "
                       "SLURM_SUBMIT_DIR=. SLURM_JOB_ID=7 SLURM_JOB_NODELIST_HET_GROUP_0=f "
                       "SLURM_JOB_NODELIST_HET_GROUP_1=s bash job.sbatch",
                       &output),
            0)
      << output;
  std::vector<std::string> hosts;
  std::vector<int64_t> next(2, 1);
  for (const int64_t group : plan->groups->stage_groups) {
    hosts.push_back(absl::StrCat(group == 0 ? "f-" : "s-", next[group]++));
  }
  std::string expected;
  for (const std::string& host : hosts) absl::StrAppend(&expected, host, "\n");
  EXPECT_EQ(folder.Read("hostfile.7"), expected);
}

TEST(LaunchOverGroups, SlurmTellsEveryStagesDegrees) {
  const absl::StatusOr<Plan> plan = GroupPlanOf({kTwoKinds, 64, {"pp=3"}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ExportOptions options = CompleteOptions();
  options.script = "train.py";
  options.partition = "slow=b,fast=a";
  const absl::StatusOr<Artefacts> files = ExportTo("slurm", *plan, options);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto stages = nlohmann::json::parse(ContentsOf(*files, "stages.json"))["stages"];
  ASSERT_EQ(stages.size(), 3u);
  std::vector<int64_t> ranks;
  for (const auto& stage : stages) {
    EXPECT_EQ(
        stage["dp"].get<int64_t>() * stage["micro_batch"].get<int64_t>() * plan->micro_batches, 64);
    EXPECT_EQ(stage["ranks"].size(), stage["tp"].get<size_t>() * stage["dp"].get<size_t>());
    for (const auto& rank : stage["ranks"]) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  for (size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(ranks[i], static_cast<int64_t>(i));
  EXPECT_THAT(ContentsOf(*files, "launch.sh"), HasSubstr("MESHWRIGHT_STAGES=stages.json"));
}

TEST(LaunchOverGroups, StagesOfAGroupHaveTheirOwnDegrees) {
  const absl::StatusOr<Plan> plan =
      GroupPlanOf({"groups:\n  - {name: many, device: a100-40g, nodes: 3}\n"
                   "  - {name: one, device: h100-sxm, nodes: 1}\n"
                   "between_groups: {bandwidth: 10GB/s, latency: 20us}\n"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::vector<PlanNodeGroup>& groups = plan->groups->groups;
  EXPECT_TRUE(std::any_of(groups.begin(), groups.end(), [](const PlanNodeGroup& group) {
    return group.stages > 1 && group.tp == 0;
  }));
  ExportOptions options = CompleteOptions();
  options.script = "train.py";
  options.partition = "many=a,one=b";
  const absl::StatusOr<Artefacts> files = ExportTo("slurm", *plan, options);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto stages = nlohmann::json::parse(ContentsOf(*files, "stages.json"))["stages"];
  ASSERT_EQ(stages.size(), plan->pipeline->stages.size());
  std::set<int64_t> ranks;
  for (const auto& stage : stages) {
    EXPECT_EQ(
        stage["dp"].get<int64_t>() * stage["micro_batch"].get<int64_t>() * plan->micro_batches, 64);
    EXPECT_EQ(stage["ranks"].size(), stage["tp"].get<size_t>() * stage["dp"].get<size_t>());
    for (const auto& rank : stage["ranks"]) EXPECT_TRUE(ranks.insert(rank.get<int64_t>()).second);
  }
  EXPECT_EQ(static_cast<int64_t>(ranks.size()), *ranks.rbegin() + 1);
  EXPECT_THAT(std::string(ExportTo("megatron", *plan, CompleteOptions()).status().message()),
              HasSubstr("all ranks share tp, dp and the micro-batch"));
  // A stage's degrees are checked.
  Plan other = *plan;
  other.pipeline->stages[0].mesh[0].size *= 7;
  EXPECT_FALSE(ParsePlanJson(PlanToJson(other), "plan.json").ok());
}

TEST(LaunchOverGroups, Errors) {
  absl::StatusOr<Plan> plan = GroupPlanOf({kTwoKinds, 64, {"tp=8,dp=1,pp=4"}, "megatron"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto error = [&](const std::string& target, const std::string& partition) {
    ExportOptions options = CompleteOptions();
    options.partition = partition;
    return std::string(ExportTo(target, *plan, options).status().message());
  };
  EXPECT_THAT(error("megatron", ""), HasSubstr("give --partition fast=...,slow=..., or the nodes"));
  EXPECT_THAT(error("megatron", "fast=a"), HasSubstr("expected one for each of fast=...,slow=..."));
  EXPECT_THAT(error("megatron", "fast=a,fast=b"), HasSubstr("found \"fast=b\""));
  EXPECT_THAT(error("megatron", "fast=a,other=b"), HasSubstr("found \"other=b\""));
  EXPECT_THAT(error("megatron", "fast=a,slow=b c"), HasSubstr("--partition"));
  EXPECT_THAT(error("torchtitan", "fast=a,slow=b"),
              HasSubstr("targets that take plans over groups of nodes are megatron, nemo, slurm"));
  // Degrees of their own.
  PlanNodeGroup& slow = plan->groups->groups[1];
  slow.tp = 4;
  slow.dp = 2;
  for (PlanStage& stage : plan->pipeline->stages) {
    if (stage.device == slow.device) stage.mesh = {{"dp", 2}, {"tp", 4}};
  }
  EXPECT_THAT(error("megatron", "fast=a,slow=b"),
              AllOf(HasSubstr("here groups of nodes have their own"), HasSubstr("--for megatron")));
  EXPECT_EQ(error("slurm", "fast=a,slow=b"), "");
}

TEST(LaunchOverGroups, StagesHaveTheLayersOfTheModel) {
  const absl::StatusOr<Plan> plan = GroupPlanOf({kTwoKinds, 64, {"tp=8,dp=1,pp=4"}, "megatron"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ExportOptions options = CompleteOptions();
  options.partition = "fast=a,slow=b";
  for (const int64_t end_layer : {31, 33, 144}) {
    Plan other = *plan;
    other.pipeline->stages.back().end_layer = end_layer;
    const absl::StatusOr<Plan> read = ParsePlanJson(PlanToJson(other), "plan.json");
    ASSERT_TRUE(read.ok()) << read.status();
    for (const char* const target : {"megatron", "nemo", "slurm"}) {
      EXPECT_EQ(ExportTo(target, *read, options).status().message(),
                absl::StrCat("$.stages[3].end_layer: found ", end_layer,
                             ", expected the 32 layers of llama3-8b"));
    }
  }
}

}  // namespace
}  // namespace meshwright
