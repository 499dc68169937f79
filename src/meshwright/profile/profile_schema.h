#ifndef MESHWRIGHT_PROFILE_PROFILE_SCHEMA_H_
#define MESHWRIGHT_PROFILE_PROFILE_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/profile/sqlite.h"

// Making, recognising and checking the file of a profile database.

namespace meshwright {

// Opens the file for reading only; neither it nor its log is changed. One on a medium that cannot
// be written is read, too. Errors: of another format, no such file, a damaged log, locked.
absl::StatusOr<SqliteConnection> OpenProfilesToRead(const std::string& path, double busy_seconds);

// Opens the file for writing; what is not there or empty becomes a database without measurements.
// One of several processes that do so at once makes it. Errors: the same; it cannot be written.
absl::StatusOr<SqliteConnection> OpenProfilesToWrite(const std::string& path, double busy_seconds);

// Whether a database could be opened for writing at `path`, as far as can be told without making
// one where there is none. Errors: see OpenProfilesToWrite.
absl::Status CheckProfilesPath(const std::string& path);

// Whether the file itself begins as one of this format does, whatever the connection remembers.
// Error: it cannot be read.
absl::StatusOr<bool> BeginsAsProfiles(const SqliteConnection& connection);

// Whether SQLite finds everything as it must be in the whole file. Errors: damaged.
absl::Status CheckContents(const SqliteConnection& connection);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PROFILE_SCHEMA_H_
