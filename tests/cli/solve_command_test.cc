#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/cli/run_binary.h"

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

TEST_F(SolveCommand, InfeasibleNamesTheTimeThatProvesIt) {
  const RunResult run = Solve(absl::StrReplaceAll(kProblem, {{"\": 10", "\": 6"}}));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "[]\n");
  EXPECT_EQ(run.err,
            "meshwright: infeasible: at time 2 even the smallest usages exceed the limit of 6\n");
}

TEST_F(SolveCommand, InfeasibleByForbiddenCosts) {
  const RunResult run =
      Solve(absl::StrReplaceAll(kProblem, {{"[0, 3, 2, 1]", "[0, 3, 1e18, 1e18]"}}));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "[]\n");
  EXPECT_THAT(run.err, StartsWith("meshwright: infeasible: proven by search"));
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
