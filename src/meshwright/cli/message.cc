#include "meshwright/cli/message.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  std::string shown = Shortened(line, kLongestLine);
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

// As ScreenColumns, of `fd`.
size_t ColumnsOf(int fd) {
  constexpr size_t kLeast = 20;
  size_t columns = kColumns;
  winsize size = {};
  if (isatty(fd) != 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    columns = size.ws_col;
  uint32_t given = 0;
  const char* const text = std::getenv("COLUMNS");
  if (text != nullptr && absl::SimpleAtoi(text, &given) && given > 0) columns = given;
  return std::clamp(columns, kLeast, kColumns);
}

// A command to copy into a shell: a break would be one of the command.
bool IsCommand(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.starts_with("meshwright ") || line.ends_with(" \\");
}

std::string NarrowedLine(std::string_view line, size_t columns) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  // What is broken goes on under the text behind a label, or two columns further right.
  size_t margin = begin + 2;
  if (const size_t gap = line.find("  ", begin); gap != std::string_view::npos) {
    const size_t behind = std::min(line.find_first_not_of(' ', gap), line.size());
    if (behind <= columns / 3) margin = behind;
  }
  margin = std::min(margin, columns / 2);
  std::string text;
  size_t room = columns, from = begin;
  while (DisplayWidth(line) > room) {
    size_t cut = std::string_view::npos;
    for (size_t at = line.find(' ', from); at != std::string_view::npos;
         at = line.find(' ', at + 1)) {
      if (cut != std::string_view::npos && DisplayWidth(line.substr(0, at)) > room) break;
      cut = at;
    }
    if (cut == std::string_view::npos) break;
    StrAppend(&text, line.substr(0, line.find_last_not_of(' ', cut) + 1), "\n",
              std::string(margin, ' '));
    line.remove_prefix(std::min(line.find_first_not_of(' ', cut), line.size()));
    room = columns - margin;
    from = 0;
  }
  return StrCat(text, line);
}

}  // namespace

std::string Narrowed(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  bool goes_on = false;  // the line before ends with a backslash
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    const bool command = goes_on || IsCommand(FromAbsl(line));
    lines.push_back(command ? std::string(line) : NarrowedLine(FromAbsl(line), columns));
    goes_on = FromAbsl(line).ends_with(" \\");
  }
  return absl::StrJoin(lines, "\n");
}

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

size_t ScreenColumns() { return ColumnsOf(STDOUT_FILENO); }

absl::Status PrintScreen(std::string_view text) {
  std::string screen;
  for (const absl::string_view line : absl::StrSplit(ToAbsl(text), '\n'))
    StrAppend(&screen, ShownLine(FromAbsl(line), Wrap::kColumns), "\n");
  screen.pop_back();  // what the text itself ends with
  return PrintOutput(Narrowed(screen, ScreenColumns()));
}

void PrintError(std::string_view message) {
  const Wrap wrap = isatty(STDERR_FILENO) != 0 ? Wrap::kColumns : Wrap::kNever;
  std::string text = MessageText(message, wrap);
  if (wrap == Wrap::kColumns) text = Narrowed(text, ColumnsOf(STDERR_FILENO));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void PrintWarning(std::string_view message) { PrintError(StrCat("warning: ", message)); }

}  // namespace meshwright
