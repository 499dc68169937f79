#include "meshwright/cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/find_command.h"
#include "meshwright/cli/help_formatter.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_facts.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/plan/document/version.h"

namespace meshwright {
namespace {

constexpr int kBug = 1;
constexpr int kBadInput = 2;
constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it

// Files are written in one step at the end, so there is nothing to clean up.
void ExitOnInterrupt(int) { _exit(kInterrupted); }

// Whether `word` of a command line, behind `before`, is an option of one letter that there is.
// CLI11 takes a file named -x for several of them, and misses the file.
absl::Status CheckShortOption(const std::string& before, std::string_view word,
                              const CLI::App& command, std::string_view title) {
  if (!word.starts_with("-") || word.size() < 2) return absl::OkStatus();
  if (command.get_option_no_throw(std::string(word.substr(0, 2))) != nullptr)
    return absl::OkStatus();
  const CLI::Option* const option = command.get_option_no_throw(before);
  if (option != nullptr && option->get_type_size() > 0) return absl::OkStatus();  // `--seed -1`
  return absl::InvalidArgumentError(StrCat(word, ": there is no such option, `", title,
                                           " --help` lists them; a file of this name is ./", word,
                                           ", or stands last, behind --"));
}

// What CLI11 says nothing of, or nothing helpful: `--name=`, which it takes for an option whose
// value is the next argument, an option that the command does not have, and no such command.
absl::Status CheckWords(int argc, char** argv, const CLI::App& app) {
  const CLI::App* command = &app;
  std::string title = app.get_name();
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--") break;  // arguments follow
    if (!word.starts_with("-") && !command->get_subcommands({}).empty()) {
      MW_ASSIGN_OR_RETURN(command, FindCommand(*command, std::string(word), title));
      absl::StrAppend(&title, " ", argv[i]);
    }
    if (!word.starts_with("--")) {
      MW_RETURN_IF_ERROR(CheckShortOption(argv[i - 1], word, *command, title));
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    if (command->get_option_no_throw(name) == nullptr) {
      std::vector<std::string> names;
      for (const OptionFacts& facts : FactsOf(*command)) {
        if (!facts.argument) names.push_back(facts.names.back());
      }
      return absl::InvalidArgumentError(
          StrCat(name, ": there is no such option; did you mean ", NearestName(name, names), "?"));
    }
    if (equals != word.size() - 1) continue;
    return absl::InvalidArgumentError(
        StrCat(name, ": the value is empty; leave the option out or give one"));
  }
  return absl::OkStatus();
}

int Run(int argc, char** argv) {
  CLI::App app("Meshwright plans how to train a neural network on many accelerators.",
               "meshwright");
  app.formatter(MakeHelpFormatter());
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", StrCat("meshwright ", ToolVersion()), "print the version");
  // For tests of what documentation quotes: whether a command line is understood, without running
  // it.
  bool parse_only = false;
  app.add_flag("--parse-only", parse_only)->group("");
  app.require_subcommand(0, 1);  // none: --help
  app.footer(
      "Exit codes: 0 done, 2 bad input, 3 nothing fits into memory, 4 a verification or\n"
      "reproduction failed, 130 interrupted, 1 a bug in meshwright.\n"
      "Run `meshwright help COMMAND` for options and examples of one command.\n");
  std::map<const CLI::App*, Action> actions;
  for (const Verb& verb : Verbs()) {
    CLI::App* const command = app.add_subcommand(verb.name, verb.summary);
    command->group("Commands");
    actions[command] = verb.add_options(*command);
  }
  if (const absl::Status status = CheckWords(argc, argv, app); !status.ok()) {
    PrintError(FromAbsl(status.message()));
    return kBadInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text, text);
      const absl::Status printed = PrintOutput(text.str());
      if (!printed.ok()) PrintError(FromAbsl(printed.message()));
      return ExitCode(printed);
    }
    std::string message = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
      // "--mesh: At Most 1 required but received 2"
      absl::StrReplaceAll({{"At Most 1 required but received", "taken once, but given"}}, &message);
    }
    const auto chosen = app.get_subcommands();
    const std::string command =
        chosen.empty() ? std::string() : absl::StrCat(chosen[0]->get_name(), " ");
    PrintError(absl::StrCat(message, "\n  run `meshwright ", command, "--help` for usage"));
    return kBadInput;
  }
  if (parse_only) return 0;
  if (app.get_subcommands().empty()) {
    const absl::Status printed = PrintOutput(app.help());
    if (!printed.ok()) PrintError(FromAbsl(printed.message()));
    return ExitCode(printed);
  }
  const absl::Status status = actions.at(app.get_subcommands()[0])();
  if (!status.ok()) PrintError(FromAbsl(status.message()));
  return status.code() == absl::StatusCode::kCancelled ? kInterrupted : ExitCode(status);
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  std::signal(SIGINT, ExitOnInterrupt);
  // Files longer than the limit (ulimit -f) are errors of write(), as full disks are.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    // Our code throws nothing; libraries may, for want of memory above all.
    PrintError(absl::StrCat("unexpected failure: ", error.what()));
    return kBug;
  }
}

}  // namespace meshwright
