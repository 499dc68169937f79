#ifndef MESHWRIGHT_BASE_WRAP_H_
#define MESHWRIGHT_BASE_WRAP_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

inline constexpr size_t kTerminalColumns = 80;

// `text` in lines of at most `width` columns, broken at spaces; lines of `text` are broken each by
// itself. A longer word has a line of its own.
std::vector<std::string> Wrapped(std::string_view text, size_t width);

// `label` with `text` behind it, in lines that fit a terminal: those after the first begin under
// the beginning of `text`. Ends with a newline.
std::string Hanging(std::string_view label, std::string_view text);

// `name` as the first column of a table, `width` wide: filled with spaces, or on a line of its own
// if it is longer.
std::string FirstColumn(std::string_view name, size_t width);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_WRAP_H_
