#include "meshwright/profile/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "meshwright/base/one_line.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::Status SqliteError(const std::string& path, sqlite3* connection, int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(StrCat(
          path, " is locked by another process, for longer than was waited; try again later"));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::FailedPreconditionError(StrCat(path, " cannot be written"));
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          StrCat(path, " is damaged: ", OneLine(sqlite3_errmsg(connection))));
    case SQLITE_NOTADB:
      return absl::InvalidArgumentError(StrCat(path, " is no SQLite database, or is damaged"));
    default:
      return absl::InvalidArgumentError(StrCat(path, ": ", OneLine(sqlite3_errmsg(connection))));
  }
}

void SetBusyTimeout(sqlite3* connection, double seconds) {
  sqlite3_busy_timeout(connection, static_cast<int>(std::lround(seconds * 1e3)));
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteConnection::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

SqliteStatement& SqliteStatement::Bind(int parameter, int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter, value);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter, value);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::BindNull(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter);
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(path_, sqlite3_db_handle(statement_.get()), code);
}

absl::Status SqliteStatement::Run() {
  const absl::Status status = Step().status();
  sqlite3_reset(statement_.get());
  return status;
}

SqliteStatement& SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  return *this;
}

int64_t SqliteStatement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqliteStatement::Double(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string SqliteStatement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(text),
                     static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

absl::StatusOr<SqliteConnection> SqliteConnection::Open(const std::string& path, int flags,
                                                        double busy_seconds,
                                                        const std::string& name) {
  SqliteConnection result;
  result.path_ = name.empty() ? path : name;
  sqlite3* connection = nullptr;
  // Something like ":memory:" is a file's name, too.
  const bool whole = (flags & SQLITE_OPEN_URI) != 0 || path.starts_with('/');
  const int code =
      sqlite3_open_v2((whole ? path : StrCat("./", path)).c_str(), &connection, flags, nullptr);
  result.connection_.reset(connection);
  if (code != SQLITE_OK) return SqliteError(result.path_, connection, code);
  result.busy_seconds_ = busy_seconds;
  SetBusyTimeout(connection, busy_seconds);
  return result;
}

absl::StatusOr<SqliteStatement> SqliteConnection::Prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return SqliteError(path_, connection_.get(), code);
  return SqliteStatement(statement, path_);
}

absl::Status SqliteConnection::Execute(const std::string& sql) const {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(path_, connection_.get(), code);
}

absl::StatusOr<int64_t> SqliteConnection::QueryInt(std::string_view sql) const {
  MW_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  MW_RETURN_IF_ERROR(statement.Step().status());
  return statement.Int(0);
}

absl::StatusOr<std::string> SqliteConnection::QueryText(std::string_view sql) const {
  MW_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  MW_RETURN_IF_ERROR(statement.Step().status());
  return statement.Text(0);
}

int64_t SqliteConnection::Changes() const { return sqlite3_changes64(connection_.get()); }

absl::Status SqliteConnection::EmptyLog(double seconds) const {
  SetBusyTimeout(connection_.get(), seconds);
  const absl::Status moved = QueryInt("PRAGMA wal_checkpoint(TRUNCATE)").status();
  SetBusyTimeout(connection_.get(), busy_seconds_);
  return moved.code() == absl::StatusCode::kUnavailable ? absl::OkStatus() : moved;
}

absl::StatusOr<std::string> SqliteConnection::FirstBytes(size_t count) const {
  // Through SQLite: who opens and closes the file otherwise ends all locks that this process has.
  sqlite3_file* file = nullptr;
  int code = sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  sqlite3_int64 size = 0;
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  std::string bytes(std::min(count, static_cast<size_t>(size)), '\0');
  if (code == SQLITE_OK && !bytes.empty())
    code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  if (code == SQLITE_IOERR_SHORT_READ) return "";  // truncated just now
  return code == SQLITE_OK ? absl::StatusOr<std::string>(std::move(bytes))
                           : SqliteError(path_, connection_.get(), code);
}

void SqliteConnection::KeepLog() const {
  sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

absl::StatusOr<SqliteTransaction> SqliteTransaction::Begin(const SqliteConnection& connection) {
  MW_RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
  return SqliteTransaction(connection);
}

absl::StatusOr<SqliteTransaction> SqliteTransaction::BeginReading(
    const SqliteConnection& connection) {
  MW_RETURN_IF_ERROR(connection.Execute("BEGIN"));
  return SqliteTransaction(connection);
}

SqliteTransaction::~SqliteTransaction() {
  if (connection_ != nullptr) connection_->Execute("ROLLBACK").IgnoreError();
}

absl::Status SqliteTransaction::Commit() {
  MW_RETURN_IF_ERROR(connection_->Execute("COMMIT"));
  connection_ = nullptr;
  return absl::OkStatus();
}

}  // namespace meshwright
