#ifndef MESHWRIGHT_PROFILE_PROFILE_SCHEMA_H_
#define MESHWRIGHT_PROFILE_PROFILE_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/profile/sqlite.h"

// Making, recognising and checking the file of a profile database.

namespace meshwright {

// Opens the file for reading only. One on a medium that cannot be written is read as it stands.
absl::StatusOr<SqliteConnection> OpenProfilesToRead(const std::string& path, double busy_seconds);

// Opens the file for writing; what is not there or empty becomes a database without measurements.
// Of several processes that do so at once one makes it.
absl::StatusOr<SqliteConnection> OpenProfilesToWrite(const std::string& path, double busy_seconds);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PROFILE_SCHEMA_H_
