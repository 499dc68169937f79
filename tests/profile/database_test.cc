#include "meshwright/profile/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tuple>

#include "meshwright/base/file.h"
#include "tests/profile/without_rights.h"
#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using Access = ProfileDatabase::Access;

class Database : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // A database with `profiles` measurements.
  std::string Made(const std::string& name, int profiles = 1) const {
    absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(Path(name), Access::kWrite);
    EXPECT_TRUE(database.ok()) << database.status();
    for (int i = 0; i < profiles; ++i) {
      EXPECT_TRUE(database->Store(kDevice, Key(i), "a layer", Measured({1e-3, 2e-3, 4e-3})).ok());
    }
    return Path(name);
  }

  static ProfileKey Key(int i) {
    return {std::string(63, 'a') + static_cast<char>('0' + i % 10), "x=4",
            "[x] > m=x > [_] " + std::to_string(i / 10)};
  }
  static ProfileMeasurement Measured(std::vector<double> seconds) {
    ProfileMeasurement measurement;
    measurement.sample_seconds = std::move(seconds);
    measurement.peak_bytes = 1000;
    measurement.compile_seconds = 0.5;
    measurement.collectives = {{"all-reduce", 2, 64}};
    return measurement;
  }
  // Statements behind the database's back.
  static void Run(const std::string& path, const std::string& sql) {
    absl::StatusOr<SqliteConnection> connection = SqliteConnection::Open(path, 2, 1);
    ASSERT_TRUE(connection.ok());
    const absl::Status status = connection->Execute(sql);
    ASSERT_TRUE(status.ok()) << status;
  }
  static void ExpectRefused(const std::string& path, const std::string& why) {
    for (const Access access : {Access::kRead, Access::kWrite}) {
      const absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, access, 0.1);
      ASSERT_FALSE(database.ok()) << why;
      EXPECT_THAT(std::string(database.status().message()), HasSubstr(why));
      EXPECT_THAT(std::string(database.status().message()), HasSubstr(path));
    }
  }

  const ProfileEnvironment kDevice = {"NVIDIA H100 80GB HBM3", "cuda 12080", "jax 0.6.0",
                                      "h100-sxm", 1};
  const ScratchFolder folder_;
};

TEST_F(Database, GivesBackWhatWasStored) {
  const std::string path = Made("a.sqlite");
  const absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kRead);
  ASSERT_TRUE(database.ok()) << database.status();
  const std::vector<StoredEnvironment> environments = *database->Environments();
  ASSERT_EQ(environments.size(), 1U);
  EXPECT_EQ(environments[0].environment, kDevice);
  EXPECT_EQ(environments[0].profiles, 1);
  EXPECT_EQ(*database->NumberOf(kDevice), environments[0].number);
  ProfileEnvironment other = kDevice;
  other.libraries = "jax 0.7.0";
  EXPECT_FALSE(database->NumberOf(other)->has_value());

  const std::vector<Profile> profiles = *database->Find({});
  ASSERT_EQ(profiles.size(), 1U);
  EXPECT_EQ(profiles[0].key, Key(0));
  EXPECT_EQ(profiles[0].description, "a layer");
  ASSERT_EQ(profiles[0].runs.size(), 1U);
  EXPECT_EQ(profiles[0].runs[0].id.size(), 32U);
  EXPECT_GT(profiles[0].runs[0].unix_seconds, 1'700'000'000);
  ProfileMeasurement expected = Measured({1e-3, 2e-3, 4e-3});
  SummarizeSamples(&expected);
  EXPECT_EQ(profiles[0].runs[0].measurement, expected);
}

// A database is one file as long as nobody has it open.
TEST_F(Database, LeavesNothingBeside) {
  const std::string path = Made("a.sqlite");
  EXPECT_TRUE(ProfileDatabase::Open(path, Access::kRead)->Find({}).ok());
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
}

TEST_F(Database, SummarizesSamples) {
  ProfileMeasurement m = Measured({5, 1, 2, 4});
  SummarizeSamples(&m);
  EXPECT_DOUBLE_EQ(m.seconds, 3);
  EXPECT_DOUBLE_EQ(m.spread, 4.25 - 1.75);  // numpy.percentile
  EXPECT_DOUBLE_EQ(m.least_seconds, 1);
  EXPECT_EQ(m.samples, 4);
}

TEST_F(Database, PoolsRunsOfAKey) {
  const std::string path = Made("a.sqlite");
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
  ProfileMeasurement failed;
  failed.status = MeasurementStatus::kOutOfMemory;
  failed.error = "RESOURCE_EXHAUSTED";
  ASSERT_TRUE(database->Store(kDevice, Key(0), "", failed).ok());
  ASSERT_TRUE(database->Store(kDevice, Key(0), "", Measured({8e-3})).ok());
  ASSERT_TRUE(database->Store(kDevice, Key(1), "", failed).ok());
  const std::vector<Profile> profiles = *database->Find({});
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(profiles[0].runs.size(), 3U);
  const ProfileMeasurement pooled = profiles[0].Pooled();
  EXPECT_EQ(pooled.status, MeasurementStatus::kMeasured);
  EXPECT_EQ(pooled.samples, 4);
  EXPECT_DOUBLE_EQ(pooled.seconds, 3e-3);
  EXPECT_EQ(profiles[1].Pooled().status, MeasurementStatus::kOutOfMemory);
  EXPECT_EQ(profiles[1].Pooled().error, "RESOURCE_EXHAUSTED");
  EXPECT_EQ(database->Find({.measured = false})->size(), 1U);
  EXPECT_EQ(database->Find({.program = Key(0).program.substr(0, 64)})->size(), 1U);
  EXPECT_EQ(database->Find({.program = "aaa"})->size(), 2U);
  EXPECT_EQ(database->Find({.mesh = "x=8"})->size(), 0U);
  EXPECT_EQ(database->Find({.kind = "segment"})->size(), 2U);
  EXPECT_EQ(database->Find({.kind = "reshard"})->size(), 0U);
}

TEST_F(Database, RefusesWhatCannotHaveBeenMeasured) {
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(Path("a"), Access::kWrite);
  ProfileMeasurement failed = Measured({1});
  failed.status = MeasurementStatus::kFailed;
  for (const ProfileMeasurement& bad : {Measured({}), Measured({0}), Measured({-1}),
                                        Measured({1, std::nan("")}), Measured({1e300}), failed}) {
    EXPECT_FALSE(database->Store(kDevice, Key(0), "", bad).ok());
  }
  EXPECT_TRUE(database->Find({})->empty());
  EXPECT_TRUE(database->Environments()->empty());
}

TEST_F(Database, MergesAgainWithoutCountingTwice) {
  const std::string a = Made("a.sqlite", 3), b = Made("b.sqlite", 5);
  {
    absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(b, Access::kWrite);
    ProfileEnvironment other = kDevice;
    other.driver = "cuda 13000";
    ASSERT_TRUE(database->Store(other, Key(0), "", Measured({1})).ok());
  }
  absl::StatusOr<ProfileDatabase> into = ProfileDatabase::Open(a, Access::kWrite);
  std::vector<ProfileDatabase> sources;
  sources.push_back(*ProfileDatabase::Open(b, Access::kRead));
  const MergeCounts first = into->Merge(sources)->front(), second = into->Merge(sources)->front();
  EXPECT_EQ(first.environments, 1);
  EXPECT_EQ(first.profiles, 3);
  EXPECT_EQ(first.runs, 6);
  EXPECT_EQ(second.runs, 0);
  EXPECT_EQ(second.known_runs, 6);
  const std::vector<Profile> profiles = *into->Find({});
  ASSERT_EQ(profiles.size(), 6U);
  EXPECT_EQ(profiles[0].runs.size(), 2U);
  EXPECT_EQ(profiles[0].Pooled().samples, 6);
  EXPECT_EQ(profiles[5].runs.size(), 1U);
  EXPECT_NE(profiles[5].environment, profiles[0].environment);
}

TEST_F(Database, Prunes) {
  const std::string path = Made("a.sqlite", 4);
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
  EXPECT_EQ(*database->Prune({.older_than = 1'700'000'000}), 0);
  EXPECT_EQ(*database->Prune({.program = Key(2).program}), 1);
  EXPECT_EQ(database->Find({})->size(), 3U);
  EXPECT_EQ(*database->Prune({.older_than = 4'000'000'000}), 3);
  EXPECT_TRUE(database->Environments()->empty());
}

// A process that is killed right after the database said that it has a measurement.
TEST_F(Database, LosesNothingWhenKilled) {
  const std::string path = Path("a.sqlite");
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
    for (int i = 0; database.ok() && database->Store(kDevice, Key(i), "", Measured({1})).ok(); ++i)
      if (write(pipe_ends[1], "+", 1) != 1) break;
    _exit(1);
  }
  close(pipe_ends[1]);
  char stored = 0;
  int64_t count = 0;
  while (count < 25 && read(pipe_ends[0], &stored, 1) == 1) ++count;
  kill(child, SIGKILL);
  while (read(pipe_ends[0], &stored, 1) == 1) ++count;
  close(pipe_ends[0]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_GE(count, 25);
  const absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kRead);
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_GE(static_cast<int64_t>(database->Find({})->size()), count);
}

TEST_F(Database, TakesSeveralWritersAndReadersAtOnce) {
  const std::string path = Path("a.sqlite");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite);
      ASSERT_TRUE(database.ok()) << database.status();
      for (int i = 0; i < 12; ++i) {
        const absl::Status stored = database->Store(kDevice, Key(i), "", Measured({1.0 + t}));
        ASSERT_TRUE(stored.ok()) << stored;
        ASSERT_TRUE(database->Find({}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kRead);
  ASSERT_EQ(database->Environments()->size(), 1U);
  const std::vector<Profile> profiles = *database->Find({});
  ASSERT_EQ(profiles.size(), 12U);
  for (const Profile& profile : profiles) EXPECT_EQ(profile.Pooled().samples, 4);
}

TEST_F(Database, SaysThatItIsLocked) {
  const std::string path = Made("a.sqlite");
  absl::StatusOr<SqliteConnection> other = SqliteConnection::Open(path, 2, 1);
  ASSERT_TRUE(other->Execute("BEGIN IMMEDIATE").ok());
  absl::StatusOr<ProfileDatabase> database = ProfileDatabase::Open(path, Access::kWrite, 0.1);
  const absl::Status status =
      database.ok() ? database->Store(kDevice, Key(0), "", Measured({1})) : database.status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("is locked by another process"));
  EXPECT_TRUE(ProfileDatabase::Open(path, Access::kRead, 0.1).ok());  // readers do not wait
}

TEST_F(Database, RefusesOtherFiles) {
  EXPECT_THAT(std::string(ProfileDatabase::Open(Path("none"), Access::kRead).status().message()),
              HasSubstr("No such file"));
  EXPECT_FALSE(std::filesystem::exists(Path("none")));
  EXPECT_THAT(
      std::string(ProfileDatabase::Open(Path("no/file"), Access::kWrite).status().message()),
      HasSubstr("there is no folder"));
  ExpectRefused(folder_.path(), "is a folder");
  ExpectRefused("/dev/null", "is no regular file");
  std::ofstream(Path("text")) << std::string(5000, 'x');
  ExpectRefused(Path("text"), "is no SQLite database");
  std::ofstream(Path("empty"));
  EXPECT_THAT(std::string(ProfileDatabase::Open(Path("empty"), Access::kRead).status().message()),
              HasSubstr("is empty"));
  EXPECT_TRUE(ProfileDatabase::Open(Path("empty"), Access::kWrite).ok());  // fills it
  std::ofstream(Path("other"));
  Run(Path("other"), "CREATE TABLE t (x)");
  ExpectRefused(Path("other"), "not one of profiles");
  EXPECT_TRUE(ProfileDatabase::Open(Path(":memory:"), Access::kWrite).ok());
  EXPECT_TRUE(std::filesystem::exists(Path(":memory:")));
}

TEST_F(Database, RefusesOtherFormats) {
  const std::string path = Made("a.sqlite");
  Run(path, "PRAGMA user_version = 5");
  ExpectRefused(path, "format 5, this program reads format 4 only: a newer Meshwright wrote it");
  for (const char* older : {"0", "1"}) {
    Run(path, std::string("PRAGMA user_version = ") + older);
    ExpectRefused(path, std::string("format ") + older +
                            ", this program reads format 4 only: measure again into a new file");
  }
}

TEST_F(Database, RefusesDamagedFiles) {
  const std::string path = Made("a.sqlite", 40);
  const std::string whole = *ReadFile(path);
  ASSERT_GT(whole.size(), 20000U);
  // Cut off anywhere.
  for (const double share : {0.02, 0.3, 0.6, 0.95}) {
    const std::string cut =
        whole.substr(0, static_cast<size_t>(share * static_cast<double>(whole.size())));
    ASSERT_TRUE(WriteFile(Path("cut"), cut).ok());
    const auto database = ProfileDatabase::Open(Path("cut"), Access::kRead);
    ASSERT_FALSE(database.ok()) << share;
    EXPECT_THAT(std::string(database.status().message()), HasSubstr("damaged")) << share;
  }
  // Overwritten somewhere: an error, or nothing that counts was hit.
  const auto described = [](const std::vector<Profile>& profiles) {
    std::vector<std::tuple<std::string, std::string, std::string, std::vector<ProfileRun>>> all;
    for (const Profile& p : profiles)
      all.emplace_back(p.key.program, p.key.mesh, p.key.choice, p.runs);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<2>(a)) < std::tie(std::get<0>(b), std::get<2>(b));
    });
    return all;
  };
  const auto before = described(*ProfileDatabase::Open(path, Access::kRead)->Find({}));
  int refused = 0;
  for (size_t at = 200; at + 8 < whole.size(); at += 97) {
    std::string bad = whole;
    for (size_t i = 0; i < 8; ++i) bad[at + i] = static_cast<char>(bad[at + i] + 1 + 31 * i);
    if (bad == whole) continue;
    ASSERT_TRUE(WriteFile(Path("bad"), bad).ok());
    const auto database = ProfileDatabase::Open(Path("bad"), Access::kRead);
    const auto found = database.ok() ? database->Find({}) : database.status();
    refused += !found.ok();
    if (found.ok()) {
      EXPECT_EQ(described(*found), before) << at;
    }
  }
  EXPECT_GT(refused, 20);
  // Values that this program does not write.
  Run(path, "PRAGMA ignore_check_constraints = ON; UPDATE sample SET seconds = -1");
  ExpectRefused(path, "is damaged: CHECK constraint failed");
  Run(path,
      "PRAGMA ignore_check_constraints = ON; UPDATE sample SET seconds = 1; "
      "PRAGMA foreign_keys = OFF; DELETE FROM profile WHERE number = 2");
  ExpectRefused(path, "is damaged: rows of table run have lost theirs in profile");
}

TEST_F(Database, ReadsFilesThatCannotBeWritten) {
  const std::string path = Made("a.sqlite");
  const WithoutRights without_rights(folder_.path());
  const auto read = ProfileDatabase::Open(path, Access::kRead);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Find({})->size(), 1U);
  const auto write = ProfileDatabase::Open(path, Access::kWrite);
  ASSERT_FALSE(write.ok());
  EXPECT_THAT(std::string(write.status().message()), HasSubstr("cannot write " + path));
}

}  // namespace
}  // namespace meshwright
