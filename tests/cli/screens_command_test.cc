// Every screen fits a terminal of 80 columns, whatever is asked and whatever is wrong, and nothing
// that names hold reaches the terminal as it is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/printable.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/data.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

using Words = std::vector<std::string>;

// Nothing but letters and line breaks, in lines that fit.
void ExpectScreen(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(DisplayWidth(line), kColumns) << line;
    EXPECT_EQ(Printable(line), line);
  }
}

RunResult RunScreen(const Words& words) {
  SCOPED_TRACE(absl::StrJoin(words, " ").substr(0, 300));
  RunResult run = RunMeshwright(words);
  EXPECT_NE(run.exit_code, 1);
  EXPECT_LT(run.exit_code, 128);
  ExpectScreen(run.out);
  // Messages are wrapped on a terminal only, see message_test.cc.
  EXPECT_EQ(Printable(absl::StrReplaceAll(run.err_text, {{"\n", " "}})),
            absl::StrReplaceAll(run.err_text, {{"\n", " "}}));
  return run;
}

// Plans of a program, of a pipeline, of a model and over groups of nodes, by name.
class Screens : public testing::Test {
 protected:
  std::string Plan(const std::string& name, Words words) {
    const std::string path = folder_.Path(name);
    words.insert(words.begin(), "plan");
    words.insert(words.end(), {"-o", path});
    const RunResult run = RunScreen(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return path;
  }
  std::string ProgramPlan(const std::string& name = "program.json",
                          const std::string& mesh = "2x4") {
    return Plan(name,
                {HloData("tiny_gpt.train.hlo.txt.gz"), "--cluster", "8xh100-sxm", "--mesh", mesh});
  }
  std::string PipelinePlan() {
    return Plan("pipeline.json", {HloData("tiny_gpt.train.hlo.txt.gz"), "--cluster", "8xh100-sxm",
                                  "--pipeline", "4", "--micro-batches", "4"});
  }
  std::string ModelPlan() {
    return Plan("model.json", {"llama2-13b", "--cluster", "4x8xh100-sxm", "--global-batch", "256"});
  }
  std::string GroupPlan() {
    return Plan("groups.json",
                {"gpt2-xl", "--cluster", "1x8xh100-sxm+1x8xa100-80g", "--global-batch", "64"});
  }

  ScratchFolder folder_;
};

TEST_F(Screens, OfHelpFit) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const char* const verb :
       {"plan", "estimate", "explain", "diff", "simulate", "verify", "report", "export", "solve",
        "reproduce", "calibrate", "model", "blocks", "profile", "db", "ops", "clusters", "help"}) {
    EXPECT_EQ(RunScreen({"help", verb}).exit_code, 0) << verb;
    EXPECT_EQ(RunScreen({verb, "--help"}).exit_code, 0) << verb;
  }
  RunScreen({"--help"});
  RunScreen({"--version"});
}

TEST_F(Screens, OfPlansFit) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::string program = ProgramPlan(), other = ProgramPlan("other.json", "8");
  const std::string pipeline = PipelinePlan(), model = ModelPlan(), groups = GroupPlan();
  for (const std::string& plan : {program, pipeline, model, groups}) {
    RunScreen({"explain", plan});
    RunScreen({"explain", plan, "--parameters"});
    RunScreen({"explain", plan, "--tensor", "*"});
    RunScreen({"explain", plan, "--tensor", "state[0]['layer{0..1}']['wq']"});
    RunScreen({"simulate", plan});
    RunScreen({"export", plan, "--list"});
    for (const std::string& next : {program, other, pipeline, model, groups})
      EXPECT_EQ(RunScreen({"diff", plan, next}).exit_code, 0);
  }
  for (const std::string& plan : {program, pipeline})
    RunScreen({"explain", plan, "--why-not", "state[*]['layer0']['w1']=[_,_]"});
  RunScreen({"explain", program, "--why-not", "state[*]['layer0']['w1']=[y,x]"});
  for (const std::string& plan : {model, groups}) {
    EXPECT_EQ(RunScreen({"explain", plan, "--why-not", "tp=8"}).exit_code, 0);
    EXPECT_EQ(RunScreen({"explain", plan, "--why-not", "tp=7"}).exit_code, 0);
  }
}

TEST_F(Screens, OfOtherCommandsFit) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::string gpt = HloData("tiny_gpt.train.hlo.txt.gz");
  const std::vector<Words> commands = {
      {"plan", gpt, "--cluster", "8xh100-sxm", "--cost-model", "alpha_beta", "--mesh", "2x4"},
      {"plan", gpt, "--cluster", "8xh100-sxm", "--memory", "1KiB"},
      {"plan", "llama2-13b", "--cluster", "2x8xh100-sxm", "--global-batch", "64", "--top", "12",
       "--mtbf", "50000h"},
      {"plan", "llama3-70b", "--cluster", "8xh100-sxm", "--global-batch", "64"},
      {"plan", "gpt2-xl", "--cluster", "8xh100-sxm", "--global-batch", "64", "--cost-model",
       "nersc"},
      {"plan", "gpt2-xl", "--cluster", "1x8xh100-sxm+1x8xa100-80g", "--global-batch", "64",
       "--pareto"},
      {"plan", "gpt2-xl", "--cluster", "4x8xh100-sxm", "--global-batch", "64", "--sweep",
       "gpus=8..32"},
      {"estimate", gpt, "--cluster", "8xh100-sxm", "--mesh", "2x4"},
      {"model", "--list"},
      {"model", "llama3-70b"},
      {"model", "deepseek-v3"},
      {"model", "mixtral-8x7b"},
      {"model", "gpt2-xl"},
      {"blocks", gpt},
      {"blocks", HloData("moe_gshard_16.train.hlo.txt.gz")},
      {"ops"},
      {"ops", "dot"},
      {"clusters"},
      {"reproduce"},
  };
  for (const Words& command : commands) RunScreen(command);
}

TEST_F(Screens, OfErrorsFit) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::string gpt = HloData("tiny_gpt.train.hlo.txt.gz");
  const std::string text = folder_.Write("notes.txt", "not a plan, and no program either\n");
  const std::vector<Words> commands = {
      {"nosuch"},
      {"help", "nosuch"},
      {"plan"},
      {"plan", gpt, "--nosuch"},
      {"plan", gpt},
      {"plan", gpt, "--cluster", "9xnosuch"},
      {"plan", gpt, "--cluster", "8xh100-sxm", "--fix", "nosuch=[x]"},
      {"plan", gpt, "--cluster", "8xh100-sxm", "--fix", "nosuch"},
      {"plan", gpt, "--cluster", "8xh100-sxm", "--mesh", "3x3"},
      {"plan", gpt, "--cluster", "8xh100-sxm", "--memory", "much"},
      {"plan", gpt, "--cluster", "8xh100-sxm", "--pipeline", "2", "--micro-batches", "7"},
      {"plan", gpt, "--cluster", "8xh100-sxm", "--global-batch", "7"},
      {"plan", "gpt2-xl", "--cluster", "8xh100-sxm", "--global-batch", "64", "--fix", "tp=7"},
      {"plan", "gpt2-xl", "--cluster", "8xh100-sxm", "--global-batch", "64", "--mesh", "2x4"},
      {"estimate", gpt, "--cluster", "8xh100-sxm", "--mesh", "2x4", "--fix", "state*=[q]"},
      {"model", "nosuch"},
      {"model", gpt},
      {"db", "list", "/nowhere"},
      {"calibrate", gpt},
      {"solve", text},
      {"export", text},
      {"verify", text},
      {"simulate", text},
      {"report", text},
      {"report", "-o", folder_.Path("r.html"), text},
      {"explain", text},
      {"explain", "/nowhere"},
      {"explain", text, "--tensor", "a", "--parameters"},
      {"diff", text, text},
      {"blocks", text},
      {"ops", "nosuch"},
      {"clusters", "nosuch"},
      {"reproduce", "nosuch"},
      {"profile", text},
  };
  for (const Words& command : commands) EXPECT_NE(RunScreen(command).exit_code, 0);
}

// Names in files, options and paths that would write over the terminal, are not to be seen, are
// wide or long.
TEST_F(Screens, ShowWhatNamesHold) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::vector<std::string> names = {
      "\u202eevil\u2066",       "\x1b[31mred\x1b[0m", "\u200b\u00ad\ufeff",   "\xff\xfe",
      "층층층층층층층층층층🚀🚀", "a\nb\r\tc",          std::string(10000, 'n')};
  const std::string plan = ReadText(ProgramPlan());
  for (const std::string& name : names) {
    SCOPED_TRACE(Printable(name).substr(0, 40));
    RunScreen({"explain", name});
    RunScreen({"explain", folder_.Path("program.json"), "--tensor", name});
    RunScreen({"explain", folder_.Path("program.json"), "--why-not", name + "=[x,_]"});
    RunScreen({name});
    RunScreen({"plan", name, "--cluster", "8xh100-sxm"});
    RunScreen({"plan", HloData("tiny_gpt.train.hlo.txt.gz"), "--cluster", name});
    RunScreen(
        {"plan", HloData("tiny_gpt.train.hlo.txt.gz"), "--cluster", "8xh100-sxm", "--mesh", name});
    RunScreen({"plan", HloData("tiny_gpt.train.hlo.txt.gz"), "--cluster", "8xh100-sxm", "--fix",
               name + "=[x,_]"});
    RunScreen({"plan", HloData("tiny_gpt.train.hlo.txt.gz"), "--cluster", "8xh100-sxm", name});
    RunScreen({"model", name});
    RunScreen({"ops", name});
    RunScreen({"help", name});
    if (name[0] == '\xff' || name[0] == '\x1b' || name[0] == 'a') continue;  // not as it is in JSON
    const std::string renamed = folder_.Write(
        "renamed.json", absl::StrReplaceAll(plan, {{"['layer0']", absl::StrCat("['", name, "']")},
                                                   {"jax_models.py", absl::StrCat(name, ".py")}}));
    EXPECT_EQ(RunScreen({"explain", renamed}).exit_code, 0);
    EXPECT_EQ(RunScreen({"explain", renamed, "--parameters"}).exit_code, 0);
    EXPECT_EQ(RunScreen({"explain", renamed, "--tensor", "*wq*"}).exit_code, 0);
    EXPECT_EQ(RunScreen({"diff", renamed, folder_.Path("program.json")}).exit_code, 0);
  }
  const RunResult longest = RunScreen({"explain", std::string(10000, 'n')});
  EXPECT_THAT(longest.err, HasSubstr("characters).."));
  EXPECT_LT(longest.err.size(), 2500u);
  EXPECT_THAT(RunScreen({"explain", "\u202eevil"}).err, HasSubstr("\\u202eevil"));
}

}  // namespace
}  // namespace meshwright
