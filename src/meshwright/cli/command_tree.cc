#include "meshwright/cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace meshwright {
namespace {

CommandNode NodeOf(const CLI::App& command, std::vector<std::string> path) {
  CommandNode node = {std::move(path), command.get_description(), FactsOf(command), {}};
  for (const CLI::App* const below : command.get_subcommands({})) {
    std::vector<std::string> further = node.path;
    further.push_back(below->get_name());
    node.commands.push_back(NodeOf(*below, std::move(further)));
  }
  return node;
}

}  // namespace

CommandNode TreeOf(const CLI::App& program) { return NodeOf(program, {}); }

}  // namespace meshwright
