#ifndef TESTS_CLI_RUN_BINARY_H_
#define TESTS_CLI_RUN_BINARY_H_

#include <string>
#include <vector>

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

// Likewise with `signal` sent once its standard error holds `text`. Fails the test if it ends
// before.
RunResult RunMeshwrightAndSignal(const std::vector<std::string>& arguments, const std::string& text,
                                 int signal);

// A folder of its own for the running test, removed with what is in it at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& text) const;
  std::vector<std::string> Names() const;  // of the files in it, sorted

 private:
  std::string path_;
};

// Fails the test where a line of `output` has more than 80 columns.
void ExpectFitsATerminal(const std::string& output);

std::string ReadText(const std::string& path);

}  // namespace meshwright

#endif  // TESTS_CLI_RUN_BINARY_H_
