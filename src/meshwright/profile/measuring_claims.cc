#include "meshwright/profile/measuring_claims.h"

#include <sys/types.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/profile/known_profiles.h"

namespace meshwright {
namespace {

constexpr int64_t kClaimSeconds = 120;
constexpr std::chrono::seconds kRenewal{15};

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Who shares the meaning of process numbers: a boot of a machine, and a namespace of processes
// there. Empty: unknown.
std::string Machine() {
  std::error_code error;
  const std::string processes = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  const std::string boot = FirstLine("/proc/sys/kernel/random/boot_id");
  return error || boot.empty() ? "" : StrCat(boot, " ", processes);
}

// When a process was started, in ticks since the boot, so that a later one of the same number is
// not taken for it. nullopt: it has ended.
std::optional<std::string> StartOf(std::string_view process) {
  // "123 (name) S ...": the name may hold anything.
  const std::string stat = FirstLine(StrCat("/proc/", process, "/stat"));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(stat.substr(name_end + 1));
  const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
  constexpr size_t kStart = 19;  // from the state, which is the first
  if (fields.size() <= kStart || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  return fields[kStart];
}

// "MACHINE|PROCESS|START"; see HasEnded.
std::string ThisProcess() {
  const std::string process = StrCat(getpid());
  return StrCat(Machine(), "|", process, "|", StartOf(process).value_or(""));
}

// Whether a process that ThisProcess named is known to have ended.
bool HasEnded(const std::string& process) {
  const std::vector<std::string> parts = absl::StrSplit(process, '|');
  if (parts.size() != 3 || parts[0].empty() || parts[0] != Machine() || parts[2].empty())
    return false;
  return StartOf(parts[1]) != parts[2];
}

absl::Status BindAndRun(const SqliteConnection& connection, std::string_view sql,
                        const std::string& text) {
  MW_ASSIGN_OR_RETURN(SqliteStatement statement, connection.Prepare(sql));
  return statement.Bind(1, text).Run();
}

}  // namespace

MeasuringClaims::MeasuringClaims(ProfileDatabase& database, const ProfileEnvironment& environment)
    : database_(database),
      environment_(environment),
      where_(StrCat(EnvironmentText(environment), " ", environment.hosts)),
      owner_(NewRandomId()) {}

MeasuringClaims::~MeasuringClaims() { Release().IgnoreError(); }

absl::StatusOr<std::vector<ClaimAnswer>> MeasuringClaims::Claim(
    const std::vector<ProfileKey>& keys, const std::function<bool(const Profile&)>& suffices) {
  const SqliteConnection& connection = database_.connection();
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection));
  const int64_t now = std::time(nullptr);
  MW_RETURN_IF_ERROR(RemoveEnded(now));
  std::vector<ClaimAnswer> answers;
  for (const ProfileKey& key : keys) {
    MW_ASSIGN_OR_RETURN(answers.emplace_back(), ClaimOne(key, now, suffices));
  }
  // What is written might make up for what was taken from the file, so that nobody notices.
  MW_RETURN_IF_ERROR(database_.CheckInPlace());
  MW_RETURN_IF_ERROR(transaction.Commit());
  MW_RETURN_IF_ERROR(connection.EmptyLog());
  any_ = true;
  renewed_ = std::chrono::steady_clock::now();
  return answers;
}

absl::StatusOr<ClaimAnswer> MeasuringClaims::ClaimOne(
    const ProfileKey& key, int64_t now, const std::function<bool(const Profile&)>& suffices) const {
  const SqliteConnection& connection = database_.connection();
  ClaimAnswer answer;
  MW_ASSIGN_OR_RETURN(const std::optional<Profile> known, database_.Get(environment_, key));
  if (known.has_value() && suffices(*known)) {
    answer.state = ClaimAnswer::State::kKnown;
    answer.known = known->Pooled();
    return answer;
  }
  MW_ASSIGN_OR_RETURN(
      SqliteStatement add,
      connection.Prepare("INSERT INTO claim (environment, program, mesh, choice, owner, process, "
                         "expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING"));
  add.Bind(1, where_)
      .Bind(2, key.program)
      .Bind(3, key.mesh)
      .Bind(4, key.choice)
      .Bind(5, owner_)
      .Bind(6, ThisProcess())
      .Bind(7, now + kClaimSeconds);
  MW_RETURN_IF_ERROR(add.Run());
  if (connection.Changes() == 0) answer.state = ClaimAnswer::State::kTaken;
  return answer;
}

absl::Status MeasuringClaims::RemoveEnded(int64_t now) const {
  const SqliteConnection& connection = database_.connection();
  MW_RETURN_IF_ERROR(connection.Execute(StrCat("DELETE FROM claim WHERE expires <= ", now)));
  std::vector<std::string> ended;
  {
    MW_ASSIGN_OR_RETURN(SqliteStatement rows,
                        connection.Prepare("SELECT DISTINCT process FROM claim"));
    while (true) {
      MW_ASSIGN_OR_RETURN(const bool more, rows.Step());
      if (!more) break;
      if (HasEnded(rows.Text(0))) ended.push_back(rows.Text(0));
    }
  }
  for (const std::string& process : ended)
    MW_RETURN_IF_ERROR(BindAndRun(connection, "DELETE FROM claim WHERE process = ?1", process));
  return absl::OkStatus();
}

absl::Status MeasuringClaims::Renew() {
  if (!any_ || std::chrono::steady_clock::now() - renewed_ < kRenewal) return absl::OkStatus();
  MW_RETURN_IF_ERROR(database_.CheckInPlace());
  MW_RETURN_IF_ERROR(BindAndRun(database_.connection(),
                                StrCat("UPDATE claim SET expires = ",
                                       std::time(nullptr) + kClaimSeconds, " WHERE owner = ?1"),
                                owner_));
  renewed_ = std::chrono::steady_clock::now();
  return database_.connection().EmptyLog();
}

absl::Status MeasuringClaims::Release() {
  if (!any_) return absl::OkStatus();
  MW_RETURN_IF_ERROR(database_.CheckInPlace());
  MW_RETURN_IF_ERROR(
      BindAndRun(database_.connection(), "DELETE FROM claim WHERE owner = ?1", owner_));
  any_ = false;
  return database_.connection().EmptyLog();
}

}  // namespace meshwright
