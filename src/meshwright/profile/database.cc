#include "meshwright/profile/database.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <random>
#include <string_view>

#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/profile/profile_schema.h"
#include "meshwright/profile/profile_tables.h"
#include "meshwright/profile/stored_runs.h"

namespace meshwright {
namespace {

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

absl::Status CheckMeasurement(const ProfileMeasurement& m) {
  const bool measured = m.status == MeasurementStatus::kMeasured;
  if (measured && m.sample_seconds.empty())
    return absl::InvalidArgumentError("a measurement without samples");
  if (!measured && !m.sample_seconds.empty())
    return absl::InvalidArgumentError("samples of what was not measured");
  for (const double seconds : m.sample_seconds) {
    if (!(seconds > 0 && seconds < 1e9))
      return absl::InvalidArgumentError(StrCat("a sample of ", seconds, " seconds"));
  }
  if (!(m.compile_seconds >= 0 && m.limit_seconds >= 0))
    return absl::InvalidArgumentError("compiling took a negative time, or had one");
  if (m.peak_bytes < 0)
    return absl::InvalidArgumentError(StrCat("a peak of ", m.peak_bytes, " bytes"));
  return absl::OkStatus();
}

// The value `share` of the way through ascending `sorted`, between neighbours linearly.
double Quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

void SummarizeSamples(ProfileMeasurement* measurement) {
  std::vector<double> sorted = measurement->sample_seconds;
  measurement->samples = static_cast<int32_t>(sorted.size());
  measurement->seconds = measurement->spread = measurement->least_seconds = 0;
  if (sorted.empty()) return;
  std::sort(sorted.begin(), sorted.end());
  measurement->seconds = Quantile(sorted, 0.5);
  measurement->spread = Quantile(sorted, 0.75) - Quantile(sorted, 0.25);
  measurement->least_seconds = sorted[0];
}

std::string NewRandomId() {
  std::random_device source;
  return absl::StrFormat("%08x%08x%08x%08x", source(), source(), source(), source());
}

std::string ProfileKind(const ProfileKey& key) {
  const size_t end = key.program.find(' ');
  return end == std::string::npos ? "segment" : key.program.substr(0, end);
}

ProfileMeasurement Profile::Pooled() const {
  ProfileMeasurement pooled = runs.back().measurement;
  std::vector<double> seconds;
  int64_t peak_bytes = 0;
  for (const ProfileRun& run : runs) {
    const ProfileMeasurement& m = run.measurement;
    if (m.status != MeasurementStatus::kMeasured) continue;
    pooled = m;
    seconds.insert(seconds.end(), m.sample_seconds.begin(), m.sample_seconds.end());
    peak_bytes = std::max(peak_bytes, m.peak_bytes);
  }
  if (pooled.status == MeasurementStatus::kMeasured) pooled.peak_bytes = peak_bytes;
  pooled.sample_seconds = std::move(seconds);
  SummarizeSamples(&pooled);
  return pooled;
}

absl::StatusOr<ProfileDatabase> ProfileDatabase::Open(const std::string& path, Access access,
                                                      double busy_seconds) {
  MW_ASSIGN_OR_RETURN(SqliteConnection connection, access == Access::kRead
                                                       ? OpenProfilesToRead(path, busy_seconds)
                                                       : OpenProfilesToWrite(path, busy_seconds));
  {
    MW_ASSIGN_OR_RETURN(const SqliteTransaction reading,
                        SqliteTransaction::BeginReading(connection));
    MW_RETURN_IF_ERROR(CheckTables(connection));
    MW_RETURN_IF_ERROR(CheckContents(connection));
    MW_RETURN_IF_ERROR(CheckRuns(connection));
  }
  return ProfileDatabase(std::move(connection), OpenFiles(path));
}

absl::Status ProfileDatabase::CheckInPlace() {
  const auto lost = [](const std::string& path, std::string_view how) {
    return absl::FailedPreconditionError(
        StrCat(path, " was ", how, " while this wrote to it: what was measured since is lost"));
  };
  if (const std::string gone = files_.Gone(); !gone.empty())
    return lost(gone, "removed or replaced");
  if (files_.HasShrunk()) return lost(path(), "truncated");
  MW_ASSIGN_OR_RETURN(const bool is_ours, BeginsAsProfiles(connection_));
  return is_ours ? absl::OkStatus() : lost(path(), "overwritten");
}

absl::Status ProfileDatabase::Conclude() {
  MW_RETURN_IF_ERROR(CheckInPlace());
  MW_RETURN_IF_ERROR(connection_.EmptyLog(connection_.busy_seconds()));
  const auto lost = [this](std::string_view how) {
    return absl::FailedPreconditionError(
        StrCat("what was measured is lost, at least in part: ", path(),
               " was truncated or overwritten while this wrote to it: ", how));
  };
  // This connection remembers what it read.
  const absl::StatusOr<ProfileDatabase> now =
      Open(path(), Access::kRead, connection_.busy_seconds());
  if (now.status().code() == absl::StatusCode::kUnavailable) return now.status();  // locked
  if (!now.ok()) return lost(FromAbsl(now.status().message()));
  int64_t removed = 0;
  for (const std::string& id : stored_) {
    MW_ASSIGN_OR_RETURN(const bool is_there, HasRun(now->connection_, id));
    if (is_there) continue;
    // What others remove through SQLite this connection knows of, and of nothing else.
    MW_ASSIGN_OR_RETURN(const bool was_there, HasRun(connection_, id));
    if (was_there) return lost(StrCat("it has no run ", id));
    ++removed;
  }
  if (removed == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      StrCat(removed, " of the ", Counted(static_cast<int64_t>(stored_.size()), "run"),
             " that this stored in ", path(),
             " were removed meanwhile by another program, as `meshwright db prune` does"));
}

// Into the file itself: what is in the log is lost with the log. A reader that takes its time may
// be in the way; then a later commit does it.
absl::Status ProfileDatabase::Commit(SqliteTransaction transaction) {
  MW_RETURN_IF_ERROR(CheckInPlace());
  MW_RETURN_IF_ERROR(transaction.Commit());
  MW_RETURN_IF_ERROR(connection_.EmptyLog());
  return CheckInPlace();
}

absl::Status ProfileDatabase::Store(const ProfileEnvironment& environment, const ProfileKey& key,
                                    const std::string& description,
                                    const ProfileMeasurement& measurement) {
  MW_RETURN_IF_ERROR(CheckMeasurement(measurement));
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection_));
  MW_ASSIGN_OR_RETURN(const auto environment_row, EnvironmentRow(connection_, environment));
  MW_ASSIGN_OR_RETURN(const auto profile_row, ProfileRow(connection_, environment_row.first,
                                                         environment, key, description));
  std::string id = NewRandomId();
  MW_RETURN_IF_ERROR(AddRun(connection_, profile_row.first, environment, key,
                            {id, static_cast<int64_t>(std::time(nullptr)), HostName(), measurement})
                         .status());
  MW_RETURN_IF_ERROR(Commit(std::move(transaction)));
  stored_.push_back(std::move(id));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StoredEnvironment>> ProfileDatabase::Environments() const {
  return ReadEnvironments(connection_);
}

absl::StatusOr<std::optional<int64_t>> ProfileDatabase::NumberOf(
    const ProfileEnvironment& environment) const {
  MW_ASSIGN_OR_RETURN(const std::vector<StoredEnvironment> environments, Environments());
  for (const StoredEnvironment& stored : environments) {
    if (stored.environment == environment) return stored.number;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Profile>> ProfileDatabase::Find(const ProfileFilter& filter) const {
  return ReadProfiles(connection_, filter);
}

absl::StatusOr<std::optional<Profile>> ProfileDatabase::Get(const ProfileEnvironment& environment,
                                                            const ProfileKey& key) const {
  MW_ASSIGN_OR_RETURN(const std::optional<int64_t> number, NumberOf(environment));
  if (!number.has_value()) return std::nullopt;
  ProfileFilter filter;
  filter.environment = number;
  filter.program = key.program;
  filter.mesh = key.mesh;
  filter.choice = key.choice;
  MW_ASSIGN_OR_RETURN(const std::vector<Profile> profiles, Find(filter));
  // The filter's program may be how that of others begins.
  const auto same = std::find_if(profiles.begin(), profiles.end(),
                                 [&](const Profile& profile) { return profile.key == key; });
  return same == profiles.end() ? std::nullopt : std::optional<Profile>(*same);
}

absl::StatusOr<std::vector<MergeCounts>> ProfileDatabase::Merge(
    const std::vector<ProfileDatabase>& from) {
  std::vector<MergeCounts> all;
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection_));
  for (const ProfileDatabase& source : from) {
    MergeCounts& counts = all.emplace_back();
    MW_ASSIGN_OR_RETURN(const SqliteTransaction reading,
                        SqliteTransaction::BeginReading(source.connection_));
    MW_ASSIGN_OR_RETURN(const std::vector<StoredEnvironment> environments, source.Environments());
    MW_ASSIGN_OR_RETURN(const std::vector<Profile> profiles, source.Find({}));
    for (const Profile& profile : profiles) {
      const ProfileEnvironment& environment =
          std::find_if(environments.begin(), environments.end(), [&](const StoredEnvironment& e) {
            return e.number == profile.environment;
          })->environment;
      MW_ASSIGN_OR_RETURN(const auto environment_row, EnvironmentRow(connection_, environment));
      MW_ASSIGN_OR_RETURN(const auto profile_row,
                          ProfileRow(connection_, environment_row.first, environment, profile.key,
                                     profile.description));
      counts.environments += environment_row.second;
      counts.profiles += profile_row.second;
      for (const ProfileRun& run : profile.runs) {
        const absl::StatusOr<bool> is_new =
            AddRun(connection_, profile_row.first, environment, profile.key, run);
        if (!is_new.ok()) {
          return absl::Status(is_new.status().code(), StrCat("cannot merge ", source.path(), ": ",
                                                             FromAbsl(is_new.status().message())));
        }
        ++(*is_new ? counts.runs : counts.known_runs);
      }
    }
  }
  MW_RETURN_IF_ERROR(Commit(std::move(transaction)));
  MW_RETURN_IF_ERROR(connection_.EmptyLog(connection_.busy_seconds()));
  return all;
}

absl::StatusOr<int64_t> ProfileDatabase::Prune(const ProfileFilter& filter) {
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection_));
  MW_ASSIGN_OR_RETURN(SqliteStatement remove,
                      connection_.Prepare(StrCat("DELETE FROM profile WHERE ", kProfilesMeant)));
  BindProfilesMeant(filter, remove);
  MW_RETURN_IF_ERROR(remove.Run());
  const int64_t profiles = connection_.Changes();
  MW_RETURN_IF_ERROR(connection_.Execute(
      "DELETE FROM environment WHERE number NOT IN (SELECT environment FROM profile)"));
  MW_RETURN_IF_ERROR(RewriteLedger(connection_));
  MW_RETURN_IF_ERROR(Commit(std::move(transaction)));
  MW_RETURN_IF_ERROR(connection_.EmptyLog(connection_.busy_seconds()));
  return profiles;
}

}  // namespace meshwright
