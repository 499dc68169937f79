#ifndef MESHWRIGHT_CLI_COMPLETION_H_
#define MESHWRIGHT_CLI_COMPLETION_H_

#include <string>

#include "meshwright/cli/command_tree.h"

// Scripts by which shells complete command lines: commands, options, the words that an option
// takes, and names of files where it takes one.

namespace meshwright {

std::string BashCompletion(const CommandNode& program);
std::string ZshCompletion(const CommandNode& program);
std::string FishCompletion(const CommandNode& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_COMPLETION_H_
