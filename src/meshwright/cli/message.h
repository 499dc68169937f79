#ifndef MESHWRIGHT_CLI_MESSAGE_H_
#define MESHWRIGHT_CLI_MESSAGE_H_

#include <string>
#include <string_view>

// What goes to standard error: errors and warnings.

namespace meshwright {

// `message` behind "meshwright: " in lines that fit a terminal, with a newline at its end. What
// names and files hold does not steer the terminal; words and lines of any length stay readable.
// Its own line breaks are those that two spaces follow; all others are shown as \n.
std::string MessageText(std::string_view message);

void PrintError(std::string_view message);
void PrintWarning(std::string_view message);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MESSAGE_H_
