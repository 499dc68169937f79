#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/cli/run_binary.h"
#include "tests/testing/exhaustive.h"

// `meshwright solve` as users run it, above all on files that are not what they should be.

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The cheapest pair (0, 0) takes 14 units from time 2 to 4; ten are allowed.
constexpr char kProblem[] = R"({"problem": {
  "name": "pair",
  "nodes": {"intervals": [[0, 4], [2, 5]], "costs": [[1, 5], [1, 9]], "usages": [[7, 3], [7, 4]]},
  "edges": {"nodes": [[0, 1]], "costs": [[0, 3, 2, 1]]},
  "usage_limit": 10}})";

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Nodes with an edge between any two: `forbidden` to have equal strategies, or with random costs.
std::string CompleteGraph(int nodes, int strategies, bool forbidden) {
  uint64_t state = 1;
  const auto random = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(state >> 44);
  };
  std::vector<std::vector<int64_t>> intervals(nodes, {0, 0}), costs, usages(nodes), ends, matrices;
  for (int v = 0; v < nodes; ++v) {
    costs.emplace_back();
    for (int s = 0; s < strategies; ++s) costs.back().push_back(forbidden ? 0 : random());
    for (int u = 0; u < v; ++u) {
      ends.push_back({u, v});
      matrices.emplace_back();
      for (int i = 0; i < strategies * strategies; ++i) {
        const bool same = i / strategies == i % strategies;
        matrices.back().push_back(!forbidden ? random() : same ? 1'000'000'000'000'000'000 : 0);
      }
    }
  }
  const nlohmann::json problem = {
      {"problem",
       {{"name", "complete"},
        {"nodes", {{"intervals", intervals}, {"costs", costs}, {"usages", usages}}},
        {"edges", {{"nodes", ends}, {"costs", matrices}}},
        {"usage_limit", 1}}}};
  return problem.dump();
}

class SolveCommand : public testing::Test {
 protected:
  RunResult Solve(const std::string& text, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"solve", folder_.Write("problem.json", text), "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMeshwright(arguments);
  }
  // One line that names the file and says `message`; exit code 2; nothing written.
  void ExpectBadInput(const std::string& text, const std::string& message) const {
    SCOPED_TRACE(message);
    const RunResult run = Solve(text, {"-o", folder_.Path("solution.json")});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, AllOf(StartsWith("meshwright: " + folder_.Path("problem.json") + ": "),
                               HasSubstr(message)));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
    EXPECT_LT(run.err.size(), 600u);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(folder_.Names(), testing::ElementsAre("problem.json"));
  }

  const ScratchFolder folder_;
};

TEST_F(SolveCommand, PrintsTheContestsAnswerLastAndWritesTheRest) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  for (const std::string& text : {std::string(kProblem), Gzip(kProblem)}) {
    const std::string path = folder_.Path("solution.json");
    const RunResult run = Solve(text, {"-o", path});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, "optimal: cost 8, bound 8, gap 0.0000 %, peak usage 10\n[1, 0]\n");
    EXPECT_THAT(run.err, IsEmpty());
    const auto json = nlohmann::json::parse(ReadText(path));
    EXPECT_EQ(json["problem"], "pair");
    EXPECT_EQ(json["choice"], (std::vector<int>{1, 0}));
    EXPECT_EQ(json["cost"], 8);
  }
}

TEST_F(SolveCommand, ReadsStandardInput) {
  const RunResult plain = RunMeshwright({"solve", "-", "--quiet"}, kProblem);
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("optimal: cost"));
  EXPECT_EQ(RunMeshwright({"solve", "-", "--quiet"}, Gzip(kProblem)).out, plain.out);
  const RunResult bad = RunMeshwright({"solve", "-"}, "{");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("standard input"));
}

TEST_F(SolveCommand, InfeasibleNamesTheTimeThatProvesIt) {
  const RunResult run = Solve(absl::StrReplaceAll(kProblem, {{"\": 10", "\": 6"}}));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "[]\n");
  EXPECT_EQ(run.err,
            "meshwright: infeasible: at time 2 even the smallest usages exceed the limit of 6\n");
}

TEST_F(SolveCommand, InfeasibleNamesTheEdgeOrNodeOrTimeThatShowsIt) {
  const auto message = [this](std::vector<std::pair<std::string, std::string>> changes) {
    const RunResult run = Solve(absl::StrReplaceAll(kProblem, changes));
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_EQ(run.out, "[]\n");
    return run.err;
  };
  EXPECT_EQ(message({{"[0, 3, 2, 1]", "[1e18, 1e18, 1e18, 1e18]"}}),
            "meshwright: infeasible: every entry of edge 0 (nodes 0, 1) is forbidden\n");
  EXPECT_EQ(message({{"[1, 9]", "[1e18, 2e18]"}}),
            "meshwright: infeasible: node 1 has no strategy that neither forbidden costs nor the "
            "usage limit exclude\n");
  // Each strategy fits by itself, but only the pair (0, 0) is allowed.
  EXPECT_EQ(message({{"[0, 3, 2, 1]", "[0, 1e18, 1e18, 1e18]"}, {"\": 10", "\": 13"}}),
            "meshwright: infeasible: at time 2 usage exceeds the limit of 13 whatever is chosen of "
            "what forbidden costs and other times leave\n");
}

TEST_F(SolveCommand, InfeasibleForNoSingleReason) {
  const RunResult run = Solve(CompleteGraph(4, 3, true));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "[]\n");
  EXPECT_THAT(run.err, StartsWith("meshwright: infeasible: proven by search"));
}

// Costs just below what is forbidden and usages just below what is no limit: sums need 128 bits.
TEST_F(SolveCommand, LargestNumbersAreExact) {
  const RunResult run = Solve(R"({"problem": {"name": "large",
      "nodes": {"intervals": [[0, 1], [0, 1], [0, 1]],
                "costs": [[999999999999999999, 999999999999999998], [999999999999999999], [7, 9]],
                "usages": [[0, 9223372036854775806], [0], [0, 1]]},
      "edges": {"nodes": [[0, 1]], "costs": [[999999999999999999, 999999999999999999]]},
      "usage_limit": 9223372036854775806}})");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "optimal: cost 3000000000000000003, bound 3000000000000000003, gap 0.0000 %, peak "
            "usage 9223372036854775806\n[1, 0, 0]\n");
}

TEST_F(SolveCommand, InterruptedItGivesTheBestAnswerSoFar) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string path = folder_.Path("solution.json");
    const RunResult run =
        RunMeshwrightAndSignal({"solve", folder_.Write("problem.json", CompleteGraph(40, 9, false)),
                                "--deadline", "1000s", "-o", path},
                               "  cost ", signal);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, StartsWith("feasible: cost "));
    EXPECT_THAT(run.err,
                HasSubstr("meshwright: interrupted; this is the best answer found so far"));
    const auto json = nlohmann::json::parse(ReadText(path));
    EXPECT_EQ(json["outcome"], "feasible");
    EXPECT_EQ(json["choice"].size(), 40u);
    EXPECT_GT(json["gap"], 0);
    EXPECT_EQ(json["improvements"].back()["cost"], json["cost"]);
  }
}

TEST_F(SolveCommand, InterruptedBeforeTheFirstAnswerItSaysSo) {
  const RunResult run =
      RunMeshwrightAndSignal({"solve", folder_.Write("problem.json", CompleteGraph(15, 14, true)),
                              "--deadline", "1000s", "-o", folder_.Path("solution.json")},
                             "] reduce", SIGINT);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "[]\n");
  EXPECT_THAT(run.err,
              HasSubstr("meshwright: interrupted before a feasible assignment was found\n"));
  EXPECT_THAT(folder_.Names(), testing::ElementsAre("problem.json"));
}

TEST_F(SolveCommand, WordsThatOptionsDoNotTake) {
  const auto expect = [this](const std::string& option, const std::string& word,
                             const std::string& message) {
    SCOPED_TRACE(option + " " + word);
    const RunResult run = Solve(kProblem, {option, word});
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, StartsWith("meshwright: " + message));
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(folder_.Names(), testing::ElementsAre("problem.json"));
  };
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "", "0x1", "1e3", "+1"})
    expect("--seed", seed, std::string("--seed: found \"") + seed + "\"; a whole number from 0");
  expect("-o", "", "--output: the name is empty; name a file, or leave the option out");
  expect("--threads", "0", "--threads: ");
  expect("--deadline", "0s", "--deadline: must be more than 0 seconds");
  EXPECT_EQ(Solve(kProblem, {"--seed", "18446744073709551615"}).exit_code, 0);
}

TEST_F(SolveCommand, MalformedFiles) {
  const std::string good = kProblem;
  const auto with = [&good](const std::string& find, const std::string& by) {
    return absl::StrReplaceAll(good, {{find, by}});
  };
  ExpectBadInput("", "not JSON: parse error at line 1, column 1");
  ExpectBadInput(good.substr(0, 150), "not JSON: parse error at line 4, column 20");
  ExpectBadInput("\x01\x02 what is this?", "not JSON: parse error at line 1, column 1");
  ExpectBadInput(Gzip(good).substr(0, 90), "gzip data is truncated");
  ExpectBadInput("[]", "has no problem.nodes.intervals");
  ExpectBadInput(with("[1, 5]", "[NaN, 5]"), "not JSON: parse error at line 3, column 55");
  ExpectBadInput(with("[1, 5]", "{\"a\": 1}"), "found an object in problem.nodes.costs[0]");
  ExpectBadInput(with("[1, 5]", "[1, \"5\"]"), "found a string in problem.nodes.costs[0][1]");
  ExpectBadInput(with("[1, 5]", "[1, 5.5]"), "5.5 in problem.nodes.costs[0][1]");
  ExpectBadInput(with("[1, 5]", "[1, 9223372036854775808]"), "does not fit in 64 bits");
  ExpectBadInput(with("[1, 5]", "[1, -5]"), "node 0 strategy 1 costs -5");
  ExpectBadInput(with("[1, 5]", "[]"), "node 0 has no strategies");
  ExpectBadInput(with("[7, 3]", "[7, -3]"), "node 0 has usage -3");
  ExpectBadInput(with("usage_limit", "limit"), "has no problem.usage_limit");
  ExpectBadInput(with("[7, 3]", "[7]"), "node 0 has 2 strategies but a usage with 1 amounts");
  ExpectBadInput(with("[2, 5]", "[5, 2]"), "node 1 has a usage over [5, 2)");
  ExpectBadInput(with("[[0, 1]]", "[[0, 2]]"), "edge 0 names node 2");
  ExpectBadInput(with("[[0, 1]]", "[[1, 1]]"), "edge 0 joins node 1 to itself");
  ExpectBadInput(with("[0, 3, 2, 1]", "[0, 3, 2]"), "edge 0 (nodes 0, 1) has a 2 x 2 matrix of 3");
  ExpectBadInput(with("\"usage_limit\"", "\"usage_limit\": 9, \"usage_limit\""),
                 "problem.usage_limit occurs twice");
  ExpectBadInput(std::string(1'000'000, '['), "not JSON");
}

}  // namespace
}  // namespace meshwright
