#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "meshwright/cli/verb.h"
#include "tests/cli/run_binary.h"

// What the program says of itself: --help, `help`, and the reference that the site is made from.

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(HelpCommand, OfEveryVerbFitsAndIsComplete) {
  for (const Verb& verb : Verbs()) {
    SCOPED_TRACE(verb.name);
    const RunResult run = RunMeshwright({verb.name, "--help"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, IsEmpty());
    ExpectFitsATerminal(run.out);
    const std::string name = verb.name;
    EXPECT_THAT(run.out,
                AllOf(HasSubstr("Usage: meshwright " + name), HasSubstr("Exit codes:\n  0 "),
                      HasSubstr("2 bad input"), HasSubstr("Examples:\n  meshwright " + name)));
    EXPECT_EQ(RunMeshwright({"help", name}).out, run.out);
  }
}

// On terminals of fewer columns only words that are wider than the rest of the line, and commands
// to copy, go beyond them.
TEST(HelpCommand, FitsNarrowTerminals) {
  for (const size_t columns : {size_t{40}, size_t{60}}) {
    setenv("COLUMNS", std::to_string(columns).c_str(), 1);
    for (const Verb& verb : Verbs()) {
      const RunResult run = RunMeshwright({verb.name, "--help"});
      std::istringstream lines(run.out.substr(0, run.out.find("\nExamples:")));
      for (std::string line; std::getline(lines, line);) {
        if (line.find("Usage: ") == 0) continue;
        const size_t text = std::min(line.find_first_not_of(' '), line.size());
        const bool word = line.find(' ', text) == std::string::npos;
        EXPECT_TRUE(line.size() <= columns || word) << verb.name << ": " << line;
      }
    }
  }
  unsetenv("COLUMNS");
}

TEST(HelpCommand, OfTheProgram) {
  const RunResult run = RunMeshwright({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  ExpectFitsATerminal(run.out);
  for (const Verb& verb : Verbs()) EXPECT_THAT(run.out, HasSubstr(std::string("\n  ") + verb.name));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("parse-only")));
  EXPECT_EQ(RunMeshwright({"help"}).out, run.out);
}

TEST(HelpCommand, SaysDefaultsLimitsAndConditions) {
  const std::string plan = RunMeshwright({"help", "plan"}).out;
  for (const char* value : {"--memory SIZE", "--deadline DURATION", "--mesh MESH", "--fix FIX"})
    EXPECT_THAT(plan, HasSubstr(value));
  EXPECT_THAT(plan, HasSubstr("threads of the search (1 to 1024; default: 2)"));
  EXPECT_THAT(plan, HasSubstr("show no progress (not with --progress)"));
  EXPECT_THAT(plan, HasSubstr("let the global batch grow with the GPUs of --sweep\n"
                              "                          (with --sweep)"));
  EXPECT_THAT(RunMeshwright({"help", "estimate"}).out, HasSubstr("2x4 or x=2,y=4 (needed)"));
}

TEST(HelpCommand, KnowsCommandsOfCommands) {
  for (const char* name : {"list", "show", "merge", "export", "prune"}) {
    const RunResult run = RunMeshwright({"help", "db", name});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, RunMeshwright({"db", name, "--help"}).out) << name;
  }
}

TEST(HelpCommand, Errors) {
  const RunResult unknown = RunMeshwright({"help", "plann"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err,
            "meshwright: there is no command \"plann\"; did you mean \"plan\"? `meshwright help` "
            "lists all\n");
  const RunResult inner = RunMeshwright({"help", "db", "merg"});
  EXPECT_EQ(inner.exit_code, 2);
  EXPECT_EQ(
      inner.err,
      "meshwright: `meshwright db` has no command \"merg\"; did you mean \"merge\"? `meshwright db "
      "--help` lists all\n");
  const RunResult none = RunMeshwright({"help", "plan", "merge"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err,
            "meshwright: `meshwright plan` has no commands of its own; found \"merge\"\n");
  const RunResult both = RunMeshwright({"help", "plan", "--json"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--json prints all commands"));
}

TEST(Reference, HasEveryVerbWithItsOptions) {
  const RunResult run = RunMeshwright({"help", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json reference = nlohmann::json::parse(run.out);
  ASSERT_EQ(reference["commands"].size(), Verbs().size());
  bool threads = false, program = false;
  for (size_t i = 0; i < Verbs().size(); ++i) {
    const nlohmann::json& command = reference["commands"][i];
    EXPECT_EQ(command["name"], Verbs()[i].name);
    EXPECT_FALSE(command["examples"].empty());
    for (const nlohmann::json& option : command["options"]) {
      // An option without a word about it would be one that nobody can use.
      EXPECT_FALSE(option["description"].get<std::string>().empty()) << option;
      if (command["name"] != "plan") continue;
      if (option["names"] == std::vector<std::string>{"--threads"}) {
        threads = true;
        EXPECT_EQ(option["value"], "INT");
        EXPECT_EQ(option["limits"], "1 to 1024");
        EXPECT_EQ(option["default"], "2");
        EXPECT_EQ(option["argument"], false);
      }
      if (option["names"] == std::vector<std::string>{"PROGRAM"}) {
        program = true;
        EXPECT_EQ(option["argument"], true);
        EXPECT_EQ(option["required"], true);
      }
    }
  }
  EXPECT_TRUE(threads && program);
}

// Documentation's command lines are tested so; nothing is read or written.
TEST(ParseOnly, TellsWhetherACommandLineIsUnderstood) {
  const RunResult good =
      RunMeshwright({"--parse-only", "plan", "no_such.hlo", "--cluster", "none"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out + good.err, IsEmpty());
  const RunResult bad =
      RunMeshwright({"--parse-only", "plan", "a.hlo", "--cluster", "c", "--frob"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, AllOf(StartsWith("meshwright: "), HasSubstr("--frob")));
}

}  // namespace
}  // namespace meshwright
