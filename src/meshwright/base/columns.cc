#include "meshwright/base/columns.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

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
      const std::string cell = Fit(row[c], std::max<size_t>(width[c], 4));
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
  // The first line's indent is the text's own.
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
    shown = Fit(shown, kColumns - std::min(used + (begins ? 0 : 1), kColumns - 8));
    absl::StrAppend(&lines, begins ? "" : " ", shown);
    used += DisplayWidth(shown) + (begins ? 0 : 1);
    begins = false;
  }
  absl::StripTrailingAsciiWhitespace(&lines);
  return absl::StrCat(lines, "\n");
}

}  // namespace meshwright
