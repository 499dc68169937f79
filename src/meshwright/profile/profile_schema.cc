#include "meshwright/profile/profile_schema.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/one_line.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/profile_tables.h"
#include "meshwright/profile/write_ahead_log.h"

namespace meshwright {
namespace {

// PRAGMA application_id, by which file(1) could know such files: "MWpr".
constexpr int64_t kApplicationId = 0x4d577072;

absl::Status CheckIsFile(const std::string& path, bool must_exist) {
  struct stat info = {};
  if (path.empty()) return absl::InvalidArgumentError("the profile database has no name");
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT && !must_exist) {
      std::error_code ignored;
      const std::filesystem::path folder = std::filesystem::path(path).parent_path();
      if (folder.empty() || std::filesystem::is_directory(folder, ignored)) {
        if (access(folder.empty() ? "." : folder.c_str(), W_OK) == 0) return absl::OkStatus();
        return absl::FailedPreconditionError(
            StrCat("cannot make ", path, ": ", std::strerror(errno)));
      }
      return absl::NotFoundError(
          StrCat("cannot make ", path, ": there is no folder ", folder.string()));
    }
    const std::string message = StrCat("cannot open ", path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(
                                 StrCat(message, "; `meshwright profile --db ", path, "` makes it"))
                           : absl::InvalidArgumentError(message);
  }
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(path, S_ISDIR(info.st_mode) ? " is a folder" : " is no regular file",
             ", a profile database is a file"));
}

absl::Status EmptyFileError(const std::string& path) {
  return absl::InvalidArgumentError(
      StrCat(path, " is empty, no profile database; `meshwright profile --db` fills such files"));
}

absl::Status CheckFormat(const SqliteConnection& connection) {
  const std::string& path = connection.path();
  MW_ASSIGN_OR_RETURN(const int64_t application, connection.QueryInt("PRAGMA application_id"));
  if (application != kApplicationId) {
    MW_ASSIGN_OR_RETURN(const int64_t pages, connection.QueryInt("PRAGMA page_count"));
    if (pages == 0) return EmptyFileError(path);
    return absl::InvalidArgumentError(
        StrCat(path, " is an SQLite database, but not one of profiles"));
  }
  MW_ASSIGN_OR_RETURN(const int64_t format, connection.QueryInt("PRAGMA user_version"));
  if (format == kProfileFormat) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(path, " is a profile database of format ", format,
                                           ", this program reads format ", kProfileFormat,
                                           format > kProfileFormat
                                               ? " only: a newer Meshwright wrote it"
                                               : " only: measure again into a new file"));
}

// Write-ahead logging, so that readers and a writer do not wait for each other. While another
// process does the same SQLite says "locked" at once, whatever the busy timeout.
absl::Status SwitchToWal(const SqliteConnection& connection, double busy_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(busy_seconds);
  while (true) {
    const absl::StatusOr<std::string> mode = connection.QueryText("PRAGMA journal_mode = WAL");
    if (mode.ok() && *mode == "wal") return absl::OkStatus();
    if (mode.ok() || mode.status().code() != absl::StatusCode::kUnavailable) {
      // A file system without shared memory: the rollback journal is as safe.
      return mode.status();
    }
    if (Clock::now() >= end) return mode.status();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Makes the tables if there is nothing yet. In one transaction and in the file itself, before there
// is a log: whoever is killed meanwhile leaves an empty file or a whole one.
absl::Status MakeTables(const SqliteConnection& connection) {
  MW_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection));
  MW_ASSIGN_OR_RETURN(const int64_t tables,
                      connection.QueryInt("SELECT count(*) FROM sqlite_master"));
  MW_ASSIGN_OR_RETURN(const int64_t application, connection.QueryInt("PRAGMA application_id"));
  if (tables > 0 || application != 0) return absl::OkStatus();
  MW_RETURN_IF_ERROR(
      connection.Execute(absl::StrFormat("PRAGMA application_id = %d; PRAGMA user_version = %d; %s",
                                         kApplicationId, kProfileFormat, kProfileTables)));
  return transaction.Commit();
}

// Bytes that a URI may not hold as they are become %XX.
std::string FileUri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' ||
                       c == '-' || c == '_';
    if (plain) {
      uri += c;
    } else {
      absl::StrAppendFormat(&uri, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

bool IsThere(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool HasBytes(const std::string& path) {
  std::error_code ignored;
  const uintmax_t size = std::filesystem::file_size(path, ignored);
  return !ignored && size > 0;
}

// SQLite removes the log of an empty file when it opens that.
absl::Status CheckHasNoLogAlone(const std::string& path) {
  // The log first: whoever makes a database writes to the file before there is a log.
  const std::string log = WriteAheadLogOf(path);
  if (!HasBytes(log) || HasBytes(path) || !IsThere(path)) return absl::OkStatus();
  return absl::DataLossError(StrCat(path, " is empty, but not its log ", log,
                                    ": put back the file that the log is of, or remove the log"));
}

absl::StatusOr<SqliteConnection> OfThisFormat(SqliteConnection connection) {
  MW_RETURN_IF_ERROR(CheckFormat(connection));
  return connection;
}

// A database in a folder where SQLite cannot make the file that processes share the log through:
// copies of file and log can be read, whoever has the originals.
absl::StatusOr<SqliteConnection> OpenCopy(const std::string& path, double busy_seconds) {
  std::error_code error;
  std::string folder = (std::filesystem::temp_directory_path(error) / "meshwright-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    return absl::FailedPreconditionError(
        StrCat("cannot read ", path, ": it has a log and lies in a folder that cannot be written, ",
               "and there is none for temporary files; TMPDIR names one"));
  }
  const absl::Cleanup remove = [&folder] {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  };
  const std::string copy = folder + "/profiles.sqlite";
  std::filesystem::copy_file(path, copy, error);
  if (!error) std::filesystem::copy_file(WriteAheadLogOf(path), WriteAheadLogOf(copy), error);
  if (error) {
    return absl::FailedPreconditionError(
        StrCat("cannot copy ", path, " and its log to ", folder, ": ", error.message()));
  }
  MW_ASSIGN_OR_RETURN(SqliteConnection connection,
                      SqliteConnection::Open(copy, SQLITE_OPEN_READWRITE, busy_seconds, path));
  // It is open from here on, and lasts as long as that without a name.
  MW_RETURN_IF_ERROR(connection.QueryInt("PRAGMA schema_version").status());
  MW_RETURN_IF_ERROR(connection.Execute("PRAGMA query_only = ON"));
  return OfThisFormat(std::move(connection));
}

}  // namespace

absl::Status CheckContents(const SqliteConnection& connection) {
  MW_ASSIGN_OR_RETURN(const std::string found, connection.QueryText("PRAGMA integrity_check(1)"));
  if (found != "ok")
    return absl::DataLossError(StrCat(connection.path(), " is damaged: ", OneLine(found)));
  MW_ASSIGN_OR_RETURN(SqliteStatement orphans, connection.Prepare("PRAGMA foreign_key_check"));
  MW_ASSIGN_OR_RETURN(const bool any, orphans.Step());
  if (any) {
    return absl::DataLossError(StrCat(connection.path(), " is damaged: rows of table ",
                                      orphans.Text(0), " have lost theirs in ", orphans.Text(2)));
  }
  return absl::OkStatus();
}

// https://sqlite.org/fileformat2.html#the_database_header
absl::StatusOr<bool> BeginsAsProfiles(const SqliteConnection& connection) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16), kApplication = "MWpr";
  constexpr size_t kApplicationAt = 68;
  MW_ASSIGN_OR_RETURN(const std::string header,
                      connection.FirstBytes(kApplicationAt + kApplication.size()));
  return header.starts_with(kMagic) && header.ends_with(kApplication);
}

absl::Status CheckProfilesPath(const std::string& path) {
  MW_RETURN_IF_ERROR(CheckIsFile(path, /*must_exist=*/false));
  if (access(path.c_str(), F_OK) == 0 && access(path.c_str(), W_OK) != 0)
    return absl::FailedPreconditionError(StrCat("cannot write ", path, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

absl::StatusOr<SqliteConnection> OpenProfilesToRead(const std::string& path, double busy_seconds) {
  MW_RETURN_IF_ERROR(CheckIsFile(path, /*must_exist=*/true));
  if (access(path.c_str(), R_OK) != 0)
    return absl::InvalidArgumentError(StrCat("cannot open ", path, ": ", std::strerror(errno)));
  MW_RETURN_IF_ERROR(CheckHasNoLogAlone(path));
  if (!HasBytes(path)) return EmptyFileError(path);
  MW_RETURN_IF_ERROR(CheckWriteAheadLog(path));
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  const std::string log = WriteAheadLogOf(path);
  if (access(path.c_str(), W_OK) == 0 && access(folder.c_str(), W_OK) == 0) {
    const bool has_log = HasBytes(log);
    // Only a connection that may write removes the log's files when it is the last to close.
    MW_ASSIGN_OR_RETURN(SqliteConnection connection,
                        SqliteConnection::Open(path, SQLITE_OPEN_READWRITE, busy_seconds));
    if (has_log) connection.KeepLog();
    MW_RETURN_IF_ERROR(connection.Execute("PRAGMA query_only = ON"));
    return OfThisFormat(std::move(connection));
  }
  if (IsThere(log)) {
    // Someone writes it, or was killed: what is in the log counts.
    MW_ASSIGN_OR_RETURN(SqliteConnection connection,
                        SqliteConnection::Open(path, SQLITE_OPEN_READONLY, busy_seconds));
    if (connection.QueryInt("PRAGMA schema_version").ok())
      return OfThisFormat(std::move(connection));
    if (HasBytes(log)) return OpenCopy(path, busy_seconds);
  }
  MW_ASSIGN_OR_RETURN(
      SqliteConnection connection,
      SqliteConnection::Open(FileUri(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                             busy_seconds, path));
  return OfThisFormat(std::move(connection));
}

absl::StatusOr<SqliteConnection> OpenProfilesToWrite(const std::string& path, double busy_seconds) {
  MW_RETURN_IF_ERROR(CheckProfilesPath(path));
  MW_RETURN_IF_ERROR(CheckHasNoLogAlone(path));
  MW_RETURN_IF_ERROR(CheckWriteAheadLog(path));
  MW_ASSIGN_OR_RETURN(
      SqliteConnection connection,
      SqliteConnection::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, busy_seconds));
  MW_RETURN_IF_ERROR(MakeTables(connection));
  MW_RETURN_IF_ERROR(CheckFormat(connection));
  MW_RETURN_IF_ERROR(SwitchToWal(connection, busy_seconds));
  MW_RETURN_IF_ERROR(connection.Execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  return connection;
}

}  // namespace meshwright
