#include "meshwright/base/python_worker.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace meshwright {
namespace {

constexpr const char* kWorker = R"(import sys
try:
    from MODULE import main
except ModuleNotFoundError as error:
    if error.name != "meshwright":
        raise
    print(f"meshwright: {sys.executable} has no package meshwright; in the repository, run "
          f"{sys.executable} -m pip install '.[jax]', or name another Python in MESHWRIGHT_PYTHON",
          file=sys.stderr)
    sys.exit(2)
sys.exit(main())
)";

// What `python` prints when it is to print "python", or the beginning of that.
absl::StatusOr<std::string> Answer(const std::string& python) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&actions] { posix_spawn_file_actions_destroy(&actions); };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::array<std::string, 4> words = {python, "-S", "-c", "print('python')"};
  std::array<char*, 5> argv = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                               nullptr};
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, python.c_str(), &actions, nullptr, argv.data(), environ);
  close(ends[1]);
  std::array<char, 16> text;
  size_t used = 0;
  while (error == 0 && used < text.size()) {
    const ssize_t n = read(ends[0], text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    used += static_cast<size_t>(n);
  }
  // One that goes on printing ends by writing into a closed pipe.
  close(ends[0]);
  if (error != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot run ", python, ": ", std::strerror(error)));
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return std::string(text.data(), used);
}

}  // namespace

absl::Status CheckPython(const std::string& python) {
  const absl::StatusOr<std::string> answer = Answer(python);
  if (!answer.ok()) return answer.status();
  if (*answer == "python\n") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(python, " does not run Python code"));
}

std::vector<std::string> PythonWorker(std::string_view module) {
  const char* const named = std::getenv("MESHWRIGHT_PYTHON");
  return {named != nullptr && *named != '\0' ? named : "python3", "-c",
          absl::StrReplaceAll(kWorker, {{"MODULE", {module.data(), module.size()}}})};
}

}  // namespace meshwright
