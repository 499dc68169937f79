#include "tests/cli/run_binary.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "meshwright/base/printable.h"

namespace meshwright {

namespace {

// Calls watch(pid, file of standard error) while the program runs.
template <typename Watch>
RunResult RunWatched(const std::vector<std::string>& arguments, const std::string& input,
                     const Watch& watch) {
  const ScratchFolder folder;
  const std::string in = folder.Write("in", input);
  const std::string out = folder.Path("out");
  const std::string err = folder.Path("err");
  std::vector<std::string> words = {MESHWRIGHT_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t pid = fork();
  if (pid == 0) {
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  watch(pid, err);
  int status = 0;
  waitpid(pid, &status, 0);
  RunResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = ReadText(out);
  result.err_text = ReadText(err);
  result.err = absl::StrReplaceAll(result.err_text, {{"\n  ", " "}});
  return result;
}

}  // namespace

RunResult RunMeshwright(const std::vector<std::string>& arguments, const std::string& input) {
  return RunWatched(arguments, input, [](pid_t, const std::string&) {});
}

RunResult RunMeshwrightAndSignal(const std::vector<std::string>& arguments, const std::string& text,
                                 int signal) {
  return RunMeshwrightAndSignal(
      arguments, [&](const std::string& err) { return err.find(text) != std::string::npos; },
      signal);
}

RunResult RunMeshwrightAndSignal(const std::vector<std::string>& arguments,
                                 const std::function<bool(const std::string& err)>& ready,
                                 int signal) {
  return RunWatched(arguments, "", [&](pid_t pid, const std::string& err) {
    const auto ended = [pid] {
      siginfo_t info = {};
      return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
    };
    for (std::string text; !ready(text = ReadText(err));) {
      if (ended()) {
        ADD_FAILURE() << "ended before it was ready; on standard error: " << text;
        return;
      }
      usleep(1000);
    }
    kill(pid, signal);
  });
}

void ExpectFitsATerminal(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(DisplayWidth(line), kColumns) << line;
}

}  // namespace meshwright
