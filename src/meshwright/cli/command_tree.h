#ifndef MESHWRIGHT_CLI_COMMAND_TREE_H_
#define MESHWRIGHT_CLI_COMMAND_TREE_H_

#include <string>
#include <vector>

#include "meshwright/cli/option_facts.h"

namespace meshwright {

// A command with what stands below it, as completions and manual pages need it.
struct CommandNode {
  std::vector<std::string>
      path;  // its name and those above it, without the program's: "db", "list"
  std::string summary;
  std::vector<OptionFacts> options;  // arguments too
  std::vector<CommandNode> commands;
};

// The program itself, whose path is empty, with all its commands.
CommandNode TreeOf(const CLI::App& program);

// `visit` of the node and all below it, parents first.
template <typename Visit>
void ForEachCommand(const CommandNode& node, const Visit& visit) {
  visit(node);
  for (const CommandNode& command : node.commands) ForEachCommand(command, visit);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_COMMAND_TREE_H_
