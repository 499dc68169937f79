#include "meshwright/base/staged_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::Status CannotStage(std::string_view path, int error) {
  const std::string message = StrCat("cannot write ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

// Writes all of `data`; short writes are continued.
bool WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(fd, data.data(), data.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

StagedFile::StagedFile(std::string temporary, std::string path)
    : temporary_(std::move(temporary)), path_(std::move(path)) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : temporary_(std::exchange(other.temporary_, "")), path_(std::move(other.path_)) {}

StagedFile& StagedFile::operator=(StagedFile&& other) noexcept {
  std::swap(temporary_, other.temporary_);
  std::swap(path_, other.path_);
  return *this;
}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::StatusOr<StagedFile> StagedFile::Make(const std::string& path, std::string_view data) {
  // Beside the target, so that rename() is within one file system and atomic.
  std::string temporary = StrCat(path, ".XXXXXX");
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return CannotStage(path, errno);
  StagedFile staged(std::move(temporary), path);
  // mkostemp makes the file private; give it the mode a plain open() would.
  const mode_t mask = umask(0);
  umask(mask);
  const bool ok = WriteAll(fd, data) && fchmod(fd, 0666 & ~mask) == 0;
  const int error = errno;
  if (close(fd) != 0 && ok) return CannotStage(path, errno);
  if (!ok) return CannotStage(path, error);
  return staged;
}

absl::Status StagedFile::Commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return CannotStage(path_, errno);
  temporary_.clear();
  return absl::OkStatus();
}

}  // namespace meshwright
