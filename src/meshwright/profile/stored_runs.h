#ifndef MESHWRIGHT_PROFILE_STORED_RUNS_H_
#define MESHWRIGHT_PROFILE_STORED_RUNS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/sqlite.h"

// Rows of a profile database: of environments, profiles and runs, and what shows that none of them
// is missing or changed.

namespace meshwright {

// The row of an environment or profile, which is added if it is not there, and whether it was. A
// profile's description is that of whoever measured first.
absl::StatusOr<std::pair<int64_t, bool>> EnvironmentRow(const SqliteConnection& connection,
                                                        const ProfileEnvironment& environment);
// `environment_row` is that of `environment`.
absl::StatusOr<std::pair<int64_t, bool>> ProfileRow(const SqliteConnection& connection,
                                                    int64_t environment_row,
                                                    const ProfileEnvironment& environment,
                                                    const ProfileKey& key,
                                                    const std::string& description);

// Adds a run of the profile in row `profile`, which is of `environment` and `key`; whether it is
// new. Error: a run of the same id says something else.
absl::StatusOr<bool> AddRun(const SqliteConnection& connection, int64_t profile,
                            const ProfileEnvironment& environment, const ProfileKey& key,
                            const ProfileRun& run);

absl::StatusOr<bool> HasRun(const SqliteConnection& connection, const std::string& id);

// The condition of a filter on rows of profile, and its parameters.
extern const char kProfilesMeant[];
void BindProfilesMeant(const ProfileFilter& filter, SqliteStatement& statement);

absl::StatusOr<std::vector<StoredEnvironment>> ReadEnvironments(const SqliteConnection& connection);
// By environment, then key. Errors: damaged.
absl::StatusOr<std::vector<Profile>> ReadProfiles(const SqliteConnection& connection,
                                                  const ProfileFilter& filter);

// The ledger is how many runs there are and the exclusive or of their digests. Sets it to what
// there is; to be called in every transaction that removes runs, AddRun sees to it itself.
absl::Status RewriteLedger(const SqliteConnection& connection);
// Whether all runs are as they were stored, and none is missing. Errors: damaged.
absl::Status CheckRuns(const SqliteConnection& connection);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_STORED_RUNS_H_
