#include "meshwright/profile/write_ahead_log.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

// The format is that of https://sqlite.org/fileformat2.html#the_write_ahead_log: a header, then
// frames of one page each. A checksum runs through the header and all frames, every one of which
// repeats two salts of the header. When all of a log is in the database it is written again from
// its beginning, with a first salt that is one higher: frames behind the new ones keep the old
// salts.

namespace meshwright {
namespace {

constexpr size_t kLogHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
// Writers change the header and frames in several steps; none of them takes long.
constexpr int kLogAttempts = 10;
constexpr std::chrono::milliseconds kLogPause{20};
// How often a log can have been begun anew since the oldest frame in it was written.
constexpr uint32_t kMostRestarts = 1 << 20;

uint32_t BigEndian(std::string_view bytes) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t word = 0;
  for (size_t i = 4; i > 0; --i) word = word << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return word;
}

class LogChecksum {
 public:
  explicit LogChecksum(bool big_endian) : big_endian_(big_endian) {}
  void Add(std::string_view bytes) {
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      first_ += Word(bytes.substr(i)) + second_;
      second_ += Word(bytes.substr(i + 4)) + first_;
    }
  }
  // `stored`: both halves as they stand in the file.
  bool Is(std::string_view stored) const {
    return first_ == BigEndian(stored) && second_ == BigEndian(stored.substr(4));
  }

 private:
  uint32_t Word(std::string_view bytes) const {
    return big_endian_ ? BigEndian(bytes) : LittleEndian(bytes);
  }
  const bool big_endian_;
  uint32_t first_ = 0, second_ = 0;
};

}  // namespace

std::string WriteAheadLogDamage(std::string_view log) {
  if (log.size() < kLogHeaderBytes) return "";  // nothing was written yet
  constexpr uint32_t kMagic = 0x377f0682;       // the last bit: of which endianness checksums are
  const uint32_t magic = BigEndian(log), page = BigEndian(log.substr(8));
  LogChecksum checksum((magic & 1) != 0);
  checksum.Add(log.substr(0, 24));
  const bool is_power = page >= 512 && page <= 65536 && (page & (page - 1)) == 0;
  if ((magic & ~1U) != kMagic || !is_power || !checksum.Is(log.substr(24))) return "its header";
  const uint32_t salt = BigEndian(log.substr(16));
  const size_t step = kFrameHeaderBytes + page;
  size_t number = 0;
  for (size_t at = kLogHeaderBytes; at + step <= log.size(); at += step, ++number) {
    const std::string_view frame = log.substr(at, step);
    if (frame.substr(8, 8) != log.substr(16, 8)) {
      const uint32_t age = salt - BigEndian(frame.substr(8));
      if (age > 0 && age < kMostRestarts) return "";  // of before the log was begun anew
      return StrCat("frame ", number);
    }
    checksum.Add(frame.substr(0, 8));
    checksum.Add(frame.substr(kFrameHeaderBytes));
    if (!checksum.Is(frame.substr(16))) return StrCat("frame ", number);
  }
  return "";
}

std::string DatabaseFileOf(const std::string& database) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(database, error);
  return error ? database : file.string();
}

std::string WriteAheadLogOf(const std::string& database) {
  return DatabaseFileOf(database) + "-wal";
}

std::string SharedMemoryOf(const std::string& database) {
  return DatabaseFileOf(database) + "-shm";
}

absl::Status CheckWriteAheadLog(const std::string& database) {
  const std::string path = WriteAheadLogOf(database);
  std::string damage;
  for (int attempt = 0; attempt < kLogAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kLogPause);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return absl::OkStatus();
    const absl::StatusOr<std::string> log = ReadFile(path);
    if (!log.ok() && !std::filesystem::exists(path, ignored)) return absl::OkStatus();
    MW_RETURN_IF_ERROR(log.status());
    damage = WriteAheadLogDamage(*log);
    if (damage.empty()) return absl::OkStatus();
  }
  return absl::DataLossError(StrCat(database, " is damaged: ", damage, " of its log ", path,
                                    " is not what was written; without that file, ", database,
                                    " has what was stored before"));
}

}  // namespace meshwright
