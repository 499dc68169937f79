#include "meshwright/base/printable.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Bytes of the letter that `text` begins with, and its code; {1, -1} if it is not UTF-8.
std::pair<size_t, int32_t> FirstLetter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {1, -1};
  int32_t code = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {1, -1};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr int32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {1, -1};
  return {length, code};
}

// Ranges of letters that a terminal acts on or does not show, by Unicode's general categories Cc,
// Cf, Zl and Zp, its default ignorable code points (DerivedCoreProperties.txt), and fillers that
// look like nothing.
constexpr std::pair<int32_t, int32_t> kInvisible[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
    {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

bool IsInvisible(int32_t code) {
  return std::any_of(std::begin(kInvisible), std::end(kInvisible), [&](const auto& range) {
    return range.first <= code && code <= range.second;
  });
}

std::string Escape(int32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return code < 0x100     ? absl::StrFormat("\\x%02x", code)
             : code < 0x10000 ? absl::StrFormat("\\u%04x", code)
                              : absl::StrFormat("\\U%08x", code);
  }
}

size_t LetterWidth(size_t bytes) { return bytes <= 2 ? 1 : 2; }

// The longest prefix of valid UTF-8 `text` in `width` columns.
std::string_view Prefix(std::string_view text, size_t width) {
  size_t end = 0;
  while (end < text.size()) {
    const size_t bytes = FirstLetter(text.substr(end)).first;
    if (LetterWidth(bytes) > width) break;
    width -= LetterWidth(bytes);
    end += bytes;
  }
  return text.substr(0, end);
}

// The longest suffix of it.
std::string_view Suffix(std::string_view text, size_t width) {
  size_t begin = text.size();
  while (begin > 0) {
    size_t letter = begin - 1;
    while (letter > 0 && (static_cast<unsigned char>(text[letter]) & 0xc0) == 0x80) --letter;
    if (LetterWidth(begin - letter) > width) break;
    width -= LetterWidth(begin - letter);
    begin = letter;
  }
  return text.substr(begin);
}

std::string FitPrintable(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  const size_t tail = (width - 2) / 2;
  return absl::StrCat(ToAbsl(Prefix(text, width - 2 - tail)), "..", ToAbsl(Suffix(text, tail)));
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const size_t bytes = FirstLetter(text).first;
    width += LetterWidth(bytes);
    text.remove_prefix(bytes);
  }
  return width;
}

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const auto [bytes, code] = FirstLetter(text);
    if (code < 0) {
      printable.append(kReplacement);
    } else if (IsInvisible(code)) {
      printable.append(Escape(code));
    } else {
      printable.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes);
  }
  return printable;
}

std::string JsonPrintable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const auto [bytes, code] = FirstLetter(text);
    // Those of ASCII are escaped in strings already, or stand between values.
    if (code < 0x7f || !IsInvisible(code)) {
      printable.append(text.substr(0, bytes));
    } else if (code < 0x10000) {
      absl::StrAppendFormat(&printable, "\\u%04x", code);
    } else {
      const int32_t rest = code - 0x10000;
      absl::StrAppendFormat(&printable, "\\u%04x\\u%04x", 0xd800 + (rest >> 10),
                            0xdc00 + (rest & 0x3ff));
    }
    text.remove_prefix(bytes);
  }
  return printable;
}

std::string Fit(std::string_view text, size_t width) {
  return FitPrintable(Printable(text), width);
}

std::string FitLeft(std::string_view text, size_t width) {
  std::string shown = Fit(text, width);
  shown.append(width - std::min(width, DisplayWidth(shown)), ' ');
  return shown;
}

std::string Shortened(std::string_view text, size_t most) {
  const std::string shown = Printable(text);
  const size_t width = DisplayWidth(shown);
  if (width <= most) return shown;
  const size_t tail = most / 3;
  return absl::StrCat(ToAbsl(Prefix(shown, most - tail)), "..(", width, " characters)..",
                      ToAbsl(Suffix(shown, tail)));
}

std::vector<std::string> Broken(std::string_view text, size_t width) {
  std::vector<std::string> pieces;
  do {
    const std::string_view piece = Prefix(text, width);
    pieces.emplace_back(piece);
    text.remove_prefix(piece.size());
  } while (!text.empty());
  return pieces;
}

}  // namespace meshwright
