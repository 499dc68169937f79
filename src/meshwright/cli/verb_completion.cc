#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "meshwright/cli/completion.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

struct Shell {
  const char* name;
  std::string (*completion)(const CommandNode& program);
};
constexpr Shell kShells[] = {
    {"bash", &BashCompletion}, {"zsh", &ZshCompletion}, {"fish", &FishCompletion}};

}  // namespace

Action AddCompletionVerb(CLI::App& app) {
  const auto asked = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  app.add_option("SHELL", *asked, "the shell that is to complete")
      ->required()
      ->check(CLI::IsMember(names));
  return [asked, &app]() -> absl::Status {
    for (const Shell& shell : kShells) {
      if (*asked == shell.name) return PrintOutput(shell.completion(TreeOf(*app.get_parent())));
    }
    return absl::InternalError("a shell without completion");
  };
}

}  // namespace meshwright
