// Refusals of `meshwright export`: the command that they name is copied into a shell, and what it
// plans is exported.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/cli/message.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPlanBegins[] = "\n    meshwright plan ", kPlanEnds[] = "-o nearest.json\n";
constexpr char kExportBegins[] = "\n    meshwright export nearest.json ";

// The command between these in what was written to a terminal; empty: there is none.
std::string CommandIn(const std::string& text, const std::string& begins, const std::string& ends) {
  const size_t from = text.find(begins);
  if (from == std::string::npos) return "";
  const size_t to = text.find(ends, from + begins.size());
  return to == std::string::npos ? "" : text.substr(from, to + ends.size() - from);
}

class ExportRefusalTest : public testing::Test {
 protected:
  // Exit code of `command` in a shell in the test's folder, in which meshwright is the binary.
  int Shell(const std::string& command) const {
    const std::string script = folder_.Write(
        "pasted.sh", absl::StrCat("cd \"$(dirname \"$0\")\" || exit 9\n", "meshwright() { \"",
                                  MESHWRIGHT_BINARY, "\" \"$@\"; }\n", command, "\n"));
    return std::system(
        absl::StrCat("bash '", script, "' >'", folder_.Path("pasted.out"), "' 2>&1").c_str());
  }

  bool Plans(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "plan");
    arguments.insert(arguments.end(), {"-o", plan_});
    return RunMeshwright(arguments).exit_code == 0;
  }

  // Exports the plan; where it is refused, runs what the refusal says. Returns whether it was.
  bool ExportsOrNames(const std::string& target) const {
    std::filesystem::remove_all(folder_.Path("out"));
    std::filesystem::remove_all(folder_.Path("out2"));
    std::filesystem::remove(folder_.Path("nearest.json"));
    const RunResult run =
        RunMeshwright({"export", plan_, "--to", target, "-o", folder_.Path("out")});
    if (run.exit_code == 0) return false;
    EXPECT_EQ(run.exit_code, 2) << run.err_text;
    ExpectFitsATerminal(MessageText(run.err_text, Wrap::kColumns));
    const std::string command = CommandIn(run.err_text, kPlanBegins, kPlanEnds);
    EXPECT_NE(command, "") << run.err_text;
    if (command.empty()) return true;
    EXPECT_EQ(Shell(command), 0) << run.err_text << ReadText(folder_.Path("pasted.out"));
    std::string launch = CommandIn(run.err_text, kExportBegins, "\n  ");
    if (launch.empty()) launch = CommandIn(run.err_text, kExportBegins, ".py\n");
    if (launch.empty()) launch = absl::StrCat("meshwright export nearest.json --to ", target);
    while (launch.back() == '\n' || launch.back() == ' ') launch.pop_back();
    // Slurm has to know which nodes are which, where there are several kinds.
    launch += " -o out2";
    const bool exported = Shell(launch) == 0 || Shell(launch + " --partition fast=a,slow=b") == 0;
    EXPECT_TRUE(exported) << run.err_text << ReadText(folder_.Path("pasted.out"));
    return true;
  }

  const ScratchFolder folder_;
  const std::string plan_ = folder_.Path("plan.json");
};

TEST_F(ExportRefusalTest, CommandsPlanWhatTheTargetTakes) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  constexpr int kSeed = 7;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  const auto any = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[random() % all.size()]);
  };
  int refused = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<std::string> arguments = {
        any({"llama3-8b", "gpt2-xl", "qwen3-0.6b"}),
        "--cluster",
        any({"2x4xh100-sxm", "8xa100-40g", "2x2xa10g", "3xh100-sxm", "4xh200"}),
        "--global-batch",
        any({"32", "48", "100"}),
        "--seq",
        any({"512", "2048"}),
        "--dtype",
        any({"bf16", "bf16", "fp16"}),
        "--fix",
        "zero=" + any({"0", "1", "2", "3"}),
        "--memory",
        any({"device", "device", "20GiB"}),
        "--objective",
        any({"time", "time", "gpus"}),
        "--for",
        "none"};
    if (random() % 2 == 0) arguments.insert(arguments.end(), {"--fix", "cp=2,context=ulysses"});
    if (!Plans(arguments)) continue;
    for (const char* const target :
         {"megatron", "nemo", "torchtitan", "deepspeed", "accelerate", "slurm"}) {
      if (std::string_view(target) == "torchtitan" && arguments[0][0] == 'g') continue;
      SCOPED_TRACE(absl::StrCat(absl::StrJoin(arguments, " "), " --to ", target));
      refused += ExportsOrNames(target);
    }
  }
  EXPECT_GE(refused, 20);
}

TEST_F(ExportRefusalTest, CommandsForGroupsPlanWhatTheTargetTakes) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::string cluster = folder_.Write("a cluster of two kinds.yaml",
                                            "groups:\n"
                                            "  - {name: fast, device: h100-sxm, nodes: 2}\n"
                                            "  - {name: slow, device: a100-40g, nodes: 3}\n"
                                            "between_groups: {bandwidth: 5GB/s, latency: 20us}\n");
  int refused = 0;
  for (const char* const fixes : {"pp=4", "pp=3,zero=1", "recompute=full"}) {
    ASSERT_TRUE(Plans({"llama3-8b", "--cluster", cluster, "--global-batch", "48", "--seq", "2048",
                       "--fix", fixes}));
    for (const char* const target : {"megatron", "nemo", "torchtitan", "deepspeed", "accelerate"}) {
      SCOPED_TRACE(absl::StrCat(fixes, " --to ", target));
      refused += ExportsOrNames(target);
    }
  }
  EXPECT_GE(refused, 10);
}

TEST_F(ExportRefusalTest, NamesRingsForUlysses) {
  ASSERT_TRUE(Plans({"llama3-8b", "--cluster", "2x8xh100-sxm", "--global-batch", "32", "--seq",
                     "2048", "--fix", "cp=2,context=ulysses,pp=1,zero=3,recompute=full"}));
  const RunResult run = RunMeshwright({"export", plan_, "--to", "torchtitan"});
  EXPECT_THAT(run.err, HasSubstr("context ulysses -> ring"));
  EXPECT_THAT(run.err, Not(HasSubstr("nor any other")));
  for (const char* const target : {"torchtitan", "accelerate", "deepspeed"}) {
    EXPECT_TRUE(ExportsOrNames(target)) << target;
  }
}

// The plan of a sweep is one like any other, on a part of the cluster where the sweep ends there.
TEST_F(ExportRefusalTest, TakesPlansOfSweeps) {
  const std::string cluster =
      folder_.Write("lab.yaml",
                    "name: lab\ndevice: {name: own, memory: 48GiB, memory_bandwidth: 1TB/s, "
                    "peak_flops: {bf16: 200TFLOPS}}\nnodes: 2\ndevices_per_node: 4\n"
                    "intra_node: {bandwidth: 50GB/s, latency: 5us}\n"
                    "inter_node: {bandwidth: 10GB/s, latency: 10us}\n");
  for (const char* const sweep : {"gpus=4..8", "gpus=2..4"}) {
    ASSERT_TRUE(Plans({"gpt2", "--cluster", cluster, "--global-batch", "32", "--seq", "512",
                       "--sweep", sweep, "--fix", "zero=1", "--launchable"}));
    EXPECT_FALSE(ExportsOrNames("megatron")) << sweep;
    EXPECT_TRUE(ExportsOrNames("accelerate")) << sweep;
  }
}

TEST_F(ExportRefusalTest, NamesPlansWithTheUsualState) {
  ASSERT_TRUE(Plans({"llama3-8b", "--cluster", "2x8xh100-sxm", "--global-batch", "32", "--seq",
                     "2048", "--fix", "place=order,zero=3,tp=1,pp=1,recompute=full", "--grads",
                     "bf16", "--fused-loss"}));
  const RunResult run = RunMeshwright({"export", plan_, "--to", "torchtitan"});
  EXPECT_THAT(run.err, HasSubstr("state: gradients and moments of 16 bits"));
  EXPECT_TRUE(ExportsOrNames("torchtitan"));
  EXPECT_TRUE(ExportsOrNames("slurm"));
}

// What DeepSpeed runs as it is goes before a pipeline, which takes a program of the user's own.
TEST_F(ExportRefusalTest, PrefersWhatNeedsNoProgram) {
  ASSERT_TRUE(Plans({"llama3-8b", "--cluster", "2x8xh100-sxm", "--global-batch", "32", "--seq",
                     "2048", "--fix",
                     "tp=1,cp=1,pp=2,zero=2,schedule=1f1b,recompute=full,recompute_layers=0,"
                     "recompute_stages=0,place=order"}));
  const RunResult run = RunMeshwright({"export", plan_, "--to", "deepspeed"});
  EXPECT_THAT(run.err, HasSubstr("pp 2 -> 1"));
  EXPECT_TRUE(ExportsOrNames("deepspeed"));
  const RunResult own = RunMeshwright({"export", plan_, "--to", "deepspeed", "--script", "x.py"});
  EXPECT_THAT(own.err, HasSubstr("(zero 2 -> 1)"));
  ASSERT_TRUE(Plans({"llama3-8b", "--cluster", "2x8xh100-sxm", "--global-batch", "32", "--seq",
                     "2048", "--for", "deepspeed", "--fix", "tp=1,cp=1,pp=2"}));
  const RunResult pipeline = RunMeshwright({"export", plan_, "--to", "deepspeed"});
  EXPECT_THAT(pipeline.err, HasSubstr("script: this is run by a program of your own only"));
  EXPECT_THAT(pipeline.err, HasSubstr("pp 2 -> 1"));
  EXPECT_TRUE(ExportsOrNames("deepspeed"));
}

}  // namespace
}  // namespace meshwright
