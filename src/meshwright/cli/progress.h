#ifndef MESHWRIGHT_CLI_PROGRESS_H_
#define MESHWRIGHT_CLI_PROGRESS_H_

#include <cstddef>

#include "meshwright/plan/make/plan_program.h"

namespace meshwright {

// Shows on standard error how a search gets on: one line that is rewritten on a terminal, else a
// line now and then.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // takes the line off the terminal
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const ProgramProgress& progress);

 private:
  const bool terminal_;
  double next_seconds_ = 0;  // not before
  size_t shown_ = 0;         // characters on the line
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_PROGRESS_H_
