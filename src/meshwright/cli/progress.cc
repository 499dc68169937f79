#include "meshwright/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/quantity_text.h"

namespace meshwright {
namespace {

// Often enough to look alive, seldom enough to cost nothing and not to flood a log.
constexpr double kTerminalInterval = 0.1;
constexpr double kLogInterval = 2;

}  // namespace

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (terminal_ && shown_ > 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(shown_), "");
}

void ProgressLine::Show(const ProgramProgress& progress) {
  if (progress.seconds < next_seconds_) return;
  next_seconds_ = progress.seconds + (terminal_ ? kTerminalInterval : kLogInterval);
  std::string line = absl::StrFormat("[%5.1f s] ", progress.seconds);
  if (progress.count > 1)
    absl::StrAppendFormat(&line, "%d of %d: ", progress.number, progress.count);
  absl::StrAppend(&line, progress.mesh, progress.mesh.empty() ? "" : ": ", progress.phase);
  if (progress.gap.has_value()) absl::StrAppendFormat(&line, ", gap %.2f %%", 100 * *progress.gap);
  if (progress.best_seconds.has_value())
    absl::StrAppend(&line, ", best ", SecondsText(*progress.best_seconds));
  if (progress.left_seconds > 0)
    absl::StrAppendFormat(&line, ", %.0f s left", progress.left_seconds);
  line = Fit(line, kColumns - 1);
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  const size_t width = DisplayWidth(line);
  if (width < shown_) line.append(shown_ - width, ' ');  // covers what was there before
  shown_ = width;
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace meshwright
