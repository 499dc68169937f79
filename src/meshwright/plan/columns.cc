#include "meshwright/plan/columns.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
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

bool ActsOnTerminal(int32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
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
      return code < 0x100 ? absl::StrFormat("\\x%02x", code) : absl::StrFormat("\\u%04x", code);
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

// Takes columns away from the first, then from the widest, until the line fits.
void Narrow(std::vector<size_t>& width) {
  constexpr size_t kMinFirst = 12;
  const auto total = [&] {
    return std::accumulate(width.begin(), width.end(), size_t{0}) + 2 * width.size();
  };
  if (total() > kColumns && width[0] > kMinFirst)
    width[0] -= std::min(width[0] - kMinFirst, total() - kColumns);
  while (total() > kColumns) {
    size_t& widest = *std::max_element(width.begin(), width.end());
    if (widest <= 4) return;
    --widest;
  }
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
    } else if (ActsOnTerminal(code)) {
      printable.append(Escape(code));
    } else {
      printable.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes);
  }
  return printable;
}

std::string Fit(std::string_view text, size_t width) {
  return FitPrintable(Printable(text), width);
}

std::string Columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right) {
  std::vector<size_t> width(right.size(), 0);
  for (auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = Fit(row[c], kColumns);
      width[c] = std::max(width[c], DisplayWidth(row[c]));
    }
  }
  Narrow(width);
  std::string text;
  for (auto& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string cell = FitPrintable(row[c], std::max<size_t>(width[c], 4));
      const size_t taken = DisplayWidth(cell);
      const size_t padding = width[c] > taken ? width[c] - taken : 0;
      absl::StrAppend(&line, " ");
      if (right[c]) line.append(padding, ' ');
      absl::StrAppend(&line, cell);
      if (!right[c]) line.append(padding, ' ');
      absl::StrAppend(&line, " ");
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

size_t ColumnsWidth(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()), 0);
    for (size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], DisplayWidth(Printable(row[c])));
  }
  return std::accumulate(width.begin(), width.end(), size_t{0}) + 2 * width.size();
}

std::string WrapWords(std::string_view text, size_t indent) {
  std::string lines;
  size_t used = 0;
  bool begins = true;
  // What the first line is indented by is the text's own.
  const size_t first = std::min(text.find_first_not_of(' '), text.size());
  lines.append(first, ' ');
  used = first;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ', absl::SkipEmpty())) {
    std::string shown = Printable(FromAbsl(word));
    if (!begins && used + 1 + DisplayWidth(shown) > kColumns) {
      absl::StrAppend(&lines, "\n", std::string(indent, ' '));
      used = indent;
      begins = true;
    }
    shown = FitPrintable(shown, kColumns - std::min(used + (begins ? 0 : 1), kColumns - 8));
    absl::StrAppend(&lines, begins ? "" : " ", shown);
    used += DisplayWidth(shown) + (begins ? 0 : 1);
    begins = false;
  }
  absl::StripTrailingAsciiWhitespace(&lines);
  return absl::StrCat(lines, "\n");
}

}  // namespace meshwright
