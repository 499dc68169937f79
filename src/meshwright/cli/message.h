#ifndef MESHWRIGHT_CLI_MESSAGE_H_
#define MESHWRIGHT_CLI_MESSAGE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

// What people read on a terminal: errors and warnings on standard error, answers on standard
// output.

namespace meshwright {

// Whether lines are wrapped: people read them on a terminal; logs, editors and scripts take an
// error for one line.
enum class Wrap { kColumns, kNever };

// `message` behind "meshwright: " with a newline at its end, in lines that fit a terminal if they
// are to be wrapped. What names and files hold does not steer the terminal; words and lines of any
// length stay readable. Its own line breaks are those that two spaces follow or a backslash
// precedes, as in commands for a shell, whose lines fit already (export/command_text.h); all others
// are shown as \n.
std::string MessageText(std::string_view message, Wrap wrap);

// `text`, which fits a screen, in lines of `columns` or fewer where words allow it: what is broken
// goes on further right. Commands to copy stay as they are.
std::string Narrowed(std::string_view text, size_t columns);

// The columns that lines on standard output may take: those of the terminal, as far as it has fewer
// than a screen; COLUMNS, where it is set, says it otherwise.
size_t ScreenColumns();

// Standard output: `text` in lines that fit a terminal, and that do not steer it. Errors: see
// PrintOutput, which is for documents (JSON, CSV).
absl::Status PrintScreen(std::string_view text);

// On standard error, wrapped if that is a terminal.
void PrintError(std::string_view message);
void PrintWarning(std::string_view message);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_MESSAGE_H_
