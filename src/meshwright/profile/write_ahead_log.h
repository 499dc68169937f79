#ifndef MESHWRIGHT_PROFILE_WRITE_AHEAD_LOG_H_
#define MESHWRIGHT_PROFILE_WRITE_AHEAD_LOG_H_

#include <string>

#include "absl/status/status.h"

namespace meshwright {

// Where SQLite keeps what was written to a database and is not in its file yet.
inline std::string WriteAheadLogOf(const std::string& database) { return database + "-wal"; }

// Whether the log beside `database`, if there is one, is whole. SQLite reads a log as far as its
// checksums hold and takes the rest for what was being written when a process ended; so it would
// forget, without a word, whatever stands behind a damaged place. Others may write the log
// meanwhile. Errors: it cannot be read; it is damaged (DataLoss).
absl::Status CheckWriteAheadLog(const std::string& database);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_WRITE_AHEAD_LOG_H_
