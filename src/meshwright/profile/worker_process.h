#ifndef MESHWRIGHT_PROFILE_WORKER_PROCESS_H_
#define MESHWRIGHT_PROFILE_WORKER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace meshwright {

// A program that takes and gives lines. It goes when this goes, and when the process is killed.
class WorkerProcess {
 public:
  // `argv[0]` is looked for in PATH; what it writes to standard error goes to ours. Error: it
  // cannot be started.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(std::vector<std::string> argv);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Error: it is gone.
  absl::Status Send(std::string_view line);

  // Lets it come to its own end, which it does when it has nothing left to read; for so long.
  void Finish(double seconds);

  enum class Got {
    kLine,
    kNothing,  // in the given time
    kEnd,      // it has gone: see HowItEnded
  };
  // The next line, without its end.
  Got Receive(double seconds, std::string* line);

  // After kEnd: "ended with exit code 1", "was ended by signal 9 (Killed)".
  const std::string& HowItEnded() const { return how_it_ended_; }
  bool was_killed() const { return was_killed_; }  // it ended by a signal

 private:
  WorkerProcess(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  void Reap();

  const pid_t pid_;
  const int socket_;
  std::string buffer_;
  bool ended_ = false, was_killed_ = false;
  std::string how_it_ended_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_WORKER_PROCESS_H_
