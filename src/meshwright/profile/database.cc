#include "meshwright/profile/database.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <ctime>
#include <map>
#include <random>
#include <string_view>

#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/fingerprint.h"
#include "meshwright/profile/profile_schema.h"

namespace meshwright {
namespace {

constexpr std::array<std::string_view, 4> kStatusNames = {"measured", "out of memory", "failed",
                                                          "timed out"};

std::string NewRunId() {
  std::random_device source;
  return absl::StrFormat("%08x%08x%08x%08x", source(), source(), source(), source());
}

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

// Looks a row up, and adds it if it is not there. `bind` sets the parameters of `insert`, of which
// `select` takes the first ones.
template <typename BindAll>
absl::StatusOr<std::pair<int64_t, bool>> RowOf(const SqliteConnection& connection,
                                               std::string_view select, std::string_view insert,
                                               const BindAll& bind) {
  MW_ASSIGN_OR_RETURN(SqliteStatement find, connection.Prepare(select));
  bind(find);
  MW_ASSIGN_OR_RETURN(const bool found, find.Step());
  if (found) return std::pair{find.Int(0), false};
  MW_ASSIGN_OR_RETURN(SqliteStatement add, connection.Prepare(insert));
  bind(add);
  MW_RETURN_IF_ERROR(add.Run());
  MW_ASSIGN_OR_RETURN(const int64_t row, connection.QueryInt("SELECT last_insert_rowid()"));
  return std::pair{row, true};
}

constexpr std::string_view kFindEnvironment =
    "SELECT number FROM environment WHERE device = ?1 AND device_type = ?2 AND driver = ?3 AND "
    "libraries = ?4 AND hosts = ?5";

void BindEnvironment(const ProfileEnvironment& environment, SqliteStatement& statement) {
  statement.Bind(1, environment.device)
      .Bind(2, environment.device_type)
      .Bind(3, environment.driver)
      .Bind(4, environment.libraries)
      .Bind(5, int64_t{environment.hosts});
}

absl::StatusOr<std::pair<int64_t, bool>> EnvironmentRow(const SqliteConnection& connection,
                                                        const ProfileEnvironment& environment) {
  return RowOf(connection, kFindEnvironment,
               "INSERT INTO environment (device, device_type, driver, libraries, hosts) VALUES "
               "(?1, ?2, ?3, ?4, ?5)",
               [&](SqliteStatement& statement) { BindEnvironment(environment, statement); });
}

// A description is that of whoever measured first.
absl::StatusOr<std::pair<int64_t, bool>> ProfileRow(const SqliteConnection& connection,
                                                    int64_t environment, const ProfileKey& key,
                                                    const std::string& description) {
  return RowOf(connection,
               "SELECT number FROM profile WHERE environment = ?1 AND program = ?2 AND mesh = ?3 "
               "AND choice = ?4",
               "INSERT INTO profile (environment, program, mesh, choice, description) VALUES "
               "(?1, ?2, ?3, ?4, ?5)",
               [&](SqliteStatement& statement) {
                 statement.Bind(1, environment)
                     .Bind(2, key.program)
                     .Bind(3, key.mesh)
                     .Bind(4, key.choice)
                     .Bind(5, description);
               });
}

// Of all that a run says: SQLite checks the structure of a file, not what its values were.
int64_t Digest(const ProfileRun& run) {
  const ProfileMeasurement& m = run.measurement;
  Fingerprint digest;
  const auto add = [&](auto number) { digest.Add(std::bit_cast<uint64_t>(number)); };
  digest.Add(run.id).Add(run.host).Add(m.error).Add(static_cast<uint64_t>(m.status));
  add(run.unix_seconds);
  add(m.peak_bytes);
  add(m.compile_seconds);
  add(m.sample_seconds.size());
  for (const double seconds : m.sample_seconds) add(seconds);
  // In any order, and those of one kind together.
  std::map<std::string, std::pair<int64_t, int64_t>> collectives;
  for (const MeasuredCollective& c : m.collectives) {
    collectives[c.kind].first += c.count;
    collectives[c.kind].second += c.bytes;
  }
  for (const auto& [kind, sums] : collectives) {
    digest.Add(kind);
    add(sums.first);
    add(sums.second);
  }
  return std::bit_cast<int64_t>(digest.value());
}

// Whether the run is new.
absl::StatusOr<bool> AddRun(const SqliteConnection& connection, int64_t profile,
                            const ProfileRun& run) {
  const ProfileMeasurement& m = run.measurement;
  MW_ASSIGN_OR_RETURN(SqliteStatement known, connection.Prepare("SELECT 1 FROM run WHERE id = ?1"));
  MW_ASSIGN_OR_RETURN(const bool is_known, known.Bind(1, run.id).Step());
  if (is_known) return false;
  MW_ASSIGN_OR_RETURN(
      SqliteStatement add,
      connection.Prepare("INSERT INTO run (id, profile, unix_seconds, host, status, error, "
                         "peak_bytes, compile_seconds, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                         "?8, ?9)"));
  add.Bind(1, run.id)
      .Bind(2, profile)
      .Bind(3, run.unix_seconds)
      .Bind(4, run.host)
      .Bind(5, kStatusNames[static_cast<size_t>(m.status)])
      .Bind(6, m.error)
      .Bind(7, m.peak_bytes)
      .Bind(8, m.compile_seconds)
      .Bind(9, Digest(run));
  MW_RETURN_IF_ERROR(add.Run());
  MW_ASSIGN_OR_RETURN(
      SqliteStatement sample,
      connection.Prepare("INSERT INTO sample (run, position, seconds) VALUES (?1, ?2, ?3)"));
  for (size_t i = 0; i < m.sample_seconds.size(); ++i) {
    sample.Bind(1, run.id).Bind(2, static_cast<int64_t>(i)).Bind(3, m.sample_seconds[i]);
    MW_RETURN_IF_ERROR(sample.Run());
  }
  MW_ASSIGN_OR_RETURN(
      SqliteStatement collective,
      connection.Prepare("INSERT INTO collective (run, kind, count, bytes) VALUES (?1, ?2, ?3, ?4) "
                         "ON CONFLICT DO UPDATE SET count = count + ?3, bytes = bytes + ?4"));
  for (const MeasuredCollective& c : m.collectives) {
    collective.Bind(1, run.id).Bind(2, c.kind).Bind(3, c.count).Bind(4, c.bytes);
    MW_RETURN_IF_ERROR(collective.Run());
  }
  return true;
}

// The condition of `filter` on the rows of profile; its text stands in BindFilter's parameters.
constexpr std::string_view kMeant =
    "(?1 IS NULL OR profile.environment = ?1) AND substr(profile.program, 1, length(?2)) = ?2 AND "
    "(?3 IS NULL OR profile.mesh = ?3) AND (?4 IS NULL OR profile.choice = ?4) AND "
    "(?5 IS NULL OR ?5 = CASE WHEN instr(profile.program, ' ') = 0 THEN 'segment' ELSE "
    "substr(profile.program, 1, instr(profile.program, ' ') - 1) END) AND "
    "(?6 IS NULL OR ?6 = EXISTS (SELECT 1 FROM run WHERE run.profile = profile.number AND "
    "status = 'measured')) AND "
    "(?7 IS NULL OR ?7 > (SELECT max(unix_seconds) FROM run WHERE run.profile = profile.number))";

void BindFilter(const ProfileFilter& filter, SqliteStatement& statement) {
  const auto bind = [&](int parameter, const auto& value) {
    if (value.has_value()) {
      statement.Bind(parameter, *value);
    } else {
      statement.BindNull(parameter);
    }
  };
  bind(1, filter.environment);
  statement.Bind(2, filter.program);
  bind(3, filter.mesh);
  bind(4, filter.choice);
  bind(5, filter.kind);
  const std::optional<int64_t> measured = filter.measured;
  bind(6, measured);
  bind(7, filter.older_than);
}

// A run with what its row says; samples and collectives are read apart.
absl::StatusOr<ProfileRun> ReadRun(const SqliteConnection& connection, SqliteStatement& row) {
  ProfileRun run{row.Text(0), row.Int(1), row.Text(2), {}};
  ProfileMeasurement& m = run.measurement;
  const auto status = std::find(kStatusNames.begin(), kStatusNames.end(), row.Text(3));
  if (status == kStatusNames.end()) {
    return absl::DataLossError(
        StrCat(connection.path(), " is damaged: run ", run.id, " has the status ", row.Text(3)));
  }
  m.status = static_cast<MeasurementStatus>(status - kStatusNames.begin());
  m.error = row.Text(4);
  m.peak_bytes = row.Int(5);
  m.compile_seconds = row.Double(6);
  return run;
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

std::string_view MeasurementStatusName(MeasurementStatus status) {
  return kStatusNames[static_cast<size_t>(status)];
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
  return ProfileDatabase(std::move(connection));
}

absl::Status ProfileDatabase::Store(const ProfileEnvironment& environment, const ProfileKey& key,
                                    const std::string& description,
                                    const ProfileMeasurement& measurement) {
  MW_RETURN_IF_ERROR(CheckMeasurement(measurement));
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection_));
  MW_ASSIGN_OR_RETURN(const auto environment_row, EnvironmentRow(connection_, environment));
  MW_ASSIGN_OR_RETURN(const auto profile_row,
                      ProfileRow(connection_, environment_row.first, key, description));
  MW_RETURN_IF_ERROR(
      AddRun(connection_, profile_row.first,
             {NewRunId(), static_cast<int64_t>(std::time(nullptr)), HostName(), measurement})
          .status());
  return transaction.Commit();
}

absl::StatusOr<std::vector<StoredEnvironment>> ProfileDatabase::Environments() const {
  MW_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection_.Prepare(
          "SELECT e.number, e.device, e.device_type, e.driver, e.libraries, "
          "e.hosts, count(DISTINCT p.number), coalesce(max(r.unix_seconds), 0) "
          "FROM environment e LEFT JOIN profile p ON p.environment = e.number LEFT "
          "JOIN run r ON r.profile = p.number GROUP BY e.number ORDER BY e.number"));
  std::vector<StoredEnvironment> environments;
  while (true) {
    MW_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return environments;
    StoredEnvironment& stored = environments.emplace_back();
    stored.number = rows.Int(0);
    stored.environment.device = rows.Text(1);
    stored.environment.device_type = rows.Text(2);
    stored.environment.driver = rows.Text(3);
    stored.environment.libraries = rows.Text(4);
    stored.environment.hosts = static_cast<int32_t>(rows.Int(5));
    stored.profiles = rows.Int(6);
    stored.latest_unix_seconds = rows.Int(7);
  }
}

absl::StatusOr<std::optional<int64_t>> ProfileDatabase::NumberOf(
    const ProfileEnvironment& environment) const {
  MW_ASSIGN_OR_RETURN(SqliteStatement find, connection_.Prepare(kFindEnvironment));
  BindEnvironment(environment, find);
  MW_ASSIGN_OR_RETURN(const bool found, find.Step());
  return found ? std::optional<int64_t>(find.Int(0)) : std::nullopt;
}

absl::StatusOr<std::vector<Profile>> ProfileDatabase::Find(const ProfileFilter& filter) const {
  // One statement each, so that what they read is of one moment.
  MW_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection_.Prepare(
          StrCat("SELECT run.id, unix_seconds, host, status, error, peak_bytes, compile_seconds, "
                 "profile.number, environment, program, mesh, choice, description, digest FROM "
                 "profile JOIN run "
                 "ON run.profile = profile.number WHERE ",
                 kMeant, " ORDER BY environment, program, mesh, choice, unix_seconds, run.id")));
  MW_ASSIGN_OR_RETURN(
      SqliteStatement samples,
      connection_.Prepare("SELECT seconds FROM sample WHERE run = ?1 ORDER BY position"));
  MW_ASSIGN_OR_RETURN(
      SqliteStatement collectives,
      connection_.Prepare(
          "SELECT kind, count, bytes FROM collective WHERE run = ?1 ORDER BY kind"));
  BindFilter(filter, rows);
  std::vector<Profile> profiles;
  int64_t last = -1;
  while (true) {
    MW_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return profiles;
    if (rows.Int(7) != last) {
      profiles.push_back(
          {rows.Int(8), {rows.Text(9), rows.Text(10), rows.Text(11)}, rows.Text(12), {}});
      last = rows.Int(7);
    }
    MW_ASSIGN_OR_RETURN(ProfileRun run, ReadRun(connection_, rows));
    ProfileMeasurement& m = run.measurement;
    samples.Reset().Bind(1, run.id);
    while (true) {
      MW_ASSIGN_OR_RETURN(const bool sample, samples.Step());
      if (!sample) break;
      m.sample_seconds.push_back(samples.Double(0));
    }
    collectives.Reset().Bind(1, run.id);
    while (true) {
      MW_ASSIGN_OR_RETURN(const bool collective, collectives.Step());
      if (!collective) break;
      m.collectives.push_back({collectives.Text(0), collectives.Int(1), collectives.Int(2)});
    }
    if (Digest(run) != rows.Int(13)) {
      return absl::DataLossError(StrCat(connection_.path(), " is damaged: what run ", run.id,
                                        " of ", profiles.back().key.choice,
                                        " says is not what was stored"));
    }
    SummarizeSamples(&m);
    profiles.back().runs.push_back(std::move(run));
  }
}

absl::StatusOr<MergeCounts> ProfileDatabase::Merge(const ProfileDatabase& from) {
  MergeCounts counts;
  MW_ASSIGN_OR_RETURN(const std::vector<StoredEnvironment> environments, from.Environments());
  MW_ASSIGN_OR_RETURN(const std::vector<Profile> profiles, from.Find({}));
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection_));
  for (const Profile& profile : profiles) {
    const auto environment =
        std::find_if(environments.begin(), environments.end(),
                     [&](const StoredEnvironment& e) { return e.number == profile.environment; });
    if (environment == environments.end()) continue;  // added since
    MW_ASSIGN_OR_RETURN(const auto environment_row,
                        EnvironmentRow(connection_, environment->environment));
    MW_ASSIGN_OR_RETURN(const auto profile_row, ProfileRow(connection_, environment_row.first,
                                                           profile.key, profile.description));
    counts.environments += environment_row.second;
    counts.profiles += profile_row.second;
    for (const ProfileRun& run : profile.runs) {
      MW_ASSIGN_OR_RETURN(const bool is_new, AddRun(connection_, profile_row.first, run));
      ++(is_new ? counts.runs : counts.known_runs);
    }
  }
  MW_RETURN_IF_ERROR(transaction.Commit());
  return counts;
}

absl::StatusOr<int64_t> ProfileDatabase::Prune(const ProfileFilter& filter) {
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection_));
  MW_ASSIGN_OR_RETURN(SqliteStatement remove,
                      connection_.Prepare(StrCat("DELETE FROM profile WHERE ", kMeant)));
  BindFilter(filter, remove);
  MW_RETURN_IF_ERROR(remove.Run());
  const int64_t profiles = connection_.Changes();
  MW_RETURN_IF_ERROR(connection_.Execute(
      "DELETE FROM environment WHERE number NOT IN (SELECT environment FROM profile)"));
  MW_RETURN_IF_ERROR(transaction.Commit());
  return profiles;
}

}  // namespace meshwright
