#include "meshwright/profile/worker_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace meshwright {

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(std::vector<std::string> argv) {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return absl::InternalError(absl::StrCat("socketpair: ", std::strerror(errno)));
  std::vector<char*> pointers;
  for (std::string& argument : argv) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start ", argv[0], ": ", std::strerror(errno)));
  }
  if (pid == 0) {
    // A group of its own: Ctrl-C is for the profiler, which stores what there is and ends its
    // worker.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    execvp(pointers[0], pointers.data());
    dprintf(STDERR_FILENO, "meshwright: cannot run %s: %s\n", pointers[0], std::strerror(errno));
    _exit(127);
  }
  close(ends[1]);
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, ends[0]));
}

WorkerProcess::~WorkerProcess() {
  close(socket_);
  if (!ended_) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

absl::Status WorkerProcess::Send(std::string_view line) {
  std::string text(line);
  text += '\n';
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError("the worker is gone");
    sent += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

void WorkerProcess::Finish(double seconds) {
  using Clock = std::chrono::steady_clock;
  shutdown(socket_, SHUT_WR);
  const Clock::time_point start = Clock::now();
  std::string ignored;
  double left = seconds;
  while (left > 0 && Receive(left, &ignored) != Got::kEnd)
    left = seconds - std::chrono::duration<double>(Clock::now() - start).count();
}

void WorkerProcess::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
  was_killed_ = WIFSIGNALED(status);
  if (was_killed_) {
    how_it_ended_ = absl::StrCat("was ended by signal ", WTERMSIG(status), " (",
                                 strsignal(WTERMSIG(status)), ")");
  } else {
    how_it_ended_ = absl::StrCat("ended with exit code ", WEXITSTATUS(status));
  }
}

WorkerProcess::Got WorkerProcess::Receive(double seconds, std::string* line) {
  while (true) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      *line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Got::kLine;
    }
    if (ended_) return Got::kEnd;
    pollfd wait = {socket_, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::clamp(seconds, 0.0, 1e6) * 1e3));
    if (ready < 0 && errno == EINTR) return Got::kNothing;  // a signal: the caller looks what it is
    if (ready == 0) return Got::kNothing;
    std::array<char, 4096> chunk;
    const ssize_t n = read(socket_, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      Reap();
      continue;
    }
    buffer_.append(chunk.data(), static_cast<size_t>(n));
  }
}

}  // namespace meshwright
