#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/cli/run_binary.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

// Two cases of one node: it takes the cheaper strategy where memory allows.
constexpr char kCases[] = R"({
  "roomy": {"num_nodes": 1, "s_len": [2], "s_follow": [-1], "compute_costs": [[1.25, 3]],
    "communication_costs": [[0, 0]], "memory_costs": [[8, 4]], "live": [[0]], "memory_budget": 9,
    "edges": [], "resharding_costs": [], "aliases": [], "alias_costs": [],
    "status": "optimal", "objective": 1.25},
  "tight": {"num_nodes": 1, "s_len": [2], "s_follow": [-1], "compute_costs": [[1.25, 3]],
    "communication_costs": [[0, 0]], "memory_costs": [[8, 4]], "live": [[0]], "memory_budget": 3,
    "edges": [], "resharding_costs": [], "aliases": [], "alias_costs": [],
    "status": "infeasible"}})";

class ReproduceCommand : public testing::Test {
 protected:
  RunResult Reproduce(const std::string& text, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"reproduce", "alpa-ilp",
                                          folder_.Write("cases.json", text)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMeshwright(arguments);
  }
  const ScratchFolder folder_;
};

TEST_F(ReproduceCommand, OneLineACaseAndASummary) {
  const RunResult run = Reproduce(kCases);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, MatchesRegex("case +nodes +recorded +found +off by +ms\n"
                                    "roomy +1 +1.25 +1.25 +0 +[0-9.]+  ok\n"
                                    "tight +1 +infeasible +infeasible +0 +[0-9.]+  ok\n"
                                    "2 cases, 0 differ, largest deviation 0\n"));
}

// A name that is longer than its column stands above its figures.
TEST_F(ReproduceCommand, TableFitsATerminal) {
  const std::string name(60, 'n');
  const RunResult run = Reproduce(absl::StrReplaceAll(
      kCases, {{"\"roomy\"", "\"" + name + "\""}, {"\"objective\": 1.25", "\"objective\": 1"}}));
  EXPECT_EQ(run.exit_code, 4) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n" + name + "\n"));
  EXPECT_THAT(run.out, HasSubstr("DIFFERS"));
  ExpectFitsATerminal(run.out);
}

TEST_F(ReproduceCommand, JsonSaysTheSame) {
  const RunResult run = Reproduce(kCases, {"--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["reproduction"], "alpa-ilp");
  EXPECT_EQ(json["differ"], 0);
  EXPECT_EQ(json["largest_deviation"], 0);
  ASSERT_EQ(json["cases"].size(), 2u);
  EXPECT_EQ(json["cases"][0]["name"], "roomy");
  EXPECT_EQ(json["cases"][0]["found"], 1.25);
  EXPECT_EQ(json["cases"][1]["outcome"], "infeasible");
  EXPECT_TRUE(json["cases"][1]["recorded"].is_null());
}

TEST_F(ReproduceCommand, DeviationsHaveAnExitCodeOfTheirOwn) {
  const std::string wrong =
      absl::StrReplaceAll(kCases, {{"\"objective\": 1.25", "\"objective\": 1"}});
  const RunResult run = Reproduce(wrong);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("DIFFERS"), HasSubstr("2 cases, 1 differ, largest deviation 0.25")));
  EXPECT_EQ(run.err, "meshwright: 1 of 2 recorded results were not reproduced\n");
  const std::string feasible =
      absl::StrReplaceAll(kCases, {{"\"memory_budget\": 3", "\"memory_budget\": 4"}});
  const RunResult json = Reproduce(feasible, {"--json"});
  EXPECT_EQ(json.exit_code, 4);
  EXPECT_TRUE(nlohmann::json::parse(json.out)["largest_deviation"].is_null());
}

TEST_F(ReproduceCommand, BadInput) {
  const RunResult unknown = RunMeshwright({"reproduce", "alpa-ipl", "cases.json"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.err, "meshwright: cannot reproduce \"alpa-ipl\"; did you mean \"alpa-ilp\"?\n");
  const RunResult damaged = Reproduce(absl::StrReplaceAll(kCases, {{"[[8, 4]]", "[[8]]"}}));
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("cases.json: $[\"roomy\"].memory_costs[0]: has 1 elements"));
  EXPECT_THAT(damaged.out, IsEmpty());
  EXPECT_EQ(RunMeshwright({"reproduce", "alpa-ilp"}).exit_code, 2);
  EXPECT_EQ(Reproduce(kCases, {"--deadline", "0s"}).exit_code, 2);
  EXPECT_EQ(Reproduce(kCases, {folder_.Path("none.json")}).exit_code, 2);
}

TEST(ReproduceRunsCommand, PrintsTablesOrJson) {
  const std::string table = MESHWRIGHT_TEST_DATA "/transformer/runs.csv";
  for (const bool rank : {false, true}) {
    std::vector<std::string> arguments = {"reproduce", "runs", table};
    if (rank) arguments.emplace_back("--rank");
    const RunResult text = RunMeshwright(arguments);
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("source  "));
    arguments.emplace_back("--json");
    const RunResult run = RunMeshwright(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["reproduction"], "runs");
    EXPECT_EQ(json.contains("ranks"), rank);
    EXPECT_EQ(json.contains("cases"), !rank);
  }
}

TEST(ReproduceRunsCommand, PrintsCommandsThatPlanTheSame) {
  const std::string table = MESHWRIGHT_TEST_DATA "/transformer/runs.csv";
  const RunResult run = RunMeshwright({"reproduce", "runs", table, "--commands"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("# line 2, made-up: "));
  EXPECT_THAT(run.out, HasSubstr("printf '%s\\n' 'model: {name: \"decoder-1b\", layers: 24, "));
  EXPECT_THAT(run.out, HasSubstr(" | meshwright plan - --cluster 1x8xh100-sxm "));
  EXPECT_THAT(run.out, HasSubstr(" --framework fsdp"));
  EXPECT_EQ(RunMeshwright({"reproduce", "runs", table, "--commands", "--rank"}).exit_code, 2);
  EXPECT_EQ(RunMeshwright({"reproduce", "alpa-ilp", table, "--commands"}).exit_code, 2);
}

TEST_F(ReproduceCommand, AlpaLayers) {
  const std::string text = R"([{"name": "two", "edges": [[0, 1, 8]], "non_trivial": [1, 1],
    "compute_costs": [1, 1], "layer_num": 2, "eps": 0.5, "criteria": "flops",
    "slices": [[0, 1], [1, 2]], "max_boundary_bytes": 8}])";
  const auto run = [&](const std::string& cases) {
    return RunMeshwright({"reproduce", "alpa-layers", folder_.Write("layers.json", cases)});
  };
  const RunResult same = run(text);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("1 cases, 0 differ"));
  const RunResult other = run(absl::StrReplaceAll(text, {{"[0, 1], [1, 2]", "[0, 2], [2, 2]"}}));
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.out, HasSubstr("DIFFERS"));
  const RunResult bad = run(absl::StrReplaceAll(text, {{"0.5", "null"}}));
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("$[0]"));
  EXPECT_THAT(bad.out, IsEmpty());
}

TEST_F(ReproduceCommand, AlpaStages) {
  const std::string text = R"([{"name": "one", "num_layers": 1, "num_devices": 2,
    "num_microbatches": 3, "submesh_choices": [[1, 2]], "compute_cost": [[[[0.5]]]],
    "max_n_succ_stages": [[[[0]]]], "training_cost": 1.5, "inference_cost": 0.5}])";
  const auto run = [&](const std::string& cases) {
    return RunMeshwright({"reproduce", "alpa-stages", folder_.Write("stages.json", cases)});
  };
  const RunResult same = run(text);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("2 cases, 0 differ, largest deviation 0\n"));
  // Small costs count as much as large ones.
  const RunResult other = run(absl::StrReplaceAll(text, {{"cost\": 0.5", "cost\": 0.49998"}}));
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.out, HasSubstr("1 differ, largest deviation 4e-05"));
  EXPECT_EQ(run(absl::StrReplaceAll(text, {{"1.5", "null"}})).exit_code, 4);
  EXPECT_EQ(
      run(absl::StrReplaceAll(text, {{"[[[[0]]]]", "[[[[-1]]]]"}, {"1.5", "null"}})).exit_code, 0);
  const RunResult bad = run(absl::StrReplaceAll(text, {{"[[[[0.5]]]]", "[[[0.5]]]"}}));
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("stages.json: $[0].compute_cost[0][0][0]: found a number"));
  EXPECT_THAT(bad.out, IsEmpty());
}

TEST_F(ReproduceCommand, AlpaSchedules) {
  const std::string text = R"([{"schedule": "gpipe", "cls": "GpipeSchedule", "num_mesh": 1,
    "num_microbatch": 1, "num_clock": 3, "table": [[[0, 0]], [[0, 1]], [[0, 2]]]}])";
  const auto run = [&](const std::string& cases) {
    return RunMeshwright({"reproduce", "alpa-schedules", folder_.Write("tables.json", cases)});
  };
  const RunResult same = run(text);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("1 cases, 0 differ"));
  const RunResult other = run(absl::StrReplaceAll(text, {{"[0, 1]", "null"}}));
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.out, HasSubstr("DIFFERS"));
  const RunResult bad = run(absl::StrReplaceAll(text, {{"clock\": 3", "clock\": 4"}}));
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("$[0].table: has 3 clocks"));
  EXPECT_THAT(bad.out, IsEmpty());
}

}  // namespace
}  // namespace meshwright
