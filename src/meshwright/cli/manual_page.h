#ifndef MESHWRIGHT_CLI_MANUAL_PAGE_H_
#define MESHWRIGHT_CLI_MANUAL_PAGE_H_

#include <string>

#include "meshwright/cli/command_tree.h"
#include "meshwright/cli/verb.h"

namespace meshwright {

// The page of the program in section 1 (roff with the macros of man(7)), or of its command `verb`,
// which `node` is.
std::string ProgramManual(const CommandNode& program);
std::string CommandManual(const CommandNode& node, const Verb& verb);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MANUAL_PAGE_H_
