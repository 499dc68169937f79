// Plans as users look at them: report, and the traces of simulate.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "meshwright/base/csv.h"
#include "tests/cli/run_binary.h"
#include "tests/plan/trace/trace_format.h"
#include "tests/testing/data.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ReportCommandTest : public testing::Test {
 protected:
  std::string Plan(const std::string& name, const std::vector<std::string>& more) const {
    std::string path = folder_.Path(name);
    std::vector<std::string> arguments = {"plan"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"-o", path});
    const RunResult run = RunMeshwright(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return path;
  }
  std::string OneStep() const {
    return Plan("step.json",
                {HloData("mlp_adam.train.hlo.txt"), "--cluster", "4xh100-sxm", "--mesh", "4"});
  }
  static void ExpectBad(const std::vector<std::string>& arguments, const std::string& message) {
    const RunResult run = RunMeshwright(arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.out, IsEmpty());
  }

  const ScratchFolder folder_;
};

TEST_F(ReportCommandTest, WritesPageTablesAndGraph) {
  const std::string plan = OneStep(), page = folder_.Path("r.html"), csv = folder_.Path("tables"),
                    dot = folder_.Path("s.dot");
  const RunResult run = RunMeshwright({"report", plan, "-o", page, "--csv", csv, "--dot", dot});
  if (run.exit_code != 0) {  // built without the page
    EXPECT_THAT(run.err, HasSubstr("MESHWRIGHT_REPORT=OFF"));
    EXPECT_THAT(folder_.Names(), ElementsAre("step.json"));
    const RunResult rest = RunMeshwright({"report", plan, "--csv", csv, "--dot", dot});
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
  } else {
    EXPECT_THAT(ReadText(page), StartsWith("<!doctype html>"));
    EXPECT_THAT(run.out, HasSubstr("wrote " + page + ", "));
  }
  EXPECT_THAT(ReadText(dot), StartsWith("digraph \"mlp_adam.train.hlo.txt\" {"));
  EXPECT_THAT(ReadText(csv + "/instructions.csv"), StartsWith("plan,stage,name,opcode,"));
  EXPECT_THAT(ReadText(csv + "/plans.csv"), HasSubstr("step.json,mlp_adam.train.hlo.txt,"));
}

// Segments take together what the plan does, gathers of outputs too.
TEST_F(ReportCommandTest, SegmentsAddUpToThePlan) {
  const std::string plan = Plan("p.json", {HloData("pipeline/tied_clip.train.hlo.txt.gz"),
                                           "--cluster", "4xh100-sxm", "--mesh", "4"});
  const std::string csv = folder_.Path("tables");
  ASSERT_EQ(RunMeshwright({"report", plan, "--csv", csv}).exit_code, 0);
  const auto cell = [](const CsvTable& table, const CsvRow& row, const std::string& column) {
    const auto at = std::find(table.header.begin(), table.header.end(), column);
    return std::stod(row.fields.at(static_cast<size_t>(at - table.header.begin())));
  };
  const auto read = [&](const std::string& name) {
    return *ParseCsv(ReadText(csv + "/" + name), name);
  };
  double sum = 0;
  const CsvTable segments = read("segments.csv"), plans = read("plans.csv");
  for (const CsvRow& row : segments.rows) {
    sum += cell(segments, row, "times") *
           (cell(segments, row, "seconds") + cell(segments, row, "communication_seconds"));
  }
  const double expected = cell(plans, plans.rows[0], "compute_seconds") +
                          cell(plans, plans.rows[0], "communication_seconds");
  EXPECT_NEAR(sum, expected, 1e-9 * expected);
}

// The last output has no room: the others are not there either, nor is what was begun of them.
TEST_F(ReportCommandTest, AllOutputsOrNone) {
  const std::string plan = OneStep(), csv = folder_.Path("tables"), dot = folder_.Path("s.dot");
  ExpectBad({"report", plan, "--csv", csv, "--dot", "/dev/full"}, "--dot: cannot write /dev/full");
  const std::string file = folder_.Write("file", "");
  ExpectBad({"report", plan, "--dot", dot, "--csv", file + "/tables"}, "--csv");
  EXPECT_THAT(folder_.Names(), ElementsAre("file", "step.json"));
}

// Names that lead to one place are found before anything is written.
TEST_F(ReportCommandTest, OutputsHavePlacesOfTheirOwn) {
  const std::string plan = OneStep(), c = folder_.Path("c");
  const std::string inside = folder_.Path("d/a.dot");
  std::filesystem::create_directory(folder_.Path("d"));
  std::filesystem::create_symlink("c", folder_.Path("link"));
  for (const std::string& same :
       {c, folder_.Path("./c"), folder_.Path("d/../c"), folder_.Path("link")}) {
    ExpectBad({"report", plan, "--csv", c, "--dot", same}, "--dot writes a file of that name");
    ExpectBad({"report", plan, "--csv", c + "/", "--dot", same}, "--dot writes a file of that");
  }
  ExpectBad({"report", plan, "--csv", folder_.Path("d"), "--dot", inside},
            "it is made as a whole, and --dot writes " + inside + " into it");
  EXPECT_THAT(folder_.Names(), ElementsAre("d", "link", "step.json"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.Path("d")));
}

// Of a file that is not there yet, too, however the name is written.
TEST_F(ReportCommandTest, RelativeNamesOfOneFileAreOne) {
  const std::string plan = OneStep();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.Path("."));
  const RunResult run = RunMeshwright({"report", plan, "-o", "a", "--dot", "./a"});
  const RunResult folder = RunMeshwright({"report", plan, "--csv", "./a", "--dot", "a"});
  std::filesystem::current_path(before);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--dot: cannot write ./a: -o names the same file"));
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.err, HasSubstr("--csv: cannot write ./a: --dot writes a file of that name"));
  EXPECT_THAT(folder_.Names(), ElementsAre("step.json"));
}

// Files that grow beyond the limit are errors as any other, and nothing of them is left.
TEST_F(ReportCommandTest, LimitsOfFilesAreErrors) {
  const std::string plan = OneStep();
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit little = old;
  little.rlim_cur = 1024;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const RunResult run = RunMeshwright({"report", plan, "--dot", folder_.Path("s.dot")});
  const RunResult tables = RunMeshwright({"report", plan, "--csv", folder_.Path("tables")});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("File too large"));
  EXPECT_EQ(tables.exit_code, 2);
  EXPECT_THAT(folder_.Names(), ElementsAre("step.json"));
}

TEST_F(ReportCommandTest, PlansOverGroupsHaveTablesButNoGraph) {
  const std::string plan =
      Plan("groups.json", {"gpt3-1.3b", "--cluster", "1x8xh100-sxm+1x8xa100-80g", "--global-batch",
                           "16", "--seq", "512", "--pareto"});
  const std::string csv = folder_.Path("tables"), dot = folder_.Path("s.dot");
  ExpectBad({"report", plan, "--csv", csv, "--dot", dot}, "the plan of a model has no program");
  EXPECT_THAT(folder_.Names(), ElementsAre("groups.json"));
  ASSERT_EQ(RunMeshwright({"report", plan, "--csv", csv}).exit_code, 0);
  EXPECT_THAT(ReadText(csv + "/node_choices.csv"), HasSubstr("groups.json,0,"));
  EXPECT_THAT(ReadText(csv + "/stages.csv"), HasSubstr("groups.json,0,"));
  const std::string trace = folder_.Path("t.json");
  ASSERT_EQ(RunMeshwright({"simulate", plan, "--trace", trace}).exit_code, 0);
  EXPECT_THAT(TraceFaults(ReadText(trace)), IsEmpty());
}

TEST_F(ReportCommandTest, TracesOneStep) {
  const std::string plan = OneStep(), trace = folder_.Path("t.json");
  const RunResult run = RunMeshwright({"simulate", plan, "--trace", trace});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("one step: "));
  EXPECT_THAT(TraceFaults(ReadText(trace)), IsEmpty());
  EXPECT_THAT(ReadText(trace), HasSubstr("\"optimizer_state\""));
  EXPECT_EQ(RunMeshwright({"simulate", plan, "--json"}).exit_code, 0);
  ExpectBad({"simulate", plan, "--schedule", "1f1b"}, "the plan has no pipeline");
}

TEST_F(ReportCommandTest, TracesAPipelineWithItsMemory) {
  const std::string plan =
      Plan("p.json", {HloData("pipeline/tied_clip.train.hlo.txt.gz"), "--cluster", "2xh100-sxm",
                      "--pipeline", "2", "--micro-batches", "2"});
  const std::string trace = folder_.Path("t.json");
  ASSERT_EQ(RunMeshwright({"simulate", plan, "--trace", trace}).exit_code, 0);
  EXPECT_THAT(TraceFaults(ReadText(trace)), IsEmpty());
  EXPECT_THAT(ReadText(trace), HasSubstr("\"memory\""));
}

TEST_F(ReportCommandTest, BadInputIsNamedAndNothingIsWritten) {
  const std::string plan = OneStep(), csv = folder_.Path("tables");
  const std::string model = Plan(
      "m.json", {"gpt3-1.3b", "--cluster", "8xh100-sxm", "--global-batch", "8", "--seq", "512"});
  ExpectBad({"report", plan}, "nothing to write; -o FILE writes the report");
  ExpectBad({"report", "-", plan, "-", "--csv", csv}, "- is named more than once");
  ExpectBad({"report", folder_.Path("none.json"), "--csv", csv}, "none.json");
  ExpectBad({"report", plan, "--csv", plan}, "--csv: " + plan + " is a file");
  ExpectBad({"report", plan, "--dot", plan}, "it is an input of this command");
  ExpectBad({"report", plan, plan, "--dot", folder_.Path("s.dot")},
            "--dot takes one plan, found 2");
  ExpectBad({"report", model, "--csv", csv, "--dot", folder_.Path("s.dot")},
            "the plan of a model has no program");
  ExpectBad({"report", folder_.Write("x.json", "{}"), "--csv", csv}, "is none of our documents");
  ExpectBad({"report", folder_.Write("y.csv", "gpus,global_batch,sequence\n1,1,1\n"), "--csv", csv},
            "y.csv:2: the column step_seconds is missing");
  ExpectBad({"simulate", model}, "neither a pipeline nor instructions");
  EXPECT_THAT(folder_.Names(), ElementsAre("m.json", "step.json", "x.json", "y.csv"));
}

}  // namespace
}  // namespace meshwright
