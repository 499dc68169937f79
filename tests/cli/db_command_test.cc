#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/profile/database.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/data.h"

// `meshwright db` and `plan --db` as users run them.

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

void MakeDatabase(const std::string& path, double seconds, int choices = 2) {
  absl::StatusOr<ProfileDatabase> database =
      ProfileDatabase::Open(path, ProfileDatabase::Access::kWrite);
  ASSERT_TRUE(database.ok()) << database.status();
  const ProfileEnvironment environment = {"NVIDIA H100 80GB HBM3", "cuda 12080",
                                          "jax 0.6.0, jaxlib 0.6.0", "h100-sxm", 1};
  for (int i = 0; i < choices; ++i) {
    ProfileMeasurement measurement;
    measurement.sample_seconds = {seconds, 2 * seconds};
    measurement.peak_bytes = 1 << 20;
    const std::string choice = "[x,_,_] > m=x | k=x, \"n\"=x > [_,_,_] #" + std::to_string(i);
    ASSERT_TRUE(
        database->Store(environment, {std::string(64, 'a'), "x=4", choice}, "", measurement).ok());
  }
  ProfileMeasurement failed;
  failed.status = MeasurementStatus::kOutOfMemory;
  failed.error = "no\nroom";
  ASSERT_TRUE(
      database->Store(environment, {"reshard bf16[8,8]", "x=4", "[x,_] > [_,x]"}, "", failed).ok());
}

// As a message was before it was made to fit a terminal.
std::string Unwrapped(const std::string& message) {
  return absl::StrReplaceAll(message, {{"\n  ", " "}});
}

void ExpectFits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(DbCommand, ListsAndShows) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.sqlite");
  MakeDatabase(path, 1e-3);
  const RunResult list = RunMeshwright({"db", "list", path});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(
      list.out,
      HasSubstr("NVIDIA H100 80GB HBM3 (h100-sxm), 1 host\n  cuda 12080, jax 0.6.0, jaxlib"));
  EXPECT_THAT(list.out, HasSubstr("segment"));
  EXPECT_THAT(list.out, HasSubstr("reshard"));
  ExpectFits(list.out);
  const RunResult show = RunMeshwright({"db", "show", path, "aaa"});
  EXPECT_EQ(show.exit_code, 0) << show.err;
  EXPECT_THAT(show.out, HasSubstr("1.50 ms"));
  EXPECT_THAT(show.out, ::testing::Not(HasSubstr("reshard")));
  ExpectFits(show.out);
  const RunResult all = RunMeshwright({"db", "show", path});
  EXPECT_THAT(all.out, HasSubstr("out of memory"));
  ExpectFits(all.out);
}

TEST(DbCommand, FindsWhatAFilterMeansOrSaysThatThereIsNothing) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.sqlite");
  MakeDatabase(path, 1e-3);
  const std::string all = RunMeshwright({"db", "show", path}).out;
  for (const char* mesh : {"4", "x=4"}) {
    const RunResult show = RunMeshwright({"db", "show", path, "--mesh", mesh});
    EXPECT_EQ(show.exit_code, 0) << show.err;
    EXPECT_EQ(show.out, all);
  }
  for (const char* verb : {"list", "show", "export", "prune"}) {
    for (const auto& filter : std::vector<std::pair<std::string, std::string>>{
             {"--mesh", "2x2"}, {"--kind", "gemm"}, {"--environment", "7"}}) {
      const RunResult none = RunMeshwright({"db", verb, path, filter.first, filter.second});
      EXPECT_EQ(none.exit_code, 2) << verb << filter.first;
      EXPECT_THAT(none.out, IsEmpty());
      EXPECT_THAT(
          Unwrapped(none.err),
          HasSubstr(absl::StrCat("p.sqlite holds no profiles of ", filter.first, " ", filter.second,
                                 "; it has environment 1; mesh x=4; kinds "
                                 "reshard, segment; 2 programs, 1 profile that failed; "
                                 "last measured 20")));
    }
    const RunResult malformed = RunMeshwright({"db", verb, path, "--mesh", "4x"});
    EXPECT_EQ(malformed.exit_code, 2);
    EXPECT_THAT(malformed.err, HasSubstr("--mesh: "));
  }
  EXPECT_EQ(RunMeshwright({"db", "show", path, "b"}).exit_code, 2);
}

TEST(DbCommand, ExportsBothForms) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.sqlite");
  MakeDatabase(path, 1e-3);
  const RunResult json = RunMeshwright({"db", "export", path});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const nlohmann::json parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["environments"].size(), 1U);
  ASSERT_EQ(parsed["profiles"].size(), 3U);
  EXPECT_EQ(parsed["profiles"][0]["runs"][0]["sample_seconds"].size(), 2U);
  EXPECT_EQ(RunMeshwright({"db", "list", path, "--json"}).out, json.out);
  const RunResult csv = RunMeshwright(
      {"db", "export", path, "--format", "csv", "--kind", "segment", "-o", folder.Path("p.csv")});
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  const std::string text = ReadText(folder.Path("p.csv"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, HasSubstr("\"[x,_,_] > m=x | k=x, \"\"n\"\"=x > [_,_,_] #0\""));
  EXPECT_EQ(RunMeshwright({"db", "export", path, "-o", path}).exit_code, 2);
  // What a file holds does not act on a terminal.
  const RunResult failed = RunMeshwright({"db", "export", path, "--format", "csv", "--failed"});
  EXPECT_THAT(failed.out, HasSubstr(",no\\nroom\n"));
}

TEST(DbCommand, MergesAndPrunes) {
  const ScratchFolder folder;
  const std::string a = folder.Path("a.sqlite"), b = folder.Path("b.sqlite"),
                    c = folder.Path("c.sqlite");
  MakeDatabase(a, 1e-3);
  MakeDatabase(b, 2e-3, 3);
  const RunResult merged = RunMeshwright({"db", "merge", c, a, b, b});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_THAT(merged.out, HasSubstr(a + ": 3 new runs of 3 runs, 3 new profiles"));
  EXPECT_THAT(merged.out, HasSubstr(b + ": 4 new runs of 4 runs, 1 new profile"));
  EXPECT_THAT(merged.out, HasSubstr(b + ": 0 new runs of 4 runs"));
  EXPECT_EQ(RunMeshwright({"db", "merge", c, c}).exit_code, 2);
  const RunResult nothing = RunMeshwright({"db", "prune", c});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("say what to remove"));
  const RunResult old = RunMeshwright({"db", "prune", c, "--older-than", "1d", "--mesh", "4"});
  EXPECT_EQ(old.exit_code, 2);
  EXPECT_THAT(Unwrapped(old.err),
              HasSubstr("holds no profiles of --mesh 4 --older-than 1d; it has"));
  EXPECT_EQ(RunMeshwright({"db", "prune", c, "--failed"}).out, "removed 1 profile\n");
  EXPECT_EQ(RunMeshwright({"db", "prune", c, "--environment", "1"}).out, "removed 3 profiles\n");
  EXPECT_EQ(RunMeshwright({"db", "list", c}).out, "no measurements\n");
  EXPECT_THAT(RunMeshwright({"db", "prune", c, "--failed"}).err, HasSubstr("no measurements"));
}

TEST(DbCommand, RefusesBadInput) {
  const ScratchFolder folder;
  const std::string text = folder.Write("text", "not a database, but long enough to be one");
  for (const char* verb : {"list", "show", "export"}) {
    const RunResult run = RunMeshwright({"db", verb, text});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr("text is no SQLite database"));
  }
  EXPECT_EQ(RunMeshwright({"db", "prune", folder.Path("none"), "--failed"}).exit_code, 2);
  EXPECT_EQ(RunMeshwright({"db", "merge", folder.Path("none"), folder.Path("no")}).exit_code, 2);
  EXPECT_EQ(RunMeshwright({"db", "merge", folder.Path("none"), text}).exit_code, 2);
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"text"});
  EXPECT_EQ(RunMeshwright({"db"}).exit_code, 2);
  for (const std::string number : {"0", "-1", "1.5", "9223372036854775808"}) {
    const RunResult run = RunMeshwright({"db", "list", text, "--environment", number});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, StartsWith("meshwright: --environment: found \"" + number +
                                    "\"; a whole number of more than 0, below 2^63, needed"));
  }
  EXPECT_EQ(RunMeshwright({"db", "prune", text, "--older-than", "soon"}).exit_code, 2);
  EXPECT_EQ(ReadText(text), "not a database, but long enough to be one");
}

// A profile writes beside its database, never over it.
TEST(DbCommand, ProfilesKeepTheirDatabase) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.sqlite"), fresh = folder.Path("new.sqlite"),
                    program = HloData("mlp_adam.train.hlo.txt");
  MakeDatabase(path, 1e-3);
  const std::string before = ReadText(path);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {path, path}, {path, path + "-wal"}, {fresh, fresh}};
  for (const auto& [database, csv] : cases) {
    const RunResult run = RunMeshwright({"profile", program, "--mesh", "4", "--db", database,
                                         "--devices", "host:4", "--layers-csv", csv});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("it is an input of this command"));
  }
  EXPECT_EQ(ReadText(path), before);
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"p.sqlite"});
}

TEST(DbCommand, PlansWithADatabase) {
  const ScratchFolder folder;
  const std::string path = folder.Path("p.sqlite"), program = HloData("mlp_adam.train.hlo.txt");
  MakeDatabase(path, 1e-3);
  const RunResult run = RunMeshwright({"plan", program, "--cluster", "4xh100-sxm", "--mesh", "4",
                                       "--db", path, "-o", folder.Path("plan.json")});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nsegments  "));
  EXPECT_THAT(run.out, HasSubstr("predicted"));
  ExpectFits(run.out);
  const nlohmann::json plan = nlohmann::json::parse(ReadText(folder.Path("plan.json")));
  EXPECT_EQ(plan["schema"], 13);
  EXPECT_EQ(plan["options"]["database"], path);
  EXPECT_TRUE(plan["profile"]["environment"].is_null());  // nothing of this program was measured
  EXPECT_THAT(plan["warnings"].dump(), HasSubstr("holds no measurements of this program"));
  EXPECT_FALSE(plan["segments"].empty());
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {{"--pipeline", "2"}, "--db cannot be combined with --pipeline"},
      {{"--fix", "x=[x,_]"}, "--db cannot be combined with --fix"},
      {{"-o", path}, "p.sqlite"}};
  for (const auto& [more, why] : bad) {
    std::vector<std::string> arguments = {"plan",      program,
                                          "--cluster", "4xh100-sxm",
                                          "--mesh",    more[0] == "--pipeline" ? "auto" : "4",
                                          "--db",      path};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult refused = RunMeshwright(arguments);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(why));
  }
  const RunResult unknown = RunMeshwright({"plan", program, "--cluster", "4xh100-sxm", "--mesh",
                                           "4", "--db", path, "--db-environment", "7"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--db-environment: found 7, expected the number of one"));
  const RunResult none = RunMeshwright({"plan", program, "--cluster", "4xh100-sxm", "--mesh", "4",
                                        "--db", path, "--db-environment", "0"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--db-environment: found \"0\"; a whole number of more than 0"));
  EXPECT_EQ(RunMeshwright({"plan", program, "--cluster", "4xh100-sxm", "--db-environment", "1"})
                .exit_code,
            2);
  const RunResult empty =
      RunMeshwright({"plan", program, "--cluster", "4xh100-sxm", "--mesh", "4", "--db", ""});
  EXPECT_EQ(empty.exit_code, 2);
  const RunResult foreign =
      RunMeshwright({"plan", program, "--cluster", "4xa100-80g", "--mesh", "4", "--db", path});
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.err, HasSubstr("holds no measurements of a100-80g"));
}

}  // namespace
}  // namespace meshwright
