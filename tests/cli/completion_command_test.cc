#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "meshwright/cli/verb.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/scratch_folder.h"

// What shells and `man` are given: made of the options that are registered, so all of them are in
// it.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using CompletionJson = nlohmann::json;

CompletionJson HelpOfAllCommands() {
  return CompletionJson::parse(RunMeshwright({"help", "--json"}).out);
}

// What `script`, run by bash, prints, line by line.
std::vector<std::string> LinesOfBash(const ScratchFolder& folder, const std::string& script) {
  const std::string file = folder.Path("script.bash"), out = folder.Path("out");
  std::ofstream(file) << script;
  EXPECT_EQ(std::system(("bash " + file + " > " + out + " 2>&1").c_str()), 0);
  std::ifstream read(out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(read, line);) lines.push_back(line);
  return lines;
}

TEST(Completion, OfBashHasEveryCommandAndOption) {
  ScratchFolder folder;
  std::string script = RunMeshwright({"completion", "bash"}).out;
  // A line for each question: what is complete, and the answers.
  script += R"(
ask() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _meshwright
  echo "${*:2}: ${COMPREPLY[*]}"
}
ask meshwright ''
ask meshwright db ''
ask meshwright db list --
ask meshwright plan llama3-70b --objective ''
ask meshwright plan llama3-70b --objective = m
ask meshwright estimate x --rest le
)";
  const CompletionJson reference = HelpOfAllCommands();
  for (const CompletionJson& command : reference["commands"])
    script += "ask meshwright " + command["name"].get<std::string>() + " -\n";
  const std::vector<std::string> lines = LinesOfBash(folder, script);
  ASSERT_EQ(lines.size(), 6 + reference["commands"].size());
  for (const Verb& verb : Verbs()) EXPECT_THAT(lines[0] + " ", HasSubstr(verb.name));
  EXPECT_EQ(lines[1], "db : list show merge export prune");
  EXPECT_THAT(lines[2], HasSubstr("--json"));
  EXPECT_EQ(lines[3], "plan llama3-70b --objective : time gpus memory cost");
  EXPECT_EQ(lines[4], "plan llama3-70b --objective = m: memory");
  EXPECT_EQ(lines[5], "estimate x --rest le: least-cost");
  for (size_t i = 0; i < reference["commands"].size(); ++i) {
    for (const CompletionJson& option : reference["commands"][i]["options"]) {
      if (option["argument"]) continue;
      for (const CompletionJson& name : option["names"])
        EXPECT_THAT(lines[6 + i] + " ", HasSubstr(" " + name.get<std::string>() + " "));
    }
  }
}

TEST(Completion, OfOtherShellsHasEveryLongOption) {
  const std::string zsh = RunMeshwright({"completion", "zsh"}).out,
                    fish = RunMeshwright({"completion", "fish"}).out;
  EXPECT_THAT(zsh, testing::StartsWith("#compdef meshwright\n"));
  const CompletionJson reference = HelpOfAllCommands();
  for (const CompletionJson& command : reference["commands"]) {
    for (const CompletionJson& option : command["options"]) {
      if (option["argument"]) continue;
      const std::string name = option["names"].back();
      EXPECT_THAT(zsh, HasSubstr(name + "["));
      EXPECT_THAT(fish, HasSubstr(" -l " + name.substr(2) + " "));
    }
  }
  EXPECT_EQ(RunMeshwright({"completion", "tcsh"}).exit_code, 2);
}

TEST(Manual, HasEveryOptionOfEveryCommand) {
  const std::string program = RunMeshwright({"man"}).out;
  const CompletionJson reference = HelpOfAllCommands();
  for (const CompletionJson& command : reference["commands"]) {
    const std::string name = command["name"];
    EXPECT_THAT(program, HasSubstr("meshwright\\-" + name + " (1)"));
    const RunResult page = RunMeshwright({"man", name});
    ASSERT_EQ(page.exit_code, 0) << page.err;
    for (const CompletionJson& option : command["options"]) {
      std::string dashes = option["names"].back();
      for (size_t at = 0; (at = dashes.find('-', at)) != std::string::npos; at += 2)
        dashes.replace(at, 1, "\\-");
      EXPECT_THAT(page.out, HasSubstr(dashes));
    }
  }
  EXPECT_THAT(RunMeshwright({"man", "plam"}).err, HasSubstr("did you mean \"plan\"?"));
}

TEST(Tables, OfDevicesAndOperatorsAsJson) {
  const CompletionJson devices = CompletionJson::parse(RunMeshwright({"clusters", "--json"}).out);
  EXPECT_GT(devices["devices"].size(), 10);
  EXPECT_GT(devices["devices"][0]["memory_bytes"], 1e9);
  const CompletionJson dot = CompletionJson::parse(RunMeshwright({"ops", "dot", "--json"}).out);
  EXPECT_EQ(dot["opcodes"].size(), 1);
  EXPECT_THAT(dot["calls"], IsEmpty());
}

TEST(CommandLine, AloneIsHelp) {
  const RunResult alone = RunMeshwright({});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(alone.out, RunMeshwright({"--help"}).out);
}

TEST(CommandLine, GuessesWhatWasMeant) {
  const auto says = [](const std::vector<std::string>& words, const std::string& text) {
    const RunResult run = RunMeshwright(words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(text));
  };
  says({"version"}, "did you mean --version?");
  says({"plan", "llama3-70b", "--batch-size", "8"}, "did you mean --global-batch?");
  const std::vector<std::string> model = {"plan",       "llama3-70b",     "--cluster",
                                          "8xh100-sxm", "--global-batch", "8"};
  const auto with_memory = [&](const std::string& memory) {
    std::vector<std::string> words = model;
    words.insert(words.end(), {"--memory", memory});
    return words;
  };
  says(with_memory("60"), "--memory: 60 without a unit is 60 bytes a device; did you mean 60GiB?");
  says(with_memory("60gb"), "is not a size in bytes");
  ScratchFolder folder;
  const std::string plan = folder.Path("plan.json");
  std::vector<std::string> words = model;
  words.insert(words.end(), {"-o", plan});
  ASSERT_EQ(RunMeshwright(words).exit_code, 0);
  words[1] = plan;
  says(words, plan + ": this is a plan, not a program or a model; `meshwright explain " + plan);
  // Before any option is missed.
  for (const char* const command : {"plan", "estimate", "blocks", "profile"})
    says({command, plan}, plan + ": this is a plan, not a program");
  std::ofstream(folder.Path("c.yaml")) << "device: h100-sxm\nnodes: 2\n";
  for (const char* const command : {"plan", "export", "verify", "explain", "model"})
    says({command, folder.Path("c.yaml")}, "this is the description of a cluster, not a");
  std::ofstream(folder.Path("a.hlo")) << "HloModule m\n";
  says({"explain", folder.Path("a.hlo")}, "this is a program, not a plan");
  std::ofstream(folder.Path("a.mlir"))
      << "#loc = loc(unknown)\nmodule @m {\n  func.func @main() {\n";
  says({"explain", folder.Path("a.mlir")}, "this is a program, not a plan");
}

}  // namespace
}  // namespace meshwright
