#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/find_command.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/reference.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

struct HelpCommand {
  std::vector<std::string> command;  // and its own commands; empty: all
  bool json = false;
};

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
  const CLI::App* command = &program;
  std::string title = program.get_name();
  for (const std::string& name : help.command) {
    MW_ASSIGN_OR_RETURN(command, FindCommand(*command, name, title));
    absl::StrAppend(&title, " ", name);
  }
  return PrintOutput(formatter->make_help(command, title, CLI::AppFormatMode::Normal));
}

}  // namespace

Action AddHelpVerb(CLI::App& app) {
  const auto help = std::make_shared<HelpCommand>();
  app.add_option("COMMAND", help->command,
                 "a command of meshwright, and one of its own, as db merge; without it all are "
                 "listed");
  app.add_flag("--json", help->json, "print every command and option as JSON");
  return [help, &app] { return RunHelp(*help, *app.get_parent()); };
}

}  // namespace meshwright
