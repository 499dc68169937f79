// `meshwright plan` of models as users run it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "meshwright/plan/document/plan_json.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/data.h"

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

// The best of this space have long names: all of their degrees differ from what is usual.
TEST(PlanModelCommand, TableFitsATerminal) {
  const RunResult run = PlanModelOf("llama3-70b", {"--cluster", "8x8xh100-sxm", "--global-batch",
                                                   "512", "--seq", "4096", "--mtbf", "50000h"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ExpectFitsATerminal(run.out);
}

TEST(PlanModelCommand, WritesAPlanThatReadsBack) {
  const ScratchFolder folder;
  const std::string file = folder.Path("plan.json");
  const RunResult run = PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "32",
                                                  "--seq", "4096", "--top", "3", "-o", file});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("model     llama3-8b, 8.03 B parameters"));
  EXPECT_THAT(run.out, HasSubstr("next best"));
  const absl::StatusOr<Plan> plan = ParsePlanJson(ReadText(file), file);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(plan->model.has_value());
  EXPECT_EQ(plan->model->parameters, 8'030'261'248);
  EXPECT_EQ(plan->model->alternatives.size(), 2u);
  double sum = 0;
  PlanStepParts::VisitMembers(plan->model->seconds,
                              [&](const char*, double seconds, MemberForm) { sum += seconds; });
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
  EXPECT_EQ(plan->model->configuration.tp, 2);
  EXPECT_EQ(plan->model->configuration.pp, 2);
  EXPECT_EQ(plan->model->configuration.recompute, transformer::Recompute::kFull);
  EXPECT_EQ(plan->inputs.size(), 1u);
}

TEST(PlanModelCommand, FewestGpusFit) {
  const RunResult run =
      PlanModelOf("llama3-8b", {"--cluster", "2x8xh100-sxm", "--global-batch", "16", "--objective",
                                "gpus", "--json", "--fix", "offload_optimizer=off"});
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
  EXPECT_THAT(run.out, HasSubstr("      32      256     4096 "));
  ExpectFitsATerminal(run.out);
  const std::string text = ReadText(csv);
  EXPECT_THAT(text, HasSubstr("\n8,64,4096,"));
  EXPECT_THAT(text, HasSubstr("\n16,128,4096,"));
  EXPECT_THAT(text, HasSubstr("\n32,256,4096,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

// Every row is the plan that is found when its batch or sequence is asked for by itself.
TEST(PlanModelCommand, SweepsBatchesAndSequences) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.json");
  const auto plan = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--cluster", "8xh100-sxm", "-o", path};
    words.insert(words.end(), more.begin(), more.end());
    const RunResult run = PlanModelOf("llama3-8b", words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    ExpectFitsATerminal(run.out);
    return nlohmann::json::parse(ReadText(path));
  };
  const auto expect_rows = [&](const nlohmann::json& swept, const char* member,
                               const std::vector<std::vector<std::string>>& alone) {
    const nlohmann::json& rows = swept["transformer"]["sweep"];
    ASSERT_EQ(rows.size(), alone.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      const nlohmann::json one = plan(alone[i]);
      EXPECT_EQ(rows[i][member], one["transformer"][member]);
      EXPECT_EQ(rows[i]["step_seconds"], one["step_seconds"]) << rows[i];
    }
    EXPECT_EQ(swept["transformer"][member], rows.back()[member]);
  };
  expect_rows(plan({"--global-batch", "64", "--sweep", "batch=32..64"}), "global_batch",
              {{"--global-batch", "32"}, {"--global-batch", "64"}});
  expect_rows(plan({"--global-batch", "64", "--sweep", "seq=2048..4096"}), "sequence",
              {{"--global-batch", "64", "--seq", "2048"}, {"--global-batch", "64"}});
}

TEST(PlanModelCommand, SaysWhereASweepLeavesTheCluster) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.json");
  const auto sweep = [&](const std::string& range) {
    return PlanModelOf("llama3-8b", {"--cluster", "2x8xh100-sxm", "--global-batch", "64", "--sweep",
                                     range, "-o", path});
  };
  const RunResult inside = sweep("gpus=8..16");
  EXPECT_EQ(inside.out.find("note:"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(ReadText(path))["warnings"].empty());
  const RunResult beyond = sweep("gpus=8..32");
  EXPECT_THAT(beyond.out, HasSubstr("note: 32 GPUs are more than the 16 of 2x8xh100-sxm"));
  ExpectFitsATerminal(beyond.out);
  EXPECT_THAT(nlohmann::json::parse(ReadText(path))["warnings"].dump(), HasSubstr("more than"));
}

TEST(PlanModelCommand, DrawsTheScalingCurve) {
  const ScratchFolder folder;
  const std::string path = folder.Path("chart.json");
  const RunResult run = PlanModelOf("llama3-8b", {"--cluster", "2x8xh100-sxm", "--global-batch",
                                                  "64", "--sweep", "gpus=8..16", "--plot", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json chart = nlohmann::json::parse(ReadText(path));
  EXPECT_EQ(chart["$schema"], "https://vega.github.io/schema/vega-lite/v5.json");
  const nlohmann::json& values = chart["data"]["values"];
  ASSERT_EQ(values.size(), 4);  // a plan and a linear one on each number
  EXPECT_EQ(values[0]["gpus"], 8);
  EXPECT_EQ(values[0]["tokens_per_second"], values[1]["tokens_per_second"]);
  EXPECT_NEAR(values[3]["tokens_per_second"].get<double>(),
              2 * values[1]["tokens_per_second"].get<double>(), 1e-3);
  for (const char* const field : {"x", "y", "color"}) {
    EXPECT_TRUE(values[0].contains(chart["encoding"][field]["field"])) << field;
  }
}

TEST(PlanModelCommand, DeadlinesEndTheSearch) {
  const ScratchFolder folder;
  const std::string model =
      folder.Write("many.yaml",
                   "model: {layers: 720, hidden: 5040, heads: 5040, vocab: 1000, ffn: 5040, "
                   "head_dim: 8}");
  const std::vector<std::string> on = {"--cluster", "90x8xh100-sxm", "--global-batch", "5040"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), on.begin(), on.end());
    return PlanModelOf(model, more);
  };
  ExpectRefused(with({"--deadline", "1us"}), 3, "was not found before the deadline; --deadline");
  ExpectRefused(with({"--deadline", "0s"}), 2, "--deadline: must be more than 0 seconds");
  ExpectRefused(with({"--deadline", "soon"}), 2, "--deadline: ");
  ExpectRefused(with({"--deadline", "9s", "--cost-model", "nersc"}), 2,
                "--deadline does not go with --cost-model nersc");
  ExpectRefused(with({"--deadline", "0s", "--objective", "cost"}), 2,
                "--deadline: must be more than 0 seconds");
}

// What is read of a pipe is gone.
TEST(PlanModelCommand, ReadsPipes) {
  const ScratchFolder folder;
  const std::string file = folder.Path("p.json"), pipe = folder.Path("pipe");
  const std::string model = "model: {layers: 4, hidden: 256, heads: 4, vocab: 1000}\n";
  ASSERT_EQ(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR), 0);
  std::thread writer([&] { std::ofstream(pipe) << model; });
  const RunResult run =
      PlanModelOf(pipe, {"--cluster", "2xh100-sxm", "--global-batch", "4", "-o", file});
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);  // where nothing has read
  writer.join();
  close(reader);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json plan = nlohmann::json::parse(ReadText(file));
  EXPECT_EQ(plan["transformer"]["description"], model);
}

TEST(PlanModelCommand, ASweepsPlanIsTheOneOnTheMostGpusAndHasAllInShort) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.json");
  const RunResult run = PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "64",
                                                  "--sweep", "gpus=1..16", "-o", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json plan = nlohmann::json::parse(ReadText(path));
  EXPECT_EQ(plan["cluster"]["name"], "2x8xh100-sxm");
  const nlohmann::json& sweep = plan["transformer"]["sweep"];
  ASSERT_GT(sweep.size(), 2);
  EXPECT_EQ(sweep.back()["gpus"], 16);
  EXPECT_EQ(sweep.back()["step_seconds"], plan["step_seconds"]);
  EXPECT_EQ(sweep[0]["efficiency"], 1);
  EXPECT_EQ(RunMeshwright({"explain", path}).exit_code, 0);
}

TEST(PlanModelCommand, TakesTheContextOfSequencesWhereItIsGiven) {
  const RunResult run =
      PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "16", "--tp", "seqp",
                                "--fix", "cp=2,context=allgather"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST(PlanModelCommand, SaysWhatIsWrong) {
  const std::vector<std::string> usual = {"--cluster", "8xh100-sxm", "--global-batch", "16"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), usual.begin(), usual.end());
    return more;
  };
  ExpectRefused(PlanModelOf("llama3-8b", with({"--fix", "tp=3"})), 2, "valid are 1, 2, 4, 8");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--fix", "pp=3"})), 2, "pp=3 is not possible");
  const RunResult empty = PlanModelOf("llama3-8b", with({"--seq", "0"}));
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("range 1 to 16777216"));
  ExpectRefused(PlanModelOf("llama3-8b", with({"--pipeline", "2"})), 2,
                "--pipeline is for programs");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--dtype", "f64"})), 2, "expected one of bf16");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--objective", "speed"})), 2,
                "time, gpus, memory or cost");
  ExpectRefused(PlanModelOf("lama3-8b", with({})), 2, "the nearest name is \"llama3-8b\"");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "8..16"})), 2,
                "expected gpus, batch or seq and a range");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "seq=0..8"})), 2, "--sweep: ");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "layers=1..8"})), 2,
                "expected gpus, batch or seq and a range");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "batch=8..16", "--weak"})), 2,
                "--weak lets the batch grow with the GPUs of --sweep gpus=");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "gpus=12..24"})), 2,
                "not whole nodes of 8");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--sweep", "gpus=8..16", "--objective", "gpus"})), 2,
                "--objective gpus finds the fewest GPUs");
  for (const char* const option : {"--csv", "--plot"}) {
    ExpectRefused(PlanModelOf("llama3-8b", with({option, "x"})), 2, "give one");
  }
  ExpectRefused(PlanModelOf("llama3-8b", with({"--tp", "seqp", "--fix", "context=ring"})), 2,
                "--tp seqp gathers keys (context=allgather), but --fix has context=ring");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--mtbf", "1e300h"})), 2, "at most 1e12 seconds");
  for (const char* const bandwidth : {"1e-300B/s", "0B/s", "1e300B/s"}) {
    ExpectRefused(
        PlanModelOf("llama3-8b", with({"--mtbf", "50000h", "--checkpoint-bandwidth", bandwidth})),
        2, "expected from 1kB/s to 1e6GB/s");
  }
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.Path("empty"));
  ExpectRefused(PlanModelOf(folder.Path("empty"), with({})), 2, "a folder without a config.json");
  ExpectRefused(PlanModelOf(folder.Write("nothing", ""), with({})), 2, "the file is empty");
  ExpectRefused(PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm"}), 2, "--global-batch is");
  ExpectRefused(PlanModelOf(HloData("pipeline/tied_clip.train.hlo.txt.gz"), with({})), 2,
                "--global-batch is for models");
}

TEST(PlanModelCommand, SaysWhatIsMissingWhereNothingFits) {
  const std::vector<std::string> usual = {"--cluster", "8xh100-sxm", "--global-batch",
                                          "8",         "--seq",      "1024"};
  std::vector<std::string> on_gpus = usual;
  on_gpus.insert(on_gpus.end(), {"--fix", "offload_optimizer=off,offload_activations=off"});
  const RunResult run = PlanModelOf("llama3-70b", on_gpus);
  ExpectRefused(run, 3, "does not fit into 80");
  EXPECT_THAT(run.err, HasSubstr("the least that any of"));
  // With the host's memory it does.
  const RunResult offloaded = PlanModelOf("llama3-70b", usual);
  EXPECT_EQ(offloaded.exit_code, 0) << offloaded.err;
  EXPECT_THAT(offloaded.out, HasSubstr("offload_optimizer=on"));
  EXPECT_THAT(offloaded.out, HasSubstr("  in the host's memory: group 0"));
}

absl::StatusOr<Plan> ModelPlanOf(const std::string& model, std::vector<std::string> more) {
  more.emplace_back("--json");
  const RunResult run = PlanModelOf(model, more);
  if (run.exit_code != 0) return absl::InvalidArgumentError(run.err);
  return ParsePlanJson(run.out, "plan");
}

TEST(PlanModelCommand, TensorParallelismIsOfTheKindAskedFor) {
  for (const char* const cost_model : {"calibrated", "nersc"}) {
    double best = 0;
    for (const std::string kind : {"1d", "2d", "seqp", "auto"}) {
      SCOPED_TRACE(testing::Message() << kind << " by " << cost_model);
      const absl::StatusOr<Plan> plan =
          ModelPlanOf("gpt3-13b", {"--cluster", "4x8xh100-sxm", "--global-batch", "16", "--seq",
                                   "2048", "--tp", kind, "--cost-model", cost_model, "--top", "2"});
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_EQ(plan->options.cost_model, cost_model);
      const transformer::Configuration& degrees = plan->model->configuration;
      EXPECT_EQ(degrees.tp2 > 1, kind == "2d" || (kind == "auto" && degrees.tp2 > 1));
      if (kind == "seqp") {
        EXPECT_GT(degrees.cp, 1);
        EXPECT_EQ(degrees.context, transformer::ContextKind::kAllGather);
      }
      double sum = 0;
      PlanStepParts::VisitMembers(plan->model->seconds,
                                  [&](const char*, double seconds, MemberForm) { sum += seconds; });
      EXPECT_NEAR(sum, plan->step_seconds, 1e-9 * sum);
      const transformer::Placement& inside = degrees.inside;
      EXPECT_THAT(inside.tp * inside.cp * inside.dp * inside.pp, testing::AnyOf(0, 8));
      if (kind != "auto") {
        best = best == 0 ? plan->step_seconds : std::min(best, plan->step_seconds);
      } else {
        EXPECT_LE(plan->step_seconds, best * (1 + 1e-12));
      }
    }
  }
}

// What the published search finds, computed by it.
// What is given stays; what is left open is as launches have it.
TEST(PlanModelCommand, LaunchablePlansLeaveOutWhatNoLaunchHas) {
  const auto configuration = [](const std::string& fixes) {
    const RunResult run =
        RunMeshwright({"plan", "llama3-8b", "--cluster", "2x8xh100-sxm", "--global-batch", "64",
                       "--seq", "8192", "--launchable", "--fix", fixes, "--json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return nlohmann::json::parse(run.out)["transformer"]["configuration"];
  };
  const nlohmann::json ring = configuration("cp=2");
  EXPECT_EQ(ring["context"], "ring");
  EXPECT_EQ(ring["inside"]["tp"], 0);
  EXPECT_EQ(ring["offload_optimizer"], false);
  EXPECT_EQ(ring["ends_as_layers"], false);
  EXPECT_NE(ring["recompute"], "modules");
  const nlohmann::json given = configuration("cp=2,context=ulysses,recompute=selective");
  EXPECT_EQ(given["context"], "ulysses");
  EXPECT_EQ(given["recompute"], "selective");
  // What no target takes is not planned, whoever asks for it.
  for (const char* const fixes : {"ends=on,pp=2", "recompute=modules"}) {
    const RunResult run = PlanModelOf("llama3-8b", {"--cluster", "2x8xh100-sxm", "--global-batch",
                                                    "64", "--launchable", "--fix", fixes});
    EXPECT_EQ(run.exit_code, 2) << fixes;
  }
}

// What `export` refuses for a target is not planned for it.
TEST(PlanModelCommand, PlansForATargetHaveAStateThatItLaunches) {
  const auto plan = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--cluster", "2x8xh100-sxm", "--global-batch", "64"});
    return PlanModelOf("llama3-8b", more);
  };
  for (const std::vector<std::string>& state : std::vector<std::vector<std::string>>{
           {"--grads", "bf16"}, {"--moments", "bf16"}, {"--loss", "fused"}}) {
    const RunResult refused = plan({"--for", "torchtitan", state[0], state[1]});
    EXPECT_EQ(refused.exit_code, 2) << state[0];
    EXPECT_THAT(refused.err, HasSubstr("no plan is for --for torchtitan"));
    EXPECT_THAT(refused.err, HasSubstr("are written for Megatron-LM and NeMo only"));
    EXPECT_EQ(plan({"--for", "nemo", state[0], state[1]}).exit_code, 0) << state[0];
    EXPECT_EQ(plan({"--launchable", state[0], state[1]}).exit_code, 0) << state[0];
  }
  EXPECT_EQ(plan({"--for", "megatron", "--loss", "chunked"}).exit_code, 2);
}

// The figures by which a framework is validated are those by which it is planned for.
TEST(PlanModelCommand, TargetsImplyTheirFramework) {
  const std::vector<std::string> usual = {
      "--cluster",      "8xh100-96g",
      "--global-batch", "16",
      "--seq",          "8192",
      "--memory",       "unlimited",
      "--fix",          "tp=1,pp=1,cp=1,dp=8,mbs=2,zero=3,recompute=selective"};
  const auto planned = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options = usual;
    options.insert(options.end(), more.begin(), more.end());
    return *ModelPlanOf("llama3.1-8b", options);
  };
  const Plan titan = planned({"--for", "torchtitan"}),
             named = planned({"--framework", "torchtitan"});
  EXPECT_EQ(titan.model->framework, "torchtitan");
  EXPECT_EQ(titan.step_seconds, named.step_seconds);
  EXPECT_EQ(titan.peak_bytes, named.peak_bytes);
  const Plan usual_plan = planned({});
  EXPECT_EQ(usual_plan.model->framework, "megatron");
  EXPECT_LT(usual_plan.step_seconds, titan.step_seconds);
  EXPECT_GT(usual_plan.peak_bytes, titan.peak_bytes);
  EXPECT_EQ(planned({"--framework", "torchtitan", "--for", "megatron"}).model->framework,
            "torchtitan");
  const Plan early = planned({"--framework", "nemo", "--release", "21.04"});
  EXPECT_EQ(early.model->state.gradient_bytes, 2);
  EXPECT_GT(early.step_seconds, usual_plan.step_seconds);
  EXPECT_GT(planned({"--attention", "flash"}).step_seconds, usual_plan.step_seconds);
  ExpectRefused(PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "8",
                                          "--framework", "megatrn"}),
                2, "--framework: found \"megatrn\", did you mean \"megatron\"?");
  ExpectRefused(
      PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "8", "--mtp", "1"}), 2,
      "--mtp: found 1, but the model has 0 modules");
}

TEST(PlanModelCommand, TakesTheNetworkOfTheRun) {
  const auto seconds = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--cluster", "16x8xh100-sxm", "--global-batch", "128", "--fix",
                             "tp=1,pp=1,dp=128,zero=3,mbs=1,place=order"});
    return ModelPlanOf("llama3-8b", more)->step_seconds;
  };
  EXPECT_GT(seconds({"--network", "25Gbit/s"}), 1.5 * seconds({}));
  ExpectRefused(PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "8",
                                          "--network", "fast"}),
                2, "--network: ");
}

TEST(PlanModelCommand, PlansByTheNerscModel) {
  const std::vector<std::string> usual = {"--cluster", "8x8xh200", "--global-batch", "64",
                                          "--seq",     "2048",     "--cost-model",   "nersc"};
  const RunResult run = PlanModelOf("gpt3-175b", usual);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("warning: by the published NERSC model"));
  std::vector<std::string> fixed = usual;
  fixed.insert(fixed.end(), {"--fix", "tp=8,pp=8,mbs=1"});
  const absl::StatusOr<Plan> plan = ModelPlanOf("gpt3-175b", fixed);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->model->configuration.tp, 8);
  EXPECT_EQ(plan->model->configuration.pp, 8);
  EXPECT_EQ(plan->micro_batches, 64);
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), usual.begin(), usual.end());
    return more;
  };
  ExpectRefused(PlanModelOf("llama3-70b", usual), 2, "gated MLPs; the published model knows");
  ExpectRefused(PlanModelOf("gpt3-175b", with({"--dtype", "fp8"})), 2, "must be bf16 or fp16");
  ExpectRefused(PlanModelOf("gpt3-175b", with({"--objective", "gpus"})), 2, "must be time");
  ExpectRefused(PlanModelOf("gpt3-175b", with({"--fix", "recompute=full"})), 2,
                "none of the configurations that fit");
  ExpectRefused(PlanModelOf("gpt3-175b", {"--cluster", "8xb300", "--global-batch", "64", "--seq",
                                          "2048", "--cost-model", "nersc"}),
                2, "no b300; it knows");
  ExpectRefused(PlanModelOf("gpt3-175b", {"--cluster", "8xh100-sxm", "--global-batch", "64",
                                          "--seq", "2048", "--cost-model", "nersc"}),
                3, "does not fit into 80");
}

TEST(PlanModelCommand, SaysWhatFailuresLeave) {
  const std::vector<std::string> usual = {"--cluster", "8x8xh100-sxm", "--global-batch",
                                          "64",        "--seq",        "4096"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), usual.begin(), usual.end());
    return more;
  };
  const absl::StatusOr<Plan> plan = ModelPlanOf(
      "llama3-8b",
      with({"--mtbf", "6400h", "--checkpoint-bandwidth", "100MB/s", "--restart", "5min"}));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(plan->model->goodput.has_value());
  const PlanGoodput& goodput = *plan->model->goodput;
  EXPECT_NEAR(goodput.mtbf_seconds, 100 * 3600, 1e-6);
  EXPECT_NEAR(goodput.checkpoint_seconds, 14 * 8'030'261'248.0 / (64 * 1e8), 1e-6);
  EXPECT_GT(goodput.share, 0.98);
  EXPECT_LT(goodput.share, 1);
  EXPECT_NEAR(goodput.tokens_per_second, goodput.share * 64 * 4096 / plan->step_seconds, 1e-6);
  EXPECT_FALSE(ModelPlanOf("llama3-8b", usual)->model->goodput.has_value());
  ExpectRefused(PlanModelOf("llama3-8b", with({"--mtbf", "0h"})), 2, "must be more than 0");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--mtbf", "long"})), 2, "--mtbf: ");
  ExpectRefused(PlanModelOf("llama3-8b", with({"--mtbf", "1h", "--checkpoint-bandwidth", "0GB/s"})),
                2, "--checkpoint-bandwidth: ");
  const RunResult alone = PlanModelOf("llama3-8b", with({"--restart", "1h"}));
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--restart requires --mtbf"));
}

TEST(PlanModelCommand, StateDecidesWhatGradientsTake) {
  const std::vector<std::string> usual = {
      "--cluster", "8xh100-sxm", "--global-batch", "8",
      "--seq",     "1024",       "--fix",          "tp=8,recompute=none"};
  const absl::StatusOr<Plan> wide = ModelPlanOf("llama3-8b", usual);
  std::vector<std::string> narrow_options = usual;
  narrow_options.insert(narrow_options.end(),
                        {"--grads", "bf16", "--moments", "bf16", "--fused-loss"});
  const absl::StatusOr<Plan> narrow = ModelPlanOf("llama3-8b", narrow_options);
  ASSERT_TRUE(wide.ok() && narrow.ok()) << wide.status() << narrow.status();
  EXPECT_EQ(wide->model->memory[0].gradients, 2 * narrow->model->memory[0].gradients);
  EXPECT_EQ(wide->model->memory[0].logits, 3 * narrow->model->memory[0].logits);
  EXPECT_EQ(wide->model->memory[0].optimizer / 3, narrow->model->memory[0].optimizer / 2);
  ExpectRefused(PlanModelOf("llama3-8b",
                            {"--cluster", "8xh100-sxm", "--global-batch", "8", "--grads", "fp8"}),
                2, "expected f32, bf16 or auto");
  ExpectRefused(
      PlanModelOf("llama3-8b", {"--cluster", "8xh100-sxm", "--global-batch", "8", "--tp", "3d"}), 2,
      "expected 1d, 2d, seqp or auto");
}

}  // namespace
}  // namespace meshwright
