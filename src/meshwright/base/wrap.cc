#include "meshwright/base/wrap.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"

namespace meshwright {

std::vector<std::string> Wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (const absl::string_view paragraph : absl::StrSplit(ToAbsl(text), '\n')) {
    std::string line;
    for (const absl::string_view word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
      if (!line.empty() && line.size() + 1 + word.size() > width) {
        lines.push_back(std::move(line));
        line.clear();
      }
      StrAppend(&line, line.empty() ? "" : " ", word);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string Hanging(std::string_view label, std::string_view text) {
  const size_t width = label.size() < kTerminalColumns ? kTerminalColumns - label.size() : 1;
  const std::string margin(label.size(), ' ');
  return StrCat(label, absl::StrJoin(Wrapped(text, width), StrCat("\n", margin)), "\n");
}

std::string FirstColumn(std::string_view name, size_t width) {
  if (name.size() > width) return StrCat(name, "\n", std::string(width, ' '));
  return StrCat(name, std::string(width - name.size(), ' '));
}

}  // namespace meshwright
