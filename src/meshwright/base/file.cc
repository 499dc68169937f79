#include "meshwright/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "meshwright/base/staged_file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::Status SystemError(std::string_view what, std::string_view path, int error) {
  const std::string message = StrCat(what, " ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
}

bool IsGzip(std::string_view data) {
  return data.size() >= 2 && data[0] == '\x1f' && data[1] == '\x8b';
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError("cannot open", path, errno);
  const absl::Cleanup close_fd = [fd] { close(fd); };
  struct stat info = {};
  if (fstat(fd, &info) != 0) return SystemError("cannot read", path, errno);
  if (S_ISDIR(info.st_mode)) return SystemError("cannot read", path, EISDIR);

  // st_size is a hint only: pipes and /proc files report 0.
  constexpr size_t kChunk = size_t{64} << 10;
  std::string data;
  size_t used = 0;
  while (true) {
    if (data.size() - used < kChunk) {
      const size_t hint = used == 0 && info.st_size > 0 ? static_cast<size_t>(info.st_size) : used;
      data.resize(used + std::max(hint, kChunk) + kChunk);
    }
    const ssize_t n = read(fd, data.data() + used, data.size() - used);
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError("cannot read", path, errno);
    }
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  data.resize(used);
  return data;
}

absl::StatusOr<std::string> MaybeGunzip(std::string data, std::string_view name,
                                        int64_t max_bytes) {
  if (!IsGzip(data)) return data;
  z_stream stream = {};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError(StrCat(name, ": no memory to inflate gzip data"));
  }
  const absl::Cleanup end = [&stream] { inflateEnd(&stream); };

  const size_t limit = static_cast<size_t>(std::max<int64_t>(max_bytes, 0));
  std::string out;
  size_t used = 0;
  size_t consumed = 0;
  while (true) {
    if (stream.avail_in == 0 && consumed < data.size()) {
      // z_stream counts in 32 bits; larger inputs are fed in pieces.
      const size_t n =
          std::min<size_t>(data.size() - consumed, std::numeric_limits<uInt>::max() / 2);
      stream.next_in = reinterpret_cast<Bytef*>(data.data() + consumed);
      stream.avail_in = static_cast<uInt>(n);
      consumed += n;
    }
    if (used == out.size()) {
      if (used > limit) {
        return absl::InvalidArgumentError(
            StrCat(name, ": inflates to more than ", max_bytes, " bytes"));
      }
      // One byte beyond the limit is room enough to notice that there is more.
      const size_t want = used == 0 ? data.size() * 8 : used * 2;
      out.resize(std::min(std::max<size_t>(want, 4096), limit + 1));
    }
    const size_t room = std::min<size_t>(out.size() - used, std::numeric_limits<uInt>::max() / 2);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (result == Z_STREAM_END) {
      // gzip files may be concatenations of members; anything else after the end is damage.
      const std::string_view rest = std::string_view(data).substr(consumed - stream.avail_in);
      if (rest.empty()) break;
      if (!IsGzip(rest)) {
        return absl::InvalidArgumentError(
            StrCat(name, ": ", rest.size(), " bytes of garbage after the gzip data"));
      }
      inflateReset(&stream);
      continue;
    }
    if (result == Z_OK || (result == Z_BUF_ERROR && stream.avail_out == 0)) continue;
    if (result == Z_BUF_ERROR) {
      return absl::InvalidArgumentError(StrCat(name, ": gzip data is truncated"));
    }
    return absl::InvalidArgumentError(StrCat(name, ": gzip data is damaged", stream.msg ? ": " : "",
                                             stream.msg ? stream.msg : ""));
  }
  if (used > limit) {
    return absl::InvalidArgumentError(
        StrCat(name, ": inflates to more than ", max_bytes, " bytes"));
  }
  out.resize(used);
  return out;
}

absl::StatusOr<std::string> ReadFileMaybeGzip(const std::string& path, int64_t max_bytes) {
  MW_ASSIGN_OR_RETURN(std::string data, ReadFile(path));
  return MaybeGunzip(std::move(data), path, max_bytes);
}

absl::Status WriteFile(const std::string& path, std::string_view data) {
  MW_ASSIGN_OR_RETURN(StagedFile staged, StagedFile::Make(path, data));
  return staged.Commit();
}

}  // namespace meshwright
