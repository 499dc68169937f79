#include "meshwright/cli/find_command.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/nearest_name.h"

namespace meshwright {

absl::StatusOr<const CLI::App*> FindCommand(const CLI::App& parent, const std::string& name,
                                            const std::string& title) {
  std::vector<std::string> names;
  for (const CLI::App* const command : parent.get_subcommands({})) {
    if (command->get_name() == name) return command;
    names.push_back(command->get_name());
  }
  const bool is_program = parent.get_parent() == nullptr;
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", title, "` has no commands of its own; found \"", name, "\""));
  }
  // "version" is a flag here, and a command elsewhere.
  if (parent.get_option_no_throw(absl::StrCat("--", name)) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no command \"", name, "\"; did you mean --", name, "?"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      is_program ? "there is no command \"" : absl::StrCat("`", title, "` has no command \""), name,
      "\"; did you mean \"", NearestName(name, names), "\"? `",
      is_program ? "meshwright help" : absl::StrCat(title, " --help"), "` lists all"));
}

}  // namespace meshwright
