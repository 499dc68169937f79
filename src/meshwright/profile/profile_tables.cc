#include "meshwright/profile/profile_tables.h"

#include <sqlite3.h>

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "meshwright/base/one_line.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {

// STRICT and the checks make PRAGMA integrity_check find what no version of this program writes.
const char kProfileTables[] = R"(
CREATE TABLE environment (
  number INTEGER PRIMARY KEY,
  device TEXT NOT NULL,
  device_type TEXT NOT NULL,
  driver TEXT NOT NULL,
  libraries TEXT NOT NULL,
  hosts INTEGER NOT NULL CHECK (hosts BETWEEN 1 AND 2147483647),
  UNIQUE (device, device_type, driver, libraries, hosts)
) STRICT;
CREATE TABLE profile (
  number INTEGER PRIMARY KEY,
  environment INTEGER NOT NULL REFERENCES environment ON DELETE CASCADE,
  program TEXT NOT NULL,
  mesh TEXT NOT NULL,
  choice TEXT NOT NULL,
  description TEXT NOT NULL,
  digest INTEGER NOT NULL,
  UNIQUE (environment, program, mesh, choice)
) STRICT;
CREATE TABLE run (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 32),
  profile INTEGER NOT NULL REFERENCES profile ON DELETE CASCADE,
  unix_seconds INTEGER NOT NULL,
  host TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('measured', 'out of memory', 'failed', 'timed out')),
  error TEXT NOT NULL,
  peak_bytes INTEGER NOT NULL CHECK (peak_bytes >= 0),
  compile_seconds REAL NOT NULL CHECK (compile_seconds >= 0),
  limit_seconds REAL NOT NULL CHECK (limit_seconds >= 0),
  digest INTEGER NOT NULL
) STRICT;
CREATE INDEX run_by_profile ON run (profile);
CREATE TABLE sample (
  run TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  position INTEGER NOT NULL,
  seconds REAL NOT NULL CHECK (seconds > 0 AND seconds < 1e9),
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE collective (
  run TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
  kind TEXT NOT NULL,
  count INTEGER NOT NULL CHECK (count >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  runs INTEGER NOT NULL CHECK (runs >= 0),
  digests INTEGER NOT NULL
) STRICT;
INSERT INTO ledger VALUES (1, 0, 0);
CREATE TABLE claim (
  environment TEXT NOT NULL,
  program TEXT NOT NULL,
  mesh TEXT NOT NULL,
  choice TEXT NOT NULL,
  owner TEXT NOT NULL,
  process TEXT NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (environment, program, mesh, choice)
) STRICT, WITHOUT ROWID;
)";

namespace {

// By name: what it is ("table", "index", ...), and the statement that makes it.
using Schema = std::map<std::string, std::pair<std::string, std::string>>;

absl::StatusOr<Schema> ReadSchema(const SqliteConnection& connection) {
  MW_ASSIGN_OR_RETURN(SqliteStatement rows,
                      connection.Prepare("SELECT name, type, sql FROM sqlite_schema WHERE "
                                         "substr(name, 1, 7) <> 'sqlite_'"));
  Schema schema;
  while (true) {
    MW_ASSIGN_OR_RETURN(const bool more, rows.Step());
    if (!more) return schema;
    schema[rows.Text(0)] = {rows.Text(1), rows.Text(2)};
  }
}

// As SQLite writes it down.
absl::StatusOr<Schema> RightSchema() {
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
  MW_ASSIGN_OR_RETURN(const SqliteConnection memory,
                      SqliteConnection::Open("file::memory:", kFlags, 0));
  MW_RETURN_IF_ERROR(memory.Execute(kProfileTables));
  return ReadSchema(memory);
}

}  // namespace

absl::Status CheckTables(const SqliteConnection& connection) {
  MW_ASSIGN_OR_RETURN(const Schema right, RightSchema());
  MW_ASSIGN_OR_RETURN(const Schema found, ReadSchema(connection));
  const auto damaged = [&](std::string_view what) {
    return absl::DataLossError(StrCat(connection.path(), " is damaged: ", what));
  };
  for (const auto& [name, made] : found) {
    if (!right.contains(name))
      return damaged(StrCat("it has ", made.first == "index" ? "an " : "a ", made.first, " ",
                            OneLine(name), ", which is not its own"));
  }
  for (const auto& [name, made] : right) {
    const auto here = found.find(name);
    if (here == found.end()) return damaged(StrCat("it has no ", made.first, " ", name));
    if (here->second != made)
      return damaged(StrCat("its ", made.first, " ", name, " is not what it was made as"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
