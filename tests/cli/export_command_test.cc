// `meshwright export` as users run it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExportCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    const RunResult run = RunMeshwright({"plan", "llama3-8b", "--cluster", "2x8xh100-sxm",
                                         "--global-batch", "64", "--seq", "2048", "--top", "5",
                                         "--fix", "zero=1,schedule=1f1b", "-o", plan_});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }

  RunResult Export(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"export", plan_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMeshwright(arguments);
  }

  void ExpectRefused(const std::vector<std::string>& more, const std::string& message) const {
    const RunResult run = Export(more);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr(message));
  }

  const ScratchFolder folder_;
  const std::string plan_ = folder_.Path("plan.json");
  const std::string out_ = folder_.Path("out");
};

TEST_F(ExportCommandTest, WritesAFolder) {
  const RunResult run =
      Export({"--to", "megatron", "-o", out_, "--nodes", "a,b", "--steps", "10", "--learning-rate",
              "3e-4", "--data-path", "mock", "--framework", "/opt/Megatron-LM"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("wrote " + out_ + "\n  launch.sh\n  job.sbatch\n  hostfile\n"));
  EXPECT_THAT(ReadText(out_ + "/launch.sh"), HasSubstr("--mock-data"));
  EXPECT_EQ(ReadText(out_ + "/hostfile"), "a slots=8\nb slots=8\n");
}

TEST_F(ExportCommandTest, OverwritesNothing) {
  ASSERT_EQ(Export({"--to", "slurm", "-o", out_}).exit_code, 0);
  const std::string before = ReadText(out_ + "/launch.sh");
  ExpectRefused({"--to", "megatron", "-o", out_}, "nothing is overwritten");
  EXPECT_EQ(ReadText(out_ + "/launch.sh"), before);
}

TEST_F(ExportCommandTest, ReadsHostfilesAndAlternatives) {
  const std::string hosts = folder_.Write("hosts", "# ranks\nn1 slots=8\n\nn0\n");
  ASSERT_EQ(
      Export({"--to", "megatron", "-o", out_, "--hostfile", hosts, "--alternative", "1"}).exit_code,
      0);
  EXPECT_EQ(ReadText(out_ + "/hostfile"), "n1 slots=8\nn0 slots=8\n");
}

TEST_F(ExportCommandTest, ErrorsOfHostfilesNameThem) {
  const auto refused = [&](const std::string& text, const std::string& message) {
    const std::string hosts = folder_.Write("hosts", text);
    ExpectRefused({"--to", "megatron", "-o", out_, "--hostfile", hosts},
                  "--hostfile: " + hosts + ": " + message);
  };
  refused("n0\nn0\n", "n0 is there twice");
  refused("n0\n", "found 1 name, but the plan has 2 nodes");
  refused("n0\nn/1\n", "found \"n/1\", expected a host name");
}

TEST_F(ExportCommandTest, MakesAFolderHere) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.Path("."));
  const RunResult run = Export({"--to", "slurm"});
  std::filesystem::current_path(before);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("wrote llama3-8b-slurm\n"));
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("llama3-8b-slurm/launch.sh")));
}

TEST_F(ExportCommandTest, NamesWhatIsThereWhole) {
  folder_.Write("train.py", "");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.Path("."));
  const RunResult run = Export({"--to", "slurm", "-o", "out", "--script", "./train.py"});
  std::filesystem::current_path(before);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(ReadText(out_ + "/launch.sh"), testing::ContainsRegex("\nscript=/.*/train\\.py\n"));
}

TEST_F(ExportCommandTest, RefusesBadInput) {
  ExpectRefused({"--to", "megatorn"}, "did you mean \"megatron\"");
  ExpectRefused({}, "--to is required");
  ExpectRefused({"--to", "megatron", "--alternative", "9", "-o", out_}, "4 alternatives");
  ExpectRefused({"--to", "megatron", "--script", "x.py", "-o", out_},
                "--script is not for --to megatron, which takes --data-path");
  ExpectRefused({"--to", "megatron", "--nodes", "a", "-o", out_}, "the plan has 2 nodes");
  ExpectRefused({"--to", "megatron", "--steps", "0", "-o", out_}, "--steps");
  for (const char* const rate : {"nan", "inf", "-1", "0", "1e400"}) {
    ExpectRefused({"--to", "megatron", "--learning-rate", rate, "-o", out_}, "--learning-rate");
  }
  ExpectRefused({"--to", "megatron", "-o", folder_.Path("no/such")}, "does not exist");
  ExpectRefused({"--to", "megatron", "-o", plan_}, "is a file");
  ExpectRefused({"--to", "accelerate", "-o", out_}, "the nearest that it can is");
  ExpectRefused({"--to", "jax", "-o", out_}, "launches plans of programs");
  EXPECT_FALSE(std::filesystem::exists(out_));
  const std::string none = folder_.Write("none.json", "{}");
  const RunResult run = RunMeshwright({"export", none, "--to", "megatron"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("this is no plan"));
}

TEST_F(ExportCommandTest, WarnsOfWhatDevicesLack) {
  const RunResult plan = RunMeshwright({"plan", "gpt2", "--cluster", "8xv100", "--global-batch",
                                        "32", "--seq", "512", "--for", "megatron", "-o", plan_});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("warning: v100 has no hardware for bf16 matmuls"));
  const RunResult run = Export({"--to", "megatron", "-o", out_});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("warning: v100 has no hardware for bf16 matmuls"));
}

TEST_F(ExportCommandTest, HelpListsTheTargets) {
  const RunResult run = RunMeshwright({"export", "--help"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* const target :
       {"megatron", "torchtitan", "deepspeed", "accelerate", "nemo", "slurm", "jax"}) {
    EXPECT_THAT(run.out, HasSubstr(target));
  }
}

}  // namespace
}  // namespace meshwright
