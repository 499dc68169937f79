#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <variant>

#include "absl/strings/ascii.h"
#include "meshwright/answer/db_request.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

struct DbCommand {
  const DbAction* action = nullptr;
  DbAsked asked;
};

absl::Status RunDb(const DbCommand& command) {
  const OutputFile file = {"-o", command.asked.output};
  MW_RETURN_IF_ERROR(CheckOutputs({file}, {command.asked.database}));
  MW_ASSIGN_OR_RETURN(const DbAnswer answer, command.action->run(command.asked));
  if (command.asked.json) return PrintOutput(answer.json);
  if (command.action->is_screen) return PrintScreen(answer.text);
  return file.path.empty() ? PrintOutput(answer.text) : WriteOutput(file, answer.text);
}

}  // namespace

Action AddDbVerb(CLI::App& app) {
  const auto command = std::make_shared<DbCommand>();
  for (const DbAction& action : DbActions()) {
    CLI::App& sub = *app.add_subcommand(action.name, action.summary);
    for (const Option& row : action.arguments(command->asked)) {
      std::visit(
          [&](auto* value) {
            sub.add_option(absl::AsciiStrToUpper(row.name), *value, row.help)
                ->required(row.required);
          },
          row.value);
    }
    AddOptions(sub, action.options(command->asked));
    sub.parse_complete_callback([command, &action] { command->action = &action; });
  }
  app.require_subcommand(1);
  return [command] { return RunDb(*command); };
}

}  // namespace meshwright
