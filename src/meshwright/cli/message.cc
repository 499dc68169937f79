#include "meshwright/cli/message.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/output.h"

namespace meshwright {
namespace {

// Paths and names stay whole up to this many columns; a line of a message is at most this wide.
constexpr size_t kLongestWord = 240, kLongestLine = 1600;

// `line` as it is shown; where it is wrapped, the lines after the first stand two columns further
// right.
std::string ShownLine(std::string_view line, Wrap wrap) {
  const std::string shown = Shortened(line, kLongestLine);
  if (wrap == Wrap::kNever || DisplayWidth(shown) <= kColumns) return shown;
  const size_t begin = std::min(shown.find_first_not_of(' '), shown.size());
  const std::string margin(begin + 2, ' ');
  std::string text(begin, ' ');
  size_t used = begin;
  bool begins = true;
  const auto add = [&](std::string_view piece) {
    const size_t width = DisplayWidth(piece);
    if (!begins && used + 1 + width > kColumns) {
      absl::StrAppend(&text, "\n", margin);
      used = margin.size();
      begins = true;
    }
    StrAppend(&text, begins ? "" : " ", piece);
    used += width + (begins ? 0 : 1);
    begins = false;
  };
  for (const absl::string_view word : absl::StrSplit(shown, ' ', absl::SkipEmpty())) {
    for (const std::string& piece :
         Broken(Shortened(FromAbsl(word), kLongestWord), kColumns - margin.size()))
      add(piece);
  }
  return text;
}

}  // namespace

std::string MessageText(std::string_view message, Wrap wrap) {
  if (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  const std::string all = StrCat("meshwright: ", message);
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = all.find('\n'); end != std::string::npos; end = all.find('\n', end + 1)) {
    const bool breaks = all.compare(end + 1, 2, "  ") == 0 || (end > 0 && all[end - 1] == '\\');
    if (!breaks) continue;
    lines.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  lines.push_back(all.substr(begin));
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, ShownLine(line, wrap), "\n");
  return text;
}

absl::Status PrintScreen(std::string_view text) {
  std::string screen;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n'))
    StrAppend(&screen, ShownLine(FromAbsl(line), Wrap::kColumns), "\n");
  screen.pop_back();  // what the text itself ends with
  return PrintOutput(screen);
}

void PrintError(std::string_view message) {
  const Wrap wrap = isatty(STDERR_FILENO) != 0 ? Wrap::kColumns : Wrap::kNever;
  const std::string text = MessageText(message, wrap);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void PrintWarning(std::string_view message) { PrintError(StrCat("warning: ", message)); }

}  // namespace meshwright
