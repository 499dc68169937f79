#ifndef MESHWRIGHT_EXPORT_QUOTING_H_
#define MESHWRIGHT_EXPORT_QUOTING_H_

#include <string>
#include <string_view>

// Text of users (paths, names) in the languages that launches are written in, so that it is never
// taken for anything but text.

namespace meshwright {

// One word of a POSIX shell, whatever it holds but NUL: 'it'\''s'. Text that needs no quotes stays
// as it is.
std::string ShellWord(std::string_view text);

// A string in double quotes with escapes that mean the same in JSON, YAML, TOML and Python. The
// text must be UTF-8.
std::string QuotedString(std::string_view text);

// For the rest of a comment's line: control characters, line ends among them, become spaces.
std::string CommentText(std::string_view text);

// For names of jobs: everything but letters, digits, '.', '_' and '-' becomes '-'.
std::string PlainName(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_QUOTING_H_
