#ifndef MESHWRIGHT_PROFILE_PROFILE_TABLES_H_
#define MESHWRIGHT_PROFILE_PROFILE_TABLES_H_

#include "absl/status/status.h"
#include "meshwright/profile/sqlite.h"

namespace meshwright {

// What makes the tables of an empty profile database (docs/profile-database.md).
extern const char kProfileTables[];

// Whether a database has these, as they were made, and nothing else: no tables, views, triggers or
// indices of others. What SQLite keeps for itself (statistics) does not count. Error: damaged.
absl::Status CheckTables(const SqliteConnection& connection);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PROFILE_TABLES_H_
