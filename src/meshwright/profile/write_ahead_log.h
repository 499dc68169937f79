#ifndef MESHWRIGHT_PROFILE_WRITE_AHEAD_LOG_H_
#define MESHWRIGHT_PROFILE_WRITE_AHEAD_LOG_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace meshwright {

// The file that `database` names, links followed: SQLite puts its other files beside that one.
std::string DatabaseFileOf(const std::string& database);
// Where SQLite keeps what was written to a database and is not in its file yet.
std::string WriteAheadLogOf(const std::string& database);
// What processes that have a database open share its log through.
std::string SharedMemoryOf(const std::string& database);

// Which part of the bytes of a log are not what SQLite writes: "its header", "frame 7"; empty:
// none. A frame that is cut off at the end is one that was being written.
std::string WriteAheadLogDamage(std::string_view log);

// Whether the log beside `database`, if there is one, is whole. SQLite reads a log as far as its
// checksums hold and takes the rest for what was being written when a process ended; so it would
// forget, without a word, whatever stands behind a damaged place. Others may write the log
// meanwhile. Errors: it cannot be read; it is damaged (DataLoss).
absl::Status CheckWriteAheadLog(const std::string& database);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_WRITE_AHEAD_LOG_H_
