#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "meshwright/base/file.h"
#include "meshwright/base/strings.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/merge_databases.h"
#include "meshwright/profile/stored_runs.h"
#include "meshwright/profile/write_ahead_log.h"
#include "tests/profile/without_rights.h"
#include "tests/testing/scratch_folder.h"

// What is never lost, mixed up or changed without a word.

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Access = ProfileDatabase::Access;

class DatabaseSafety : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  static ProfileKey SafetyKey(int i) {
    return {std::string(64, 'a'), "x=4", "[x] > m=x > [_] #" + std::to_string(i)};
  }
  absl::Status StoreOne(ProfileDatabase& database, int i) const {
    ProfileMeasurement measurement;
    measurement.sample_seconds = {1e-3 * (i + 1), 2e-3};
    measurement.collectives = {{"all-reduce", 2, 64}};
    return database.Store(environment_, SafetyKey(i), "a layer", measurement);
  }
  std::string MadeWith(const std::string& name, int profiles) const {
    absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(Path(name), Access::kWrite);
    EXPECT_TRUE(database.ok()) << database.status();
    for (int i = 0; i < profiles; ++i) EXPECT_TRUE(StoreOne(*database, i).ok());
    return Path(name);
  }
  // Statements behind the database's back.
  static void Sql(const std::string& path, const std::string& sql) {
    const absl::StatusOr<SqliteConnection> connection = SqliteConnection::Open(path, 2, 1);
    ASSERT_TRUE(connection.ok());
    const absl::Status status = connection->Execute(sql);
    ASSERT_TRUE(status.ok()) << status;
  }
  static std::string WhyRefused(const std::string& path, Access access) {
    const absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, access, 0.1);
    EXPECT_FALSE(database.ok());
    return std::string(database.status().message());
  }
  // A database of which `in_file` profiles are in the file and `in_log` more in the log beside it,
  // as a process leaves it that is killed while another one reads.
  std::string KilledWithALog(const std::string& name, int in_file, int in_log) const {
    const std::string path = MadeWith(name, in_file);
    const pid_t child = fork();
    if (child == 0) {
      const absl::StatusOr<SqliteConnection> reader = SqliteConnection::Open(path, 2, 1);
      bool fine = reader.ok() && reader->Execute("BEGIN; SELECT count(*) FROM run").ok();
      absl::StatusOr<ProfileDatabase> writer = ProfileDatabase::Open(path, Access::kWrite);
      for (int i = 0; i < in_log; ++i)
        fine = fine && writer.ok() && StoreOne(*writer, in_file + i).ok();
      kill(getpid(), fine ? SIGKILL : SIGTERM);
    }
    int how = 0;
    EXPECT_EQ(waitpid(child, &how, 0), child);
    EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    EXPECT_GT(std::filesystem::file_size(WriteAheadLogOf(path)), 0U);
    return path;
  }

  const ProfileEnvironment environment_ = {"NVIDIA H100 80GB HBM3", "cuda 12080", "jax 0.6.0",
                                           "h100-sxm", 1};
  const ScratchFolder folder_;
};

// Of every column that a plan rests on.
TEST_F(DatabaseSafety, FindsWhatWasChanged) {
  const std::string path = MadeWith("a.sqlite", 3);
  const std::string whole = *ReadFile(path);
  for (const char* change : {"UPDATE environment SET device = 'NVIDIA A100'",
                             "UPDATE environment SET device_type = 'a100-80g'",
                             "UPDATE environment SET driver = ''",
                             "UPDATE environment SET libraries = 'jax 0.7.0'",
                             "UPDATE environment SET hosts = 2",
                             "UPDATE profile SET program = 'b' WHERE number = 2",
                             "UPDATE profile SET mesh = 'x=8' WHERE number = 2",
                             "UPDATE profile SET choice = '[_] > m=x > [_]' WHERE number = 2",
                             "UPDATE profile SET description = 'head' WHERE number = 2",
                             "UPDATE profile SET digest = 7 WHERE number = 2",
                             "UPDATE run SET profile = 1 WHERE profile = 2",
                             "UPDATE run SET unix_seconds = 7",
                             "UPDATE run SET host = 'elsewhere'",
                             "UPDATE run SET status = 'failed' WHERE profile = 1",
                             "UPDATE run SET error = 'x'",
                             "UPDATE run SET peak_bytes = 7",
                             "UPDATE run SET compile_seconds = 7",
                             "UPDATE run SET limit_seconds = 7",
                             "UPDATE run SET digest = 7",
                             "UPDATE sample SET seconds = 7",
                             "UPDATE sample SET position = 2 WHERE position = 0",
                             "UPDATE sample SET position = 2 WHERE position = 1",
                             "UPDATE sample SET position = position - 1",
                             "DELETE FROM sample WHERE position = 1",
                             "UPDATE collective SET kind = 'all-gather'",
                             "UPDATE collective SET count = 7",
                             "UPDATE collective SET bytes = 7",
                             "DELETE FROM collective",
                             "DELETE FROM run WHERE profile = 2",
                             "DELETE FROM profile",
                             "DELETE FROM ledger",
                             "UPDATE ledger SET runs = 2"}) {
    SCOPED_TRACE(change);
    ASSERT_TRUE(WriteFile(path, whole).ok());
    Sql(path, std::string("PRAGMA foreign_keys = ON; ") + change);
    for (const Access access : {Access::kRead, Access::kWrite})
      EXPECT_THAT(WhyRefused(path, access), AllOf(HasSubstr("is damaged: "), HasSubstr(path)));
  }
}

TEST_F(DatabaseSafety, RefusesWhatItDidNotMake) {
  const std::string path = MadeWith("a.sqlite", 1);
  const std::string whole = *ReadFile(path);
  const std::vector<std::pair<const char*, const char*>> changes = {
      {"DROP TABLE claim", "it has no table claim"},
      {"DROP TABLE ledger", "it has no table ledger"},
      {"DROP INDEX run_by_profile", "it has no index run_by_profile"},
      {"CREATE TABLE notes (text)", "it has a table notes, which is not its own"},
      {"CREATE VIEW fast AS SELECT * FROM run", "it has a view fast, which"},
      {"CREATE INDEX by_host ON run (host)", "it has an index by_host, which"},
      {"CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM sample; END",
       "it has a trigger t, which"},
      {"ALTER TABLE run ADD COLUMN note TEXT", "its table run is not what it was made as"},
      {"DROP TABLE claim; CREATE VIEW claim AS SELECT 1", "its table claim is not what"}};
  for (const auto& [change, why] : changes) {
    SCOPED_TRACE(change);
    ASSERT_TRUE(WriteFile(path, whole).ok());
    Sql(path, change);
    for (const Access access : {Access::kRead, Access::kWrite})
      EXPECT_THAT(WhyRefused(path, access), HasSubstr(StrCat(path, " is damaged: ", why)));
  }
  // What SQLite makes for itself.
  ASSERT_TRUE(WriteFile(path, whole).ok());
  Sql(path, "ANALYZE; VACUUM");
  EXPECT_TRUE(ProfileDatabase::Open(path, Access::kWrite).ok());
}

TEST_F(DatabaseSafety, RefusesCountsThatDoNotFit) {
  const std::string path = MadeWith("a.sqlite", 1);
  Sql(path,
      "PRAGMA ignore_check_constraints = ON; "
      "UPDATE environment SET hosts = 9223372036854775807");
  EXPECT_THAT(WhyRefused(path, Access::kRead), HasSubstr("is damaged: CHECK constraint failed"));
}

TEST_F(DatabaseSafety, ErrorsAreOneLine) {
  const std::string path = MadeWith("a.sqlite", 60);
  const std::string whole = *ReadFile(path);
  int refused = 0;
  for (size_t page = 1; (page + 1) * 4096 <= whole.size(); ++page) {
    std::string bad = whole;
    std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(page) * 4096, 4096, '\x55');
    ASSERT_TRUE(WriteFile(path, bad).ok());
    const auto database = ProfileDatabase::Open(path, Access::kRead);
    if (database.ok()) continue;
    ++refused;
    const std::string message(database.status().message());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_GT(refused, 5);
}

TEST_F(DatabaseSafety, WhatIsStoredIsInTheFileItself) {
  const std::string path = Path("a.sqlite");
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(StoreOne(*database, i).ok());
    std::filesystem::copy_file(path, Path("copy"),
                               std::filesystem::copy_options::overwrite_existing);
    const auto copy = ProfileDatabase::Open(Path("copy"), Access::kRead);
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(copy->Find({})->size(), i + 1U);
  }
}

// SQLite cannot tell a log that was cut off between two transactions from one that was never
// longer.
TEST_F(DatabaseSafety, LeavesNothingInTheLogInTheEnd) {
  const std::string path = MadeWith("a.sqlite", 1);
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
  const absl::StatusOr<SqliteConnection> reader = SqliteConnection::Open(path, 2, 1);
  ASSERT_TRUE(reader->Execute("BEGIN; SELECT count(*) FROM run").ok());
  ASSERT_TRUE(StoreOne(*database, 1).ok());
  EXPECT_GT(std::filesystem::file_size(WriteAheadLogOf(path)), 0U);
  std::thread slow([&reader] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_TRUE(reader->Execute("COMMIT").ok());
  });
  const absl::Status concluded = database->Conclude();
  slow.join();
  EXPECT_TRUE(concluded.ok()) << concluded;
  EXPECT_EQ(std::filesystem::file_size(WriteAheadLogOf(path)), 0U);
}

TEST_F(DatabaseSafety, ReadingChangesNothing) {
  const std::string path = KilledWithALog("a.sqlite", 2, 3);
  const std::string log = WriteAheadLogOf(path);
  const std::string file_before = *ReadFile(path), log_before = *ReadFile(log);
  for (int again = 0; again < 2; ++again) {
    const auto database = ProfileDatabase::Open(path, Access::kRead);
    ASSERT_TRUE(database.ok()) << database.status();
    EXPECT_EQ(database->Find({})->size(), 5U);
  }
  EXPECT_TRUE(MergeDatabases(Path("b.sqlite"), {path}).ok());
  EXPECT_EQ(ProfileDatabase::Open(Path("b.sqlite"), Access::kRead)->Find({})->size(), 5U);
  EXPECT_EQ(*ReadFile(path), file_before);
  EXPECT_EQ(*ReadFile(log), log_before);
  // Whoever writes takes it all in.
  EXPECT_TRUE(ProfileDatabase::Open(path, Access::kWrite).ok());
  EXPECT_FALSE(std::filesystem::exists(log));
  EXPECT_EQ(ProfileDatabase::Open(path, Access::kRead)->Find({})->size(), 5U);
}

TEST_F(DatabaseSafety, FindsADamagedLog) {
  const std::string path = KilledWithALog("a.sqlite", 2, 3);
  const std::string log = WriteAheadLogOf(path);
  const std::string whole = *ReadFile(log);
  std::filesystem::remove(path + "-shm");
  ASSERT_GT(whole.size(), 10000U);
  EXPECT_EQ(WriteAheadLogDamage(whole), "");
  for (size_t at = 0; at < whole.size(); at += 7) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] + 1);
    EXPECT_NE(WriteAheadLogDamage(bad), "") << at;
    if (at == 7007) {
      ASSERT_TRUE(WriteFile(log, bad).ok());
    }
  }
  for (const Access access : {Access::kRead, Access::kWrite}) {
    EXPECT_THAT(WhyRefused(path, access),
                AllOf(HasSubstr("is damaged: "), HasSubstr("of its log " + log)));
  }
  EXPECT_THAT(folder_.Names(), ElementsAre("a.sqlite", "a.sqlite-wal"));
  // What was being written when a process ended is no damage.
  ASSERT_TRUE(WriteFile(log, whole.substr(0, whole.size() - 100)).ok());
  const auto shorter = ProfileDatabase::Open(path, Access::kRead);
  ASSERT_TRUE(shorter.ok()) << shorter.status();
  EXPECT_EQ(shorter->Find({})->size(), 4U);
}

// A log of another time, beside a file that has gone on since.
TEST_F(DatabaseSafety, FindsALogThatDoesNotBelong) {
  const std::string path = KilledWithALog("a.sqlite", 2, 3);
  const std::string log = *ReadFile(WriteAheadLogOf(path));
  {
    absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
    for (int i = 5; i < 40; ++i) ASSERT_TRUE(StoreOne(*database, i).ok());
  }
  ASSERT_TRUE(WriteFile(WriteAheadLogOf(path), log).ok());
  EXPECT_THAT(WhyRefused(path, Access::kRead), HasSubstr("is damaged"));
}

TEST_F(DatabaseSafety, LeavesALogAloneWhoseFileIsEmpty) {
  const std::string path = KilledWithALog("a.sqlite", 2, 3), log = WriteAheadLogOf(path);
  const std::string whole = *ReadFile(path), log_before = *ReadFile(log);
  std::filesystem::remove(path + "-shm");
  ASSERT_TRUE(WriteFile(path, "").ok());
  for (const Access access : {Access::kRead, Access::kWrite})
    EXPECT_THAT(WhyRefused(path, access), HasSubstr("is empty, but not its log " + log));
  EXPECT_THAT(folder_.Names(), ElementsAre("a.sqlite", "a.sqlite-wal"));
  EXPECT_EQ(*ReadFile(path), "");
  EXPECT_EQ(*ReadFile(log), log_before);
  // Nothing is lost.
  ASSERT_TRUE(WriteFile(path, whole).ok());
  EXPECT_EQ(ProfileDatabase::Open(path, Access::kRead)->Find({})->size(), 5U);
}

TEST_F(DatabaseSafety, ReadsALogInAFolderThatCannotBeWritten) {
  const std::string path = KilledWithALog("a.sqlite", 2, 3);
  std::filesystem::remove(path + "-shm");
  const std::vector<std::string> names = folder_.Names();
  const WithoutRights without_rights(folder_.path());
  const auto database = ProfileDatabase::Open(path, Access::kRead);
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ(database->Find({})->size(), 5U);
  EXPECT_EQ(folder_.Names(), names);
}

TEST_F(DatabaseSafety, NoticesThatItsFilesWereTaken) {
  const std::vector<std::function<void(const std::string&)>> ways = {
      [](const std::string& path) { std::filesystem::remove(path); },
      [](const std::string& path) { std::filesystem::rename(path, path + ".old"); },
      [this](const std::string& path) { std::filesystem::rename(MadeWith("b.sqlite", 1), path); },
      [](const std::string& path) { std::filesystem::remove(WriteAheadLogOf(path)); },
      [](const std::string& path) { std::filesystem::remove(path + "-shm"); },
      [this](const std::string&) { std::filesystem::remove_all(folder_.path()); }};
  for (size_t way = 0; way < ways.size(); ++way) {
    SCOPED_TRACE(way);
    std::filesystem::create_directories(folder_.path());
    const std::string path = MadeWith("a.sqlite", 1);
    absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
    ASSERT_TRUE(StoreOne(*database, 1).ok());
    ways[way](path);
    const absl::Status stored = StoreOne(*database, 2);
    EXPECT_EQ(stored.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(stored.message()), HasSubstr("was removed or replaced"));
    database = absl::CancelledError();
    std::filesystem::remove_all(folder_.path());
  }
  std::filesystem::create_directories(folder_.path());
}

TEST_F(DatabaseSafety, NoticesThatItsFileWasChanged) {
  const std::string other = *ReadFile(MadeWith("other.sqlite", 3));
  struct Way {
    std::string content;
    bool at_once;  // when something is written
  };
  for (const Way& way :
       {Way{"", true}, Way{other.substr(0, 20000), true}, Way{std::string(90000, 'x'), true},
        Way{other, false}, Way{other.substr(0, 30000) + std::string(90000, 'x'), false}}) {
    SCOPED_TRACE(way.content.size());
    const std::string path = MadeWith("a.sqlite", 1);
    absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
    ASSERT_TRUE(StoreOne(*database, 1).ok());
    ASSERT_TRUE(database->Conclude().ok());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << way.content;  // no other file
    if (way.at_once) {
      const absl::Status stored = StoreOne(*database, 2);
      EXPECT_EQ(stored.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(stored.message()), AnyOf(HasSubstr(path + " was truncated while"),
                                                       HasSubstr(path + " was overwritten while")));
    }
    const absl::Status checked = database->Conclude();
    EXPECT_EQ(checked.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(checked.message()), HasSubstr("while this wrote to it: "));
    database = absl::CancelledError();
    std::filesystem::remove(path);
  }
}

TEST_F(DatabaseSafety, TellsWhatOthersPruned) {
  const std::string path = MadeWith("a.sqlite", 1);
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
  ASSERT_TRUE(StoreOne(*database, 1).ok());
  ASSERT_TRUE(StoreOne(*database, 2).ok());
  ASSERT_GT(*ProfileDatabase::Open(path, Access::kWrite)->Prune({}), 0);
  ASSERT_TRUE(StoreOne(*database, 3).ok());
  const absl::Status concluded = database->Conclude();
  EXPECT_EQ(concluded.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(concluded.message()),
            "2 of the 3 runs that this stored in " + path +
                " were removed meanwhile by another program, as `meshwright db prune` does");
}

// SQLite keeps the log beside the file itself.
TEST_F(DatabaseSafety, FollowsLinks) {
  std::filesystem::create_directories(Path("real"));
  const std::string path = KilledWithALog("real/a.sqlite", 2, 3), link = Path("link.sqlite");
  std::filesystem::create_symlink(path, link);
  EXPECT_EQ(ProfileDatabase::Open(link, Access::kRead)->Find({})->size(), 5U);
  const std::string log = path + "-wal";
  std::string bad = *ReadFile(log);
  bad[100] = static_cast<char>(bad[100] + 1);
  ASSERT_TRUE(WriteFile(log, bad).ok());
  EXPECT_THAT(WhyRefused(link, Access::kRead), HasSubstr("of its log " + log));
  std::filesystem::remove(log);
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(link, Access::kWrite);
  ASSERT_TRUE(StoreOne(*database, 7).ok());
  std::filesystem::remove(path);
  EXPECT_THAT(std::string(StoreOne(*database, 8).message()), HasSubstr("was removed or replaced"));
}

TEST_F(DatabaseSafety, MergesAllOrNothing) {
  const std::string a = MadeWith("a.sqlite", 2), b = MadeWith("b.sqlite", 3);
  std::filesystem::copy_file(b, Path("c.sqlite"));
  const std::string c = Path("c.sqlite");
  const std::string before = *ReadFile(a);
  const auto refused = [&](const std::string& into, const std::vector<std::string>& from,
                           const std::string& why) {
    SCOPED_TRACE(why);
    const std::vector<std::string> names = folder_.Names();
    const auto merged = MergeDatabases(into, from);
    ASSERT_FALSE(merged.ok());
    EXPECT_THAT(std::string(merged.status().message()), HasSubstr(why));
    EXPECT_EQ(folder_.Names(), names);
    EXPECT_EQ(*ReadFile(a), before);
  };
  refused(Path("new.sqlite"), {a, Path("none.sqlite")}, "No such file");
  refused(a, {b, Path("none.sqlite")}, "No such file");
  refused(a, {b, a}, "into itself");
  Sql(c, "UPDATE profile SET choice = 'x' WHERE number = 1");
  refused(Path("new.sqlite"), {a, c}, "is damaged");
  refused(a, {b, c}, "is damaged");
  // A damaged target.
  const std::string damaged = *ReadFile(c);
  EXPECT_FALSE(MergeDatabases(c, {a}).ok());
  EXPECT_FALSE(ProfileDatabase::Open(c, Access::kWrite).ok());
  EXPECT_EQ(*ReadFile(c), damaged);
  // A run that is of another choice in each.
  const std::string e = Path("e.sqlite");
  {
    const ProfileRun run = ProfileDatabase::Open(a, Access::kRead)->Find({})->front().runs[0];
    const auto other = ProfileDatabase::Open(e, Access::kWrite);
    const int64_t where = EnvironmentRow(other->connection(), environment_)->first;
    const int64_t profile =
        ProfileRow(other->connection(), where, environment_, SafetyKey(9), "")->first;
    ASSERT_TRUE(*AddRun(other->connection(), profile, environment_, SafetyKey(9), run));
  }
  refused(a, {b, e}, "cannot merge " + e + ": run ");
  refused(Path("new.sqlite"), {a, e}, "says something else in");
  const auto merged = MergeDatabases(Path("new.sqlite"), {a, b});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->size(), 2U);
  EXPECT_EQ(ProfileDatabase::Open(Path("new.sqlite"), Access::kRead)->Find({})->size(), 3U);
}

}  // namespace
}  // namespace meshwright
