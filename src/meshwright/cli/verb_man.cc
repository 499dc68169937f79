#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "meshwright/base/status.h"
#include "meshwright/cli/find_command.h"
#include "meshwright/cli/manual_page.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

absl::Status PrintManual(const std::string& name, const CLI::App& program) {
  const CommandNode tree = TreeOf(program);
  if (name.empty()) return PrintOutput(ProgramManual(tree));
  MW_RETURN_IF_ERROR(FindCommand(program, name, program.get_name()).status());
  const auto node =
      std::find_if(tree.commands.begin(), tree.commands.end(),
                   [&](const CommandNode& command) { return command.path.back() == name; });
  const auto verb = std::find_if(Verbs().begin(), Verbs().end(),
                                 [&](const Verb& row) { return name == row.name; });
  return PrintOutput(CommandManual(*node, *verb));
}

}  // namespace

Action AddManVerb(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  app.add_option("COMMAND", *name, "a command of meshwright; without it the program's own page");
  return [name, &app] { return PrintManual(*name, *app.get_parent()); };
}

}  // namespace meshwright
