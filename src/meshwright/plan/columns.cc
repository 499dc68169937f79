#include "meshwright/plan/columns.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace meshwright {

std::string Fit(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  const size_t tail = (width - 2) / 2;
  return absl::StrCat(text.substr(0, width - 2 - tail), "..", text.substr(text.size() - tail));
}

std::string Columns(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right) {
  std::vector<size_t> width(right.size(), 0);
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  size_t rest = 2;
  for (size_t c = 1; c < width.size(); ++c) rest += width[c] + 2;
  constexpr size_t kMinFirst = 12;
  width[0] = std::min(width[0], rest + kMinFirst < kColumns ? kColumns - rest : kMinFirst);
  std::string text;
  for (auto& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string cell = c == 0 ? Fit(row[c], width[c]) : row[c];
      absl::StrAppend(&line, " ");
      if (right[c]) line.append(width[c] - cell.size(), ' ');
      absl::StrAppend(&line, cell);
      if (!right[c]) line.append(width[c] - cell.size(), ' ');
      absl::StrAppend(&line, " ");
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace meshwright
