#ifndef TESTS_CLI_RUN_BINARY_H_
#define TESTS_CLI_RUN_BINARY_H_

#include <functional>
#include <string>
#include <vector>

#include "tests/testing/scratch_folder.h"

namespace meshwright {

struct RunResult {
  int exit_code = -1;  // 128 + N if signal N ended it
  std::string out;
  std::string err;       // messages as they were meant: without the line breaks that wrap them
  std::string err_text;  // as it was written
};

// Runs the meshwright binary with `arguments` and `input` as its standard input; standard error is
// no terminal.
RunResult RunMeshwright(const std::vector<std::string>& arguments, const std::string& input = "");

// Likewise with `signal` sent once its standard error holds `text`, or once it is `ready`. Fails
// the test if it ends before.
RunResult RunMeshwrightAndSignal(const std::vector<std::string>& arguments, const std::string& text,
                                 int signal);
RunResult RunMeshwrightAndSignal(const std::vector<std::string>& arguments,
                                 const std::function<bool(const std::string& err)>& ready,
                                 int signal);

// Fails the test where a line of `output` has more than 80 columns.
void ExpectFitsATerminal(const std::string& output);

}  // namespace meshwright

#endif  // TESTS_CLI_RUN_BINARY_H_
