#include "meshwright/profile/stored_runs.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/one_line.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/layers/fingerprint.h"

namespace meshwright {
namespace {

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

// SQLite checks the structure of a file, not what its values were: digests do.
void AddKey(const ProfileEnvironment& environment, const ProfileKey& key, Fingerprint* digest) {
  digest->Add(environment.device).Add(environment.device_type).Add(environment.driver);
  digest->Add(environment.libraries).Add(static_cast<uint64_t>(environment.hosts));
  digest->Add(key.program).Add(key.mesh).Add(key.choice);
}

// The digest of a row of profile, without its runs: it is the same in every database.
int64_t ProfileDigest(const ProfileEnvironment& environment, const ProfileKey& key,
                      const std::string& description) {
  Fingerprint digest;
  AddKey(environment, key, &digest);
  digest.Add(description);
  return std::bit_cast<int64_t>(digest.value());
}

// The digest of all that a run says, and of what it says that of.
int64_t RunDigest(const ProfileEnvironment& environment, const ProfileKey& key,
                  const ProfileRun& run) {
  const ProfileMeasurement& m = run.measurement;
  Fingerprint digest;
  const auto add = [&](auto number) { digest.Add(std::bit_cast<uint64_t>(number)); };
  AddKey(environment, key, &digest);
  digest.Add(run.id).Add(run.host).Add(m.error).Add(static_cast<uint64_t>(m.status));
  add(run.unix_seconds);
  add(m.peak_bytes);
  add(m.compile_seconds);
  add(m.limit_seconds);
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

absl::Status DamagedRun(const SqliteConnection& connection, std::string_view id,
                        std::string_view what) {
  return absl::DataLossError(StrCat(connection.path(), " is damaged: run ", OneLine(id), what));
}

// A run with what its row says; samples and collectives are read apart.
absl::StatusOr<ProfileRun> ReadRun(const SqliteConnection& connection, const SqliteStatement& row) {
  ProfileRun run{row.Text(0), row.Int(1), row.Text(2), {}};
  ProfileMeasurement& m = run.measurement;
  const std::optional<MeasurementStatus> status = FromWord<MeasurementStatus>(row.Text(3));
  if (!status.has_value())
    return DamagedRun(connection, run.id, StrCat(" has the status ", OneLine(row.Text(3))));
  m.status = *status;
  m.error = row.Text(4);
  m.peak_bytes = row.Int(5);
  m.compile_seconds = row.Double(6);
  m.limit_seconds = row.Double(7);
  return run;
}

// Adds `digest` to the ledger, of one more run.
absl::Status AddToLedger(const SqliteConnection& connection, int64_t digest) {
  MW_ASSIGN_OR_RETURN(const int64_t digests, connection.QueryInt("SELECT digests FROM ledger"));
  MW_ASSIGN_OR_RETURN(SqliteStatement update,
                      connection.Prepare("UPDATE ledger SET runs = runs + 1, digests = ?1"));
  return update.Bind(1, digests ^ digest).Run();
}

// What the ledger should say.
absl::StatusOr<std::pair<int64_t, int64_t>> LedgerOfRuns(const SqliteConnection& connection) {
  MW_ASSIGN_OR_RETURN(SqliteStatement rows, connection.Prepare("SELECT digest FROM run"));
  int64_t runs = 0, digests = 0;
  while (true) {
    MW_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return std::pair{runs, digests};
    ++runs;
    digests ^= rows.Int(0);
  }
}

}  // namespace

absl::StatusOr<std::pair<int64_t, bool>> EnvironmentRow(const SqliteConnection& connection,
                                                        const ProfileEnvironment& environment) {
  return RowOf(connection,
               "SELECT number FROM environment WHERE device = ?1 AND device_type = ?2 AND driver = "
               "?3 AND libraries = ?4 AND hosts = ?5",
               "INSERT INTO environment (device, device_type, driver, libraries, hosts) VALUES "
               "(?1, ?2, ?3, ?4, ?5)",
               [&](SqliteStatement& statement) {
                 statement.Bind(1, environment.device)
                     .Bind(2, environment.device_type)
                     .Bind(3, environment.driver)
                     .Bind(4, environment.libraries)
                     .Bind(5, int64_t{environment.hosts});
               });
}

absl::StatusOr<std::pair<int64_t, bool>> ProfileRow(const SqliteConnection& connection,
                                                    int64_t environment_row,
                                                    const ProfileEnvironment& environment,
                                                    const ProfileKey& key,
                                                    const std::string& description) {
  return RowOf(connection,
               "SELECT number FROM profile WHERE environment = ?1 AND program = ?2 AND mesh = ?3 "
               "AND choice = ?4",
               "INSERT INTO profile (environment, program, mesh, choice, description, digest) "
               "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
               [&](SqliteStatement& statement) {
                 statement.Bind(1, environment_row)
                     .Bind(2, key.program)
                     .Bind(3, key.mesh)
                     .Bind(4, key.choice)
                     .Bind(5, description)
                     .Bind(6, ProfileDigest(environment, key, description));
               });
}

absl::StatusOr<bool> AddRun(const SqliteConnection& connection, int64_t profile,
                            const ProfileEnvironment& environment, const ProfileKey& key,
                            const ProfileRun& run) {
  const ProfileMeasurement& m = run.measurement;
  const int64_t digest = RunDigest(environment, key, run);
  MW_ASSIGN_OR_RETURN(SqliteStatement known,
                      connection.Prepare("SELECT digest FROM run WHERE id = ?1"));
  MW_ASSIGN_OR_RETURN(const bool is_known, known.Bind(1, run.id).Step());
  if (is_known && known.Int(0) == digest) return false;
  if (is_known) {
    return absl::DataLossError(StrCat("run ", run.id, " says something else in ", connection.path(),
                                      ", or is of something else there"));
  }
  MW_ASSIGN_OR_RETURN(
      SqliteStatement add,
      connection.Prepare("INSERT INTO run (id, profile, unix_seconds, host, status, error, "
                         "peak_bytes, compile_seconds, limit_seconds, digest) VALUES (?1, ?2, ?3, "
                         "?4, ?5, ?6, ?7, ?8, ?9, ?10)"));
  add.Bind(1, run.id)
      .Bind(2, profile)
      .Bind(3, run.unix_seconds)
      .Bind(4, run.host)
      .Bind(5, Word(m.status))
      .Bind(6, m.error)
      .Bind(7, m.peak_bytes)
      .Bind(8, m.compile_seconds)
      .Bind(9, m.limit_seconds)
      .Bind(10, digest);
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
  MW_RETURN_IF_ERROR(AddToLedger(connection, digest));
  return true;
}

absl::StatusOr<bool> HasRun(const SqliteConnection& connection, const std::string& id) {
  MW_ASSIGN_OR_RETURN(SqliteStatement find, connection.Prepare("SELECT 1 FROM run WHERE id = ?1"));
  return find.Bind(1, id).Step();
}

const char kProfilesMeant[] =
    "(?1 IS NULL OR profile.environment = ?1) AND substr(profile.program, 1, length(?2)) = ?2 AND "
    "(?3 IS NULL OR profile.mesh = ?3) AND (?4 IS NULL OR profile.choice = ?4) AND "
    "(?5 IS NULL OR ?5 = CASE WHEN instr(profile.program, ' ') = 0 THEN 'segment' ELSE "
    "substr(profile.program, 1, instr(profile.program, ' ') - 1) END) AND "
    "(?6 IS NULL OR ?6 = EXISTS (SELECT 1 FROM run WHERE run.profile = profile.number AND "
    "status = 'measured')) AND "
    "(?7 IS NULL OR ?7 > (SELECT max(unix_seconds) FROM run WHERE run.profile = profile.number))";

void BindProfilesMeant(const ProfileFilter& filter, SqliteStatement& statement) {
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

absl::StatusOr<std::vector<StoredEnvironment>> ReadEnvironments(
    const SqliteConnection& connection) {
  MW_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection.Prepare("SELECT e.number, e.device, e.device_type, e.driver, e.libraries, "
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

absl::StatusOr<std::vector<Profile>> ReadProfiles(const SqliteConnection& connection,
                                                  const ProfileFilter& filter) {
  // One statement that lasts until the others are done, so that all is of one moment.
  MW_ASSIGN_OR_RETURN(
      SqliteStatement rows,
      connection.Prepare(StrCat(
          "SELECT run.id, unix_seconds, host, status, error, peak_bytes, compile_seconds, "
          "limit_seconds, run.digest, profile.number, environment.number, program, mesh, choice, "
          "description, device, driver, libraries, device_type, hosts, profile.digest FROM "
          "environment JOIN "
          "profile ON profile.environment = environment.number JOIN run ON run.profile = "
          "profile.number WHERE ",
          kProfilesMeant,
          " ORDER BY environment.number, program, mesh, choice, unix_seconds, run.id")));
  MW_ASSIGN_OR_RETURN(
      SqliteStatement samples,
      connection.Prepare("SELECT seconds, position FROM sample WHERE run = ?1 ORDER BY position"));
  MW_ASSIGN_OR_RETURN(
      SqliteStatement collectives,
      connection.Prepare("SELECT kind, count, bytes FROM collective WHERE run = ?1 ORDER BY kind"));
  BindProfilesMeant(filter, rows);
  std::vector<Profile> profiles;
  int64_t last = -1;
  while (true) {
    MW_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return profiles;
    const ProfileEnvironment environment = {rows.Text(15), rows.Text(16), rows.Text(17),
                                            rows.Text(18), static_cast<int32_t>(rows.Int(19))};
    if (rows.Int(9) != last) {
      const Profile& profile = profiles.emplace_back(
          Profile{rows.Int(10), {rows.Text(11), rows.Text(12), rows.Text(13)}, rows.Text(14), {}});
      last = rows.Int(9);
      if (ProfileDigest(environment, profile.key, profile.description) != rows.Int(20)) {
        return absl::DataLossError(StrCat(connection.path(), " is damaged: profile ", last,
                                          " says something else than was stored"));
      }
    }
    MW_ASSIGN_OR_RETURN(ProfileRun run, ReadRun(connection, rows));
    ProfileMeasurement& m = run.measurement;
    samples.Reset().Bind(1, run.id);
    while (true) {
      MW_ASSIGN_OR_RETURN(const bool sample, samples.Step());
      if (!sample) break;
      if (samples.Int(1) != static_cast<int64_t>(m.sample_seconds.size()))
        return DamagedRun(connection, run.id,
                          StrCat(" has a sample ", samples.Int(1), " out of place"));
      m.sample_seconds.push_back(samples.Double(0));
    }
    collectives.Reset().Bind(1, run.id);
    while (true) {
      MW_ASSIGN_OR_RETURN(const bool collective, collectives.Step());
      if (!collective) break;
      m.collectives.push_back({collectives.Text(0), collectives.Int(1), collectives.Int(2)});
    }
    if (RunDigest(environment, profiles.back().key, run) != rows.Int(8)) {
      return DamagedRun(connection, run.id, " says something else than was stored");
    }
    SummarizeSamples(&m);
    profiles.back().runs.push_back(std::move(run));
  }
}

absl::Status RewriteLedger(const SqliteConnection& connection) {
  MW_ASSIGN_OR_RETURN(const auto ledger, LedgerOfRuns(connection));
  MW_ASSIGN_OR_RETURN(SqliteStatement update,
                      connection.Prepare("UPDATE ledger SET runs = ?1, digests = ?2"));
  return update.Bind(1, ledger.first).Bind(2, ledger.second).Run();
}

absl::Status CheckRuns(const SqliteConnection& connection) {
  MW_RETURN_IF_ERROR(ReadProfiles(connection, {}).status());
  MW_ASSIGN_OR_RETURN(SqliteStatement stored,
                      connection.Prepare("SELECT runs, digests FROM ledger"));
  MW_ASSIGN_OR_RETURN(const bool any, stored.Step());
  MW_ASSIGN_OR_RETURN(const auto there, LedgerOfRuns(connection));
  if (any && stored.Int(0) == there.first && stored.Int(1) == there.second) return absl::OkStatus();
  return absl::DataLossError(StrCat(connection.path(), " is damaged: it has ",
                                    Counted(there.first, "run"),
                                    ", which are not the ones that were stored"));
}

}  // namespace meshwright
