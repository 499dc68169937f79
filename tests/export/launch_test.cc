// What every target writes: scripts that shells take and run as meant, configurations that parse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "meshwright/export/target.h"
#include "tests/export/sample_plans.h"
#include "tests/export/shell.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A plan that the target takes, on two nodes.
Plan PlanFor(const std::string& target) {
  if (target == "deepspeed") return SamplePlanOf({.fixes = "tp=1,cp=1,pp=1,zero=2,recompute=full"});
  if (target == "accelerate")
    return SamplePlanOf({.fixes = "tp=1,cp=1,pp=1,zero=3,recompute=none"});
  if (target == "torchtitan") {
    return SamplePlanOf({.fixes = "tp=4,sp=on,cp=1,pp=2,dp=2,zero=3,schedule=1f1b,mbs=1"});
  }
  return SamplePlanOf({.fixes = "tp=4,sp=on,cp=1,pp=2,dp=2,zero=1,schedule=1f1b,mbs=1"});
}

std::vector<std::string> ModelTargets() {
  std::vector<std::string> names;
  for (const ExportTarget& target : ExportTargets()) {
    if (target.write_model != nullptr) names.emplace_back(target.name);
  }
  return names;
}

ExportOptions OptionsFor(const std::string& target) {
  ExportOptions options = CompleteOptions();
  if (target == "slurm") options.script = "train.py";
  options.nodes = {"node-b", "node-a"};
  return options;
}

class EveryTarget : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget, testing::ValuesIn(ModelTargets()),
                         [](const auto& info) { return info.param; });

TEST_P(EveryTarget, ScriptsPassShellcheck) {
  for (const bool given : {false, true}) {
    const ExportOptions options = given ? OptionsFor(GetParam()) : ExportOptions();
    const absl::StatusOr<Artefacts> files = ExportTo(GetParam(), PlanFor(GetParam()), options);
    ASSERT_TRUE(files.ok()) << files.status();
    const LaunchFolder folder(*files);
    std::string output;
    EXPECT_EQ(folder.Run("for script in launch.sh job.sbatch; do bash -n $script || exit 1; done",
                         &output),
              0)
        << output;
    EXPECT_EQ(folder.Run("shellcheck --shell=bash launch.sh job.sbatch", &output), 0) << output;
  }
}

TEST_P(EveryTarget, PythonTomlJsonAndYamlParse) {
  const absl::StatusOr<Artefacts> files =
      ExportTo(GetParam(), PlanFor(GetParam()), OptionsFor(GetParam()));
  ASSERT_TRUE(files.ok()) << files.status();
  const LaunchFolder folder(*files);
  for (const Artefact& file : *files) {
    std::string output;
    if (file.name.ends_with(".py")) {
      const std::string check =
          "python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' ";
      EXPECT_EQ(folder.Run(check + file.name, &output), 0) << output;
    } else if (file.name.ends_with(".toml")) {
      const std::string check =
          "python3 -c 'import sys, tomllib; tomllib.load(open(sys.argv[1], \"rb\"))' ";
      EXPECT_EQ(folder.Run(check + file.name, &output), 0) << output;
    } else if (file.name.ends_with(".json")) {
      EXPECT_TRUE(nlohmann::json::accept(file.contents)) << file.contents;
    } else if (file.name.ends_with(".yaml")) {
      EXPECT_NO_THROW(YAML::Load(file.contents)) << file.contents;
    }
  }
}

// The rank of a node is its line in the host file, whoever asks.
TEST_P(EveryTarget, RanksAreTheLinesOfTheHostfile) {
  ExportOptions options = OptionsFor(GetParam());
  if (GetParam() == "slurm") options.script = "launch.sh";  // some file that is there
  options.framework = ".";
  Artefacts files = *ExportTo(GetParam(), PlanFor(GetParam()), options);
  EXPECT_EQ(ContentsOf(files, "hostfile"), "node-b slots=8\nnode-a slots=8\n");
  files.push_back({"pretrain_gpt.py", "", false});  // where Megatron is looked for
  const LaunchFolder folder(files);
  const std::string called = GetParam() == "accelerate" ? "called-accelerate" : "called-torchrun";
  for (const auto& [name, rank] :
       {std::pair{"node-b", "0"}, {"node-a", "1"}, {"node-a.x.org", "1"}}) {
    std::string output;
    ASSERT_EQ(folder.Run(std::string("SLURMD_NODENAME=") + name + " bash launch.sh", &output), 0)
        << output;
    const std::string option = GetParam() == "accelerate" ? "--machine_rank\n" : "--node-rank\n";
    EXPECT_THAT(folder.Read(called), HasSubstr(option + rank + "\n"));
    EXPECT_THAT(folder.Read(called), HasSubstr("\nnode-b\n"));  // the first node is the master
  }
  std::string output;
  EXPECT_EQ(folder.Run("SLURMD_NODENAME=stranger bash launch.sh", &output), 2);
  EXPECT_THAT(output, HasSubstr("stranger is not in hostfile"));
  EXPECT_EQ(
      folder.Run("printf 'node-a\\nnode-a\\n' >twice; HOSTFILE=twice bash launch.sh", &output), 2);
  EXPECT_THAT(output, HasSubstr("twice"));
  EXPECT_EQ(folder.Run("echo node-a >one; HOSTFILE=one bash launch.sh", &output), 2);
  EXPECT_THAT(output, HasSubstr("lists 1 nodes, the plan has 2"));
}

// Nodes whose names, or whose addresses, differ behind the first dot alone.
TEST(NodeRank, TheWholeNameGoesBeforeTheShortOne) {
  ExportOptions options = OptionsFor("megatron");
  options.framework = ".";
  Artefacts files = *ExportTo("megatron", PlanFor("megatron"), options);
  files.push_back({"pretrain_gpt.py", "", false});  // where Megatron is looked for
  const LaunchFolder folder(files);
  const auto run = [&](const std::string& hosts, const std::string& name, std::string* output) {
    return folder.Run("printf '" + hosts + "' >hosts; HOSTFILE=hosts " + "SLURMD_NODENAME=" + name +
                          " bash launch.sh",
                      output);
  };
  std::string output;
  for (const auto& [hosts, name, rank] : {std::tuple{"n1.a.com\\nn1.b.com\\n", "n1.a.com", "0"},
                                          {"n1.a.com\\nn1.b.com\\n", "n1.b.com", "1"},
                                          {"n1\\nn1.b.com\\n", "n1", "0"},
                                          {"n1.b.com\\nn2.b.com\\n", "n1", "0"},
                                          {"10.0.0.1\\n10.0.0.2\\n", "10.0.0.1", "0"},
                                          {"10.0.0.1\\n10.0.0.2\\n", "10.0.0.2", "1"}}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(run(hosts, name, &output), 0) << output;
    EXPECT_THAT(folder.Read("called-torchrun"),
                HasSubstr(std::string("--node-rank\n") + rank + "\n"));
  }
  EXPECT_EQ(run("n1.a.com\\nn1.b.com\\n", "n1", &output), 2);
  EXPECT_THAT(output, HasSubstr("n1 may be any of 2 nodes of hosts"));
  EXPECT_EQ(run("10.0.0.1\\n10.0.0.2\\n", "10.0.0.3", &output), 2);
  EXPECT_THAT(output, HasSubstr("10.0.0.3 is not in hosts"));
}

TEST_P(EveryTarget, WhatIsNotGivenIsAskedFor) {
  ExportOptions options;
  options.nodes = {"node-b", "node-a"};
  const absl::StatusOr<Artefacts> files = ExportTo(GetParam(), PlanFor(GetParam()), options);
  ASSERT_TRUE(files.ok()) << files.status();
  const LaunchFolder folder(*files);
  std::string output;
  EXPECT_NE(folder.Run("NODE_RANK=0 bash launch.sh", &output), 0);
  EXPECT_THAT(output, HasSubstr("set it to"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "called-torchrun"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "called-accelerate"));
}

// Text of the user's reaches the program as it is, and never runs.
TEST_P(EveryTarget, NothingOfTheUsersRuns) {
  const std::string evil = "~/a'b\"c $(touch ran) `touch ran`\n; touch ran # \\ $HOME";
  ExportOptions options = OptionsFor(GetParam());
  options.data_path = options.tokenizer = options.checkpoint = evil;
  options.image = evil;
  options.framework = ".";
  Plan plan = PlanFor(GetParam());
  plan.model->model = "m" + evil;
  plan.cluster.name = evil;
  if (GetParam() == "slurm") options.script = "launch.sh";
  absl::StatusOr<Artefacts> files = ExportTo(GetParam(), plan, options);
  ASSERT_TRUE(files.ok()) << files.status();
  files->push_back({"pretrain_gpt.py", "", false});
  const LaunchFolder folder(*files);
  std::string output;
  ASSERT_EQ(folder.Run("NODE_RANK=0 bash launch.sh", &output), 0) << output;
  EXPECT_EQ(folder.Run("SLURM_SUBMIT_DIR=$PWD SLURM_JOB_ID=1 bash job.sbatch", &output), 0)
      << output;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "ran"));
  EXPECT_THAT(folder.Read("called-srun"), HasSubstr(evil));
  EXPECT_EQ(folder.Run("shellcheck --shell=bash launch.sh job.sbatch", &output), 0) << output;
  if (GetParam() != "slurm") {
    const std::string called = GetParam() == "accelerate" ? "called-accelerate" : "called-torchrun";
    EXPECT_THAT(folder.Read(called), HasSubstr(evil));
  }
  for (const Artefact& file : *files) {
    if (file.name.ends_with(".py")) {
      const std::string check =
          "python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' ";
      EXPECT_EQ(folder.Run(check + file.name, &output), 0) << output;
    } else if (file.name.ends_with(".toml")) {
      const std::string check =
          "python3 -c 'import sys, tomllib; print(tomllib.load(open(sys.argv[1], \"rb\"))"
          "[\"checkpoint\"][\"folder\"])' ";
      EXPECT_EQ(folder.Run(check + file.name, &output), 0) << output;
      EXPECT_EQ(output, evil + "\n");
    } else if (file.name.ends_with(".yaml")) {
      EXPECT_NO_THROW(YAML::Load(file.contents)) << file.contents;
    }
  }
}

TEST(Launch, TargetsThatLaunchAreThoseThatExportWithoutOptions) {
  for (const char* fixes :
       {"tp=4,sp=on,cp=1,pp=2,dp=2,zero=1,schedule=1f1b,mbs=1",
        "tp=1,cp=1,pp=1,zero=3,recompute=none", "tp=2,pp=2,schedule=zero-bubble"}) {
    const Plan plan = SamplePlanOf({.fixes = fixes});
    std::vector<std::string> exported;
    for (const std::string& target : ModelTargets()) {
      if (ExportTo(target, plan, {}).ok()) exported.push_back(target);
    }
    EXPECT_EQ(TargetsThatLaunch(plan), exported) << fixes;
  }
}

TEST(Launch, OneNodeNeedsNoHostfile) {
  const Plan plan = SamplePlanOf({.cluster = "8xh100-sxm", .fixes = "zero=1,pp=1"});
  ExportOptions options = CompleteOptions();
  options.framework = ".";
  absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, options);
  ASSERT_TRUE(files.ok()) << files.status();
  files->push_back({"pretrain_gpt.py", "", false});
  const LaunchFolder folder(*files);
  std::string output;
  EXPECT_EQ(folder.Run("bash launch.sh --extra 'a b'", &output), 0) << output;
  EXPECT_THAT(folder.Read("called-torchrun"), HasSubstr("--extra\na b\n"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "hostfile"));
}

TEST(Launch, SlurmJobSaysWhatItNeeds) {
  ExportOptions options = OptionsFor("megatron");
  options.partition = "gpu";
  options.account = "team-1";
  options.time_limit = "1-00:00:00";
  options.image = "nvcr.io/nvidia/nemo:25.07";
  const absl::StatusOr<Artefacts> files = ExportTo("megatron", PlanFor("megatron"), options);
  ASSERT_TRUE(files.ok()) << files.status();
  const std::string job = ContentsOf(*files, "job.sbatch");
  for (const char* const line :
       {"#SBATCH --nodes=2\n", "#SBATCH --ntasks-per-node=1\n", "#SBATCH --gpus-per-node=8\n",
        "#SBATCH --nodelist=node-b,node-a\n", "#SBATCH --partition=gpu\n",
        "#SBATCH --account=team-1\n", "#SBATCH --time=1-00:00:00\n",
        "--container-image=nvcr.io/nvidia/nemo:25.07"}) {
    EXPECT_THAT(job, HasSubstr(line));
  }
  EXPECT_THAT(job, Not(HasSubstr("scontrol")));  // the ranks are those of the host file
  options.nodes.clear();
  const absl::StatusOr<Artefacts> free = ExportTo("megatron", PlanFor("megatron"), options);
  EXPECT_THAT(ContentsOf(*free, "job.sbatch"), HasSubstr("scontrol show hostnames"));
}

TEST(Launch, TakesTimesAsSlurmDoes) {
  const Plan plan = SamplePlanOf({.fixes = "zero=1,schedule=1f1b"});
  for (const char* const time : {"90", "90:30", "24:00:00", "2-12", "2-12:30", "2-12:30:05",
                                 "UNLIMITED", "infinite", "0", ""}) {
    ExportOptions options = CompleteOptions();
    options.time_limit = time;
    const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, options);
    EXPECT_TRUE(files.ok()) << time << ": " << files.status();
  }
}

TEST(Launch, BadOptionsSayWhatIsValid) {
  const Plan plan = PlanFor("megatron");
  const auto refused = [&](auto change) {
    ExportOptions options = OptionsFor("megatron");
    change(options);
    const absl::StatusOr<Artefacts> files = ExportTo("megatron", plan, options);
    EXPECT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(files.status().message());
  };
  EXPECT_THAT(refused([](auto& o) { o.nodes = {"a"}; }),
              HasSubstr("found 1 name, but the plan has 2 nodes"));
  EXPECT_THAT(refused([](auto& o) { o.nodes = {"a", "a"}; }), HasSubstr("a is there twice"));
  EXPECT_THAT(refused([](auto& o) {
                o.nodes = {"a", "$(touch ran)"};
              }),
              HasSubstr("expected a host name"));
  EXPECT_THAT(refused([](auto& o) { o.nodes = {"a", "b\nc"}; }), HasSubstr("expected a host name"));
  EXPECT_THAT(refused([](auto& o) { o.nodes = {"a", "b\xff"}; }), HasSubstr("not UTF-8"));
  EXPECT_THAT(refused([](auto& o) { o.partition = "a\n#SBATCH --wrap=x"; }),
              HasSubstr("--partition"));
  EXPECT_THAT(refused([](auto& o) { o.account = "a b"; }), HasSubstr("--account"));
  for (const char* const time :
       {"1 hour", "abc", "1:2:3:4", "1-", "-1", "1-2:3:4:5", ":30", "1:"}) {
    EXPECT_THAT(refused([&](auto& o) { o.time_limit = time; }), HasSubstr("--time: found")) << time;
  }
  EXPECT_THAT(refused([](auto& o) { o.partition = "gpu,"; }), HasSubstr("--partition"));
  EXPECT_THAT(refused([](auto& o) { o.account = "a\tb"; }), HasSubstr("--account"));
  EXPECT_THAT(refused([](auto& o) { o.data_path = "\xff"; }),
              HasSubstr("--data-path: found bytes"));
}

}  // namespace
}  // namespace meshwright
