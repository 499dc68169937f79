#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/reference.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

struct HelpCommand {
  std::string command;  // empty: all
  bool json = false;
};

absl::StatusOr<const CLI::App*> FindCommand(const CLI::App& program, const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) names.emplace_back(verb.name);
  for (const std::string& one : names) {
    if (one == name) return program.get_subcommand(name);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no command \"", name,
                                                 "\"; did you mean \"", NearestName(name, names),
                                                 "\"? `meshwright help` lists all"));
}

absl::Status RunHelp(const HelpCommand& help, const CLI::App& program) {
  if (help.json) {
    if (help.command.empty()) return PrintOutput(ReferenceJson(program));
    return absl::InvalidArgumentError("--json prints all commands; leave out the name of one");
  }
  const auto formatter = program.get_formatter();
  if (help.command.empty()) {
    return PrintOutput(
        formatter->make_help(&program, program.get_name(), CLI::AppFormatMode::Normal));
  }
  MW_ASSIGN_OR_RETURN(const CLI::App* const command, FindCommand(program, help.command));
  return PrintOutput(
      formatter->make_help(command, absl::StrCat(program.get_name(), " ", command->get_name()),
                           CLI::AppFormatMode::Normal));
}

}  // namespace

Action AddHelpVerb(CLI::App& app) {
  const auto help = std::make_shared<HelpCommand>();
  app.add_option("COMMAND", help->command, "a command of meshwright; without it all are listed");
  app.add_flag("--json", help->json, "print every command and option as JSON");
  return [help, &app] { return RunHelp(*help, *app.get_parent()); };
}

}  // namespace meshwright
