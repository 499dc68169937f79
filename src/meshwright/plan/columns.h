#ifndef MESHWRIGHT_PLAN_COLUMNS_H_
#define MESHWRIGHT_PLAN_COLUMNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Text for a terminal. Names come from users: they may be in any script, of any length, or an
// attempt to write over the screen.

namespace meshwright {

// Of every screen.
inline constexpr size_t kColumns = 80;

// Columns that `text` (UTF-8) takes at most: letters of two bytes are one wide, those of more bytes
// may be two. Exact for Latin, Greek, Cyrillic, Hebrew and Arabic letters, for East Asian ones and
// for emoji.
size_t DisplayWidth(std::string_view text);

// `text` as what a terminal shows without acting on it: control characters and those that turn the
// direction of writing as escapes (\n, \x1b, \u202e), what is not UTF-8 as U+FFFD.
std::string Printable(std::string_view text);

// `text`, made printable, in `width` columns, which are at least 4; what does not fit loses its
// middle.
std::string Fit(std::string_view text, size_t width);

// Cells, made printable, in columns as wide as their widest cell, `right` where they are set flush
// right. If the line is too long, the first column gives way, then the widest ones.
std::string Columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right);

// Columns that Columns() needs for `rows` if nothing gives way.
size_t ColumnsWidth(const std::vector<std::vector<std::string>>& rows);

// Words, made printable, in lines that fit; those after the first begin with `indent` spaces. Ends
// with a newline. Unlike Wrapped (base/wrap.h), for text with names in it: words that are too long
// lose their middle.
std::string WrapWords(std::string_view text, size_t indent);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_COLUMNS_H_
