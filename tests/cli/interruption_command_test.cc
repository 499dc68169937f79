#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/run_binary.h"
#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

// A pipe whose writer writes no more: there is nothing to show, so that one signal is enough.
TEST(InterruptionCommand, WaitingForInputEndsAtOnce) {
  const ScratchFolder folder;
  const std::string path = folder.Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int writer = open(path.c_str(), O_RDWR);
  for (const std::string verb : {"plan", "solve", "profile"}) {
    std::vector<std::string> words = {verb, path};
    if (verb == "profile")
      words = {verb, path, "--cluster", "8xh100-sxm", "--mesh", "8", "--db", folder.Path("d")};
    if (verb == "plan") words = {verb, path, "--cluster", "8xh100-sxm"};
    for (const int signal : {SIGINT, SIGTERM}) {
      SCOPED_TRACE(verb);
      ASSERT_EQ(write(writer, "\n", 1), 1);
      const auto has_read = [&](const std::string&) {
        int left = 0;
        ioctl(writer, FIONREAD, &left);
        return left == 0;
      };
      EXPECT_EQ(RunMeshwrightAndSignal(words, has_read, signal).exit_code, 128 + signal);
    }
  }
  close(writer);
}

}  // namespace
}  // namespace meshwright
