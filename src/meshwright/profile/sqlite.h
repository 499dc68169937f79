#ifndef MESHWRIGHT_PROFILE_SQLITE_H_
#define MESHWRIGHT_PROFILE_SQLITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

// SQLite's C interface with statuses instead of codes. Messages name the file.

namespace meshwright {

// A prepared statement. Must not outlive its connection.
class SqliteStatement {
 public:
  // Parameters are numbered from 1. Text is copied.
  SqliteStatement& Bind(int parameter, int64_t value);
  SqliteStatement& Bind(int parameter, double value);
  SqliteStatement& Bind(int parameter, std::string_view text);
  SqliteStatement& BindNull(int parameter);

  // Whether there is another row. Errors: busy, read-only, damaged, a constraint.
  absl::StatusOr<bool> Step();
  // Runs what returns no rows and makes the statement ready for the next values.
  absl::Status Run();
  // Ready to be run anew.
  SqliteStatement& Reset();

  // Columns of the row, from 0.
  int64_t Int(int column) const;
  double Double(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(sqlite3_stmt* statement, const std::string& path)
      : statement_(statement), path_(path) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class SqliteConnection {
 public:
  // `flags` as of sqlite3_open_v2. Others' locks are waited for up to `busy_seconds`. `name`: that
  // of messages, if `path` is a URI.
  static absl::StatusOr<SqliteConnection> Open(const std::string& path, int flags,
                                               double busy_seconds, const std::string& name = "");

  absl::StatusOr<SqliteStatement> Prepare(std::string_view sql) const;
  // Runs statements separated by semicolons, without results.
  absl::Status Execute(const std::string& sql) const;
  absl::StatusOr<int64_t> QueryInt(std::string_view sql) const;
  absl::StatusOr<std::string> QueryText(std::string_view sql) const;
  // Rows that the last statement changed.
  int64_t Changes() const;
  // Moves what is in the log into the file. Readers that are in the middle of something are waited
  // for so long; then it is left to a later call, or to whoever closes the file last.
  absl::Status EmptyLog(double seconds = 0.2) const;
  // The first bytes of the file as they are there now, whatever of it is remembered; fewer of a
  // file that is shorter.
  absl::StatusOr<std::string> FirstBytes(size_t count) const;
  // What is in the log stays there when this closes, as the last one that has the file open too:
  // the file itself is not changed.
  void KeepLog() const;

  const std::string& path() const { return path_; }
  double busy_seconds() const { return busy_seconds_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  SqliteConnection() = default;

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
  double busy_seconds_ = 0;
};

// A transaction. Rolled back unless committed.
class SqliteTransaction {
 public:
  // One that writes from its beginning: others cannot change what it reads before it ends.
  static absl::StatusOr<SqliteTransaction> Begin(const SqliteConnection& connection);
  // One that reads: all of it as it is at the first statement.
  static absl::StatusOr<SqliteTransaction> BeginReading(const SqliteConnection& connection);
  SqliteTransaction(SqliteTransaction&& other) noexcept : connection_(other.connection_) {
    other.connection_ = nullptr;
  }
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();
  absl::Status Commit();

 private:
  explicit SqliteTransaction(const SqliteConnection& connection) : connection_(&connection) {}
  const SqliteConnection* connection_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SQLITE_H_
