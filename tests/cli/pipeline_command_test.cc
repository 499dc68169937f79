// Pipelines as users ask for them: plan --pipeline and simulate.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "meshwright/plan/document/plan_json.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PipelineCommand : public testing::Test {
 protected:
  RunResult Plan(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"plan", HloData("pipeline/tied_clip.train.hlo.txt.gz"),
                                          "--cluster", "2xh100-sxm"};
    const bool cut = std::find(more.begin(), more.end(), "--pipeline") != more.end();
    if (cut && std::find(more.begin(), more.end(), "--schedule") == more.end())
      arguments.insert(arguments.end(), {"--schedule", "1f1b"});
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
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(json.out)["seconds"], read->objective_seconds);
}

TEST_F(PipelineCommand, StagesGoToAFolderHere) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.Path("."));
  const RunResult run = Plan({"--pipeline", "2", "--quiet", "--emit", "stages"});
  std::filesystem::current_path(before);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(ReadText(folder_.Path("stages/stages.json")), HasSubstr("stage0.forward"));
}

TEST_F(PipelineCommand, SimulationsAreOfLegalPlansAndBounded) {
  const RunResult made = Plan({"--pipeline", "2", "--micro-batches", "2", "--quiet", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto simulate = [&](const char* place, const nlohmann::json& value,
                            const std::string& count) {
    nlohmann::json plan = nlohmann::json::parse(made.out);
    plan[nlohmann::json::json_pointer(place)] = value;
    return RunMeshwright(
        {"simulate", "-", "--micro-batches", count, "--trace", folder_.Path("trace.json")},
        plan.dump());
  };
  ExpectBad(simulate("/stages/0/seconds/forward", -1, "2"), 2,
            "$.stages[0].seconds.forward: found -1, expected a number from 0 to 1e+09");
  ExpectBad(simulate("/stages/1/devices", {0}, "2"), 2, "device 0 is one of stage 0 too");
  ExpectBad(simulate("/micro_batches", 2, "1000000000"), 2,
            "1000000000 micro-batches of 2 stages are more than can be simulated; "
            "--micro-batches takes at most 524288");
  ExpectBad(simulate("/stages/1/bytes/in_flight", int64_t{1} << 50, "500000"), 2,
            "a device of stage 1 would hold more than 2^63 - 1 bytes");
}

TEST_F(PipelineCommand, ThePlanSaysHowItWasMade) {
  const auto options = [this](std::vector<std::string> more) {
    more.insert(more.end(), {"--quiet", "--json"});
    const RunResult run = Plan(more);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return nlohmann::json::parse(run.out)["options"];
  };
  const auto given = options({"--pipeline", "2", "--micro-batches", "2", "--schedule", "gpipe",
                              "--layers", "2", "--data", "tok.1", "--data", "lab*",
                              "--no-recompute", "--memory", "60GiB", "--mesh", "x=1"});
  EXPECT_EQ(given["pipeline"], "2");
  EXPECT_EQ(given["micro_batches"], "2");
  EXPECT_EQ(given["schedule"], "gpipe");
  EXPECT_EQ(given["layers"], 2);
  EXPECT_EQ(given["data"], nlohmann::json({"tok.1", "lab*"}));
  EXPECT_EQ(given["recompute"], false);
  EXPECT_EQ(given["memory"], "64424509440");
  EXPECT_EQ(given["mesh"], "x=1");
  EXPECT_EQ(given["rest"], "least-cost");
  const auto usual = options({"--pipeline", "auto", "--schedule", "auto"});
  EXPECT_EQ(usual["pipeline"], "auto");
  EXPECT_EQ(usual["micro_batches"], "auto");
  EXPECT_EQ(usual["schedule"], "auto");
  EXPECT_EQ(usual["layers"], 0);
  EXPECT_TRUE(usual["data"].empty());
  EXPECT_EQ(usual["recompute"], true);
  EXPECT_EQ(usual["memory"], "device");
  EXPECT_EQ(usual["mesh"], "auto");
  EXPECT_EQ(options({"--memory", "unlimited"})["memory"], "unlimited");
}

TEST_F(PipelineCommand, BadValuesSayWhatWouldDo) {
  for (const char* option : {"--micro-batches", "--schedule", "--layers", "--data"})
    ExpectBad(Plan({option, "1"}), 2, std::string(option) + " is of pipelines");
  ExpectBad(Plan({"--pipeline", "0"}), 2, "--pipeline: found \"0\", expected auto or a number");
  ExpectBad(Plan({"--pipeline", "2", "--micro-batches", "-1"}), 2, "--micro-batches: found \"-1\"");
  ExpectBad(
      Plan({"--pipeline", "2", "--schedule", "f1b"}), 2,
      "--schedule: unknown schedule \"f1b\"; there are gpipe, 1f1b, interleaved, zb-h1, or auto");
  ExpectBad(Plan({"--pipeline", "3"}), 2, "3 stages are more than the 2 devices");
  ExpectBad(RunMeshwright({"plan", HloData("pipeline/tied_clip.train.hlo.txt.gz"), "--cluster",
                           "h100-sxm", "--pipeline", "2"}),
            2, "2 stages are more than the 1 device");
  ExpectBad(Plan({"--pipeline", "auto", "--mesh", "3"}), 2, "a stage can have 1, 2 devices");
  ExpectBad(Plan({"--pipeline", "2", "--mesh", "2"}), 2, "2 devices make 1 stage of mesh 2, not 2");
  ExpectBad(Plan({"--pipeline", "auto", "--memory", "1KiB"}), 3, "nothing fits");
  ExpectBad(Plan({"--pipeline", "auto", "--emit", folder_.Path("none/stages")}), 2,
            "does not exist");
  ExpectBad(RunMeshwright({"simulate", folder_.Path("none.json")}), 2, "none.json");
}

// A search of minutes must not end at a place that takes no files.
TEST_F(PipelineCommand, BadPlacesForStagesAreRefusedBeforeTheSearch) {
  const auto refused = [this](const std::vector<std::string>& places, const std::string& message) {
    std::vector<std::string> more = {"--pipeline", "2", "--progress"};
    more.insert(more.end(), places.begin(), places.end());
    const RunResult run = Plan(more);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.err, Not(HasSubstr("micro-batches")));  // as progress says
  };
  refused({"--emit", ""}, "--emit: the name is empty; name a file");
  refused({"-o", ""}, "the name is empty; name a file");
  refused({"--emit", "-"}, "--emit: - is no folder");
  refused({"--emit", "/proc/stages"}, "the folder /proc is not writable");
  refused({"-o", "/proc/plan.json"}, "the folder /proc is not writable");
  refused({"--emit", folder_.Path("none/stages/")}, "none does not exist");
  EXPECT_THAT(folder_.Names(), IsEmpty());
  const std::string file = folder_.Write("file", "");
  refused({"--emit", file}, "is a file; the stages of a pipeline need a folder");
  const std::string stages = folder_.Path("stages");
  for (const std::string& plan : {stages, stages + "/stages.json", stages + "/more/../plan.json"}) {
    refused({"--emit", stages, "-o", plan}, "takes the stages alone, but -o names " + plan);
    refused({"--emit", stages + "/", "-o", plan}, "takes the stages alone, but -o names " + plan);
  }
  EXPECT_THAT(folder_.Names(), ElementsAre("file"));
  const RunResult input =
      RunMeshwright({"plan", HloData("pipeline/tied_clip.train.hlo.txt.gz"), "--cluster",
                     "h100-sxm+" + file, "--pipeline", "2", "-o", file});
  EXPECT_EQ(input.exit_code, 2);
  EXPECT_THAT(input.err, HasSubstr("it is an input of this command"));
}

// The plan has no room: there are no stages of it either.
TEST_F(PipelineCommand, PlanAndStagesAreWrittenTogether) {
  const RunResult run =
      Plan({"--pipeline", "2", "-o", "/dev/full", "--emit", folder_.Path("stages")});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("-o: cannot write /dev/full"));
  EXPECT_THAT(folder_.Names(), IsEmpty());
}

TEST_F(PipelineCommand, StagesReplaceThoseOfAnEarlierEmission) {
  const std::string stages = folder_.Path("stages");
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(stages))
      found.insert(entry.path().filename());
    return found;
  };
  const auto recorded = [&] {
    std::set<std::string> found = {"stages.json"};
    const auto made = nlohmann::json::parse(ReadText(stages + "/stages.json"));
    for (const auto& stage : made["stages"]) {
      for (const auto& module : stage["modules"]) found.insert(module["file"]);
    }
    return found;
  };
  // `--emit DIR/` is the same folder.
  for (const char* count : {"2", "1", "2"}) {
    SCOPED_TRACE(count);
    const RunResult run = Plan({"--pipeline", count, "--emit", stages + "/"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(names(), recorded());
    EXPECT_EQ(names().contains("stage1.forward.hlo.txt"), *count == '2');
  }
  const auto before = names();
  const std::string index = ReadText(stages + "/stages.json");
  const auto refused = [&](const std::string& message) {
    const RunResult run = Plan({"--pipeline", "1", "--emit", stages});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_TRUE(names().contains("stage1.forward.hlo.txt"));
  };
  folder_.Write("stages/notes.txt", "mine");
  refused("holds notes.txt, which no earlier --emit of a pipeline wrote");
  EXPECT_EQ(ReadText(stages + "/notes.txt"), "mine");
  // An index that claims what no emission writes gives nothing away.
  nlohmann::json claims = nlohmann::json::parse(index);
  claims["stages"][0]["modules"]["forward"]["file"] = "notes.txt";
  folder_.Write("stages/stages.json", claims.dump());
  refused("which no earlier --emit of a pipeline wrote");
  EXPECT_EQ(ReadText(stages + "/notes.txt"), "mine");
  std::filesystem::remove(stages + "/notes.txt");
  for (const char* damaged : {"", "[]", "{\"stages\": 1}", "{\"stages\": [1]}",
                              "{\"stages\": [{\"modules\": {\"forward\": {\"file\": 1}}}]}"}) {
    SCOPED_TRACE(damaged);
    folder_.Write("stages/stages.json", damaged);
    refused("which no earlier --emit of a pipeline wrote");
  }
  folder_.Write("stages/stages.json", index);
  EXPECT_EQ(names(), before);
  // A run that fails leaves the earlier emission.
  EXPECT_EQ(Plan({"--pipeline", "1", "--memory", "1KiB", "--emit", stages}).exit_code, 3);
  EXPECT_EQ(names(), before);
  const RunResult own = RunMeshwright({"plan", stages + "/stage0.forward.hlo.txt", "--cluster",
                                       "2xh100-sxm", "--pipeline", "1", "--emit", stages});
  EXPECT_EQ(own.exit_code, 2);
  EXPECT_THAT(own.err, HasSubstr("an input of this command"));
}

}  // namespace
}  // namespace meshwright
