#ifndef MESHWRIGHT_PROFILE_DATABASE_H_
#define MESHWRIGHT_PROFILE_DATABASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/profile/choice.h"
#include "meshwright/profile/open_files.h"
#include "meshwright/profile/sqlite.h"

// What was measured, in an SQLite file that several profilers may write at once. See
// docs/profile-database.md.

namespace meshwright {

// Version of the file's tables (PRAGMA user_version). Files of any other are refused.
inline constexpr int64_t kProfileFormat = 4;

// One visit of a profiler to a key.
struct ProfileRun {
  std::string id;            // 32 hexadecimal digits, unique everywhere
  int64_t unix_seconds = 0;  // when it was stored
  std::string host;          // where
  ProfileMeasurement measurement;
  friend bool operator==(const ProfileRun&, const ProfileRun&) = default;
};

// All that is known of a key in an environment.
struct Profile {
  int64_t environment = 0;  // its number in this file
  ProfileKey key;
  // By whoever measured it first: what the program is, for people; may be empty. Of a whole step
  // how it is planned again, StepChoice::Way.
  std::string description;
  std::vector<ProfileRun> runs;  // by time; at least one

  // All runs together: samples of those that measured are pooled, the peak is the highest of them,
  // the rest is of the latest. If none measured: the latest.
  ProfileMeasurement Pooled() const;
  int64_t latest_unix_seconds() const { return runs.back().unix_seconds; }
};

// Sets `samples`, `seconds` (the median), `spread` (distance of the quartiles) and `least_seconds`
// from `sample_seconds`. Quartiles lie between neighbours as numpy's do by default.
void SummarizeSamples(ProfileMeasurement* measurement);

// "segment", or the first word of the other programs: "reshard", ...
std::string ProfileKind(const ProfileKey& key);

// 128 random bits as hexadecimal digits.
std::string NewRandomId();

struct StoredEnvironment {
  int64_t number = 0;
  ProfileEnvironment environment;
  int64_t profiles = 0;
  int64_t latest_unix_seconds = 0;  // of its runs
};

// Which profiles are meant; what is not given plays no part.
struct ProfileFilter {
  std::optional<int64_t> environment;  // number
  std::string program;                 // how it begins
  std::optional<std::string> mesh, choice;
  std::optional<std::string> kind;    // see ProfileKind
  std::optional<bool> measured;       // by any run
  std::optional<int64_t> older_than;  // the latest run, in Unix seconds
};

struct MergeCounts {
  int64_t environments = 0, profiles = 0, runs = 0;  // that are new
  int64_t known_runs = 0;                            // that were here already
};

// A connection to a file. Not for several threads at once; every thread or process opens its own.
class ProfileDatabase {
 public:
  enum class Access {
    kRead,   // the file must be there; neither it nor its log is changed
    kWrite,  // made if it is not there
  };
  // Waits up to `busy_seconds` for others' locks, here and in all that follows. Errors: it cannot
  // be opened or (kWrite) written, is not a profile database, is of another format, is damaged
  // (all of it is checked, every run too), stays locked.
  static absl::StatusOr<ProfileDatabase> Open(const std::string& path, Access access,
                                              double busy_seconds = 10);

  // Adds a run, in one transaction, and moves it from the log into the file: once this returns OK
  // it survives the end of the process and a loss of power. Of the measurement's samples
  // `sample_seconds` counts, the other figures follow from it. Errors: locked, full; a measurement
  // that cannot be (samples that are no positive numbers; none though measured); see CheckInPlace.
  absl::Status Store(const ProfileEnvironment& environment, const ProfileKey& key,
                     const std::string& description, const ProfileMeasurement& measurement);

  absl::StatusOr<std::vector<StoredEnvironment>> Environments() const;  // by number
  // nullopt: nothing was measured there.
  absl::StatusOr<std::optional<int64_t>> NumberOf(const ProfileEnvironment& environment) const;
  // By environment, then key. Errors: damaged.
  absl::StatusOr<std::vector<Profile>> Find(const ProfileFilter& filter) const;
  // nullopt: nothing was measured of it there.
  absl::StatusOr<std::optional<Profile>> Get(const ProfileEnvironment& environment,
                                             const ProfileKey& key) const;

  // Adds what each of `from` has and this has not: all of it, or with an error nothing. Runs are
  // known by their ids, so that merging again, or by another way, changes nothing; runs of the same
  // key and environment are kept both. Errors: a run of the same id says something else here.
  absl::StatusOr<std::vector<MergeCounts>> Merge(const std::vector<ProfileDatabase>& from);

  // Removes the profiles that `filter` means and environments left without any; counts profiles.
  absl::StatusOr<int64_t> Prune(const ProfileFilter& filter);

  // Whether the files that this writes are still those at their path, and the database's own one
  // begins as it did and is no shorter. Error: they were removed, renamed, replaced, truncated or
  // overwritten, and what is written would be lost.
  absl::Status CheckInPlace();
  // Leaves nothing in the log, if readers let it (they are waited for), and finds out whether
  // whoever opens the file now finds all runs in it that Store added, and nothing damaged.
  // Errors: of CheckInPlace and Open; a run is missing.
  absl::Status Conclude();

  const std::string& path() const { return connection_.path(); }
  const SqliteConnection& connection() const { return connection_; }

 private:
  ProfileDatabase(SqliteConnection connection, OpenFiles files)
      : connection_(std::move(connection)), files_(std::move(files)) {}
  absl::Status Commit(SqliteTransaction transaction);

  SqliteConnection connection_;
  OpenFiles files_;
  std::vector<std::string> stored_;  // ids of runs that Store added
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_DATABASE_H_
