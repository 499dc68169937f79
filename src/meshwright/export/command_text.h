#ifndef MESHWRIGHT_EXPORT_COMMAND_TEXT_H_
#define MESHWRIGHT_EXPORT_COMMAND_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

// Commands in messages, to be copied from a terminal into a shell.

namespace meshwright {

// Words that stay on one line: an option and its value.
using CommandWords = std::vector<std::string>;

// A command over several lines that a shell takes for one: each begins with a line break and
// spaces, and all but the last end with a backslash. Words are quoted where a shell needs that. No
// line is wider than a terminal: a word that is goes on at the beginning of the next one.
std::string CommandText(const std::vector<CommandWords>& words);

// --fix with as many of KEY=VALUE as a line has room for, as often as needed.
std::vector<CommandWords> FixWords(const std::vector<std::string>& fixes);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_COMMAND_TEXT_H_
