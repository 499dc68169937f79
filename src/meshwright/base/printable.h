#ifndef MESHWRIGHT_BASE_PRINTABLE_H_
#define MESHWRIGHT_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Text for a terminal. Names come from users: they may be in any script, of any length, or an
// attempt to write over the screen.

namespace meshwright {

// The width of every screen.
inline constexpr size_t kColumns = 80;

// The most columns that `text` (UTF-8) takes: letters of two bytes are one wide, longer ones may be
// two. Exact for Latin, Greek, Cyrillic, Hebrew, Arabic and East Asian letters and for emoji.
size_t DisplayWidth(std::string_view text);

// `text` as what a terminal shows without acting on it: control characters, those that turn the
// direction of writing and those that are not to be seen as escapes (\n, \x1b, \u202e, \U000e0041),
// what is not UTF-8 as U+FFFD.
std::string Printable(std::string_view text);

// JSON `text` of the same meaning, in which a terminal acts on nothing: the same characters, which
// JSON allows in strings alone, as \u and four digits, two of them (UTF-16) beyond U+FFFF. Line
// breaks between values stay.
std::string JsonPrintable(std::string_view text);

// `text`, made printable, in `width` columns, at least 4; what does not fit loses its middle.
std::string Fit(std::string_view text, size_t width);

// The same with spaces behind it up to that width.
std::string FitLeft(std::string_view text, size_t width);

// `text`, made printable; if it is wider than `most` columns, the rest of its middle is left out
// and its width is said in its place: "aaa..(10000 characters)..aaa".
std::string Shortened(std::string_view text, size_t most);

// Printable `text` in pieces of at most `width` columns, at least 2; one piece of "".
std::vector<std::string> Broken(std::string_view text, size_t width);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PRINTABLE_H_
