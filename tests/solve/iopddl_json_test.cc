#include "meshwright/solve/iopddl_json.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/solve/random_problem.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

constexpr char kSmall[] = R"({"problem": {
  "name": "small",
  "nodes": {"intervals": [[0, 3], [0, 0]], "costs": [[1, 2], [3, 4, 5]], "usages": [[7, 8], []]},
  "edges": {"nodes": [[1, 0]], "costs": [[0, 1, 2, 3, 4, 1000000000000000000]]},
  "usage_limit": 99}})";

TEST(IopddlJsonTest, ReadsTheContestsFormat) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const absl::StatusOr<Problem> problem = ParseIopddl(kSmall, "small.json");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->name, "small");
  EXPECT_EQ(problem->usage_limit, 99);
  ASSERT_EQ(problem->nodes.size(), 2u);
  EXPECT_EQ(problem->nodes[0], (Node{{1, 2}, {Usage{0, 3, {7, 8}}}}));
  EXPECT_EQ(problem->nodes[1], (Node{{3, 4, 5}, {}}));
  ASSERT_EQ(problem->edges.size(), 1u);
  EXPECT_EQ(problem->edges[0].a.value, 1);
  EXPECT_EQ(problem->edges[0].matrix->at(2, 1), kForbidden);
  EXPECT_EQ(problem->edges[0].matrix->at(1, 0), 2);
}

TEST(IopddlJsonTest, WritesWhatItReads) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomShape shape;
    shape.max_usages = 1;
    const Problem problem = RandomProblem(seed, shape);
    const absl::StatusOr<std::string> text = WriteIopddl(problem);
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::StatusOr<Problem> again = ParseIopddl(*text, "again");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->usage_limit, problem.usage_limit);
    ASSERT_EQ(again->edges.size(), problem.edges.size());
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      EXPECT_EQ(*again->edges[e].matrix, *problem.edges[e].matrix);
      EXPECT_EQ(again->edges[e].a, problem.edges[e].a);
    }
    // Usages over empty intervals are dropped on reading; after that nothing changes any more.
    const std::string second = WriteIopddl(*again).value();
    EXPECT_EQ(WriteIopddl(ParseIopddl(second, "second").value()).value(), second);
    EXPECT_EQ(Evaluate(*again, std::vector<int32_t>(problem.nodes.size(), 0)).peak_time,
              Evaluate(problem, std::vector<int32_t>(problem.nodes.size(), 0)).peak_time);
  }
}

TEST(IopddlJsonTest, EqualMatricesComeOutShared) {
  const absl::StatusOr<Problem> problem = ParseIopddl(
      R"({"problem":{"nodes":{"intervals":[[0,0],[0,0],[0,0]],"costs":[[1],[1],[1]],"usages":[[],[],[]]},
          "edges":{"nodes":[[0,1],[1,2],[0,2]],"costs":[[5],[5],[6]]},
          "usage_limit":9223372036854775807}})",
      "shared");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->edges[0].matrix, problem->edges[1].matrix);
  EXPECT_NE(problem->edges[0].matrix, problem->edges[2].matrix);
  EXPECT_EQ(problem->usage_limit, kUnlimited);
}

// Doubles hold 53 bits; the text of a number holds all of them.
TEST(IopddlJsonTest, ReadsWholeNumbersInAnyNotationExactly) {
  const auto read = [](const std::string& number) {
    std::string text = kSmall;
    text.replace(text.find("[1, 2]"), 6, "[1, " + number + "]");
    const absl::StatusOr<Problem> problem = ParseIopddl(text, "number");
    return problem.ok() ? problem->nodes[0].cost[1] : -1;
  };
  EXPECT_EQ(read("5.0"), 5);
  EXPECT_EQ(read("-0.0"), 0);
  EXPECT_EQ(read("0e999999999999999999999"), 0);
  EXPECT_EQ(read("1e18"), kForbidden);
  EXPECT_EQ(read("1.5E+3"), 1500);
  EXPECT_EQ(read("1500e-2"), 15);
  EXPECT_EQ(read("999999999999999999.0"), 999'999'999'999'999'999);
  EXPECT_EQ(read("1.23456789012345678e17"), 123'456'789'012'345'678);
  EXPECT_EQ(read("9223372036854775807.000"), kUnlimited);
  for (const char* number : {"9223372036854775808.0", "1e19", "0.5", "1e-1", "1.23456e2", "15e-1",
                             "1e-99999999999999999999"}) {
    EXPECT_EQ(read(number), -1) << number;
  }
}

TEST(IopddlJsonTest, IgnoresWhatItDoesNotKnow) {
  std::string text = kSmall;
  text.insert(
      1,
      R"("solution": {"costs": [1.5, null], "nodes": [true]}, "extra": [[{"problem": {"name": 3}}]], )");
  const absl::StatusOr<Problem> problem = ParseIopddl(text, "extra.json");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->name, "small");
}

struct JsonDamage {
  const char* find;
  const char* replace;
  const char* message;
};
const JsonDamage kJsonDamages[] = {
    {"99}}", "99}", "not JSON"},
    {"[1, 2]", "[1, -2]", "node 0 strategy 1 costs -2"},
    {"[1, 2]", "[1, 2.5]", "2.5 in problem.nodes.costs[0][1] is not a 64-bit integer"},
    {"[1, 2]", "[NaN, 2]", "not JSON: parse error at line 3, column 55"},
    {"[1, 2]", "[1, 1e400]", "not JSON: number overflow parsing '1e400'"},
    {"[1, 2]", "[-1e300, 2]", "-1e300 in problem.nodes.costs[0][0] is not a 64-bit integer"},
    {"[1, 2]", "[1, true]", "found a boolean in problem.nodes.costs[0][1]"},
    {"[1, 2]", "[1, null]", "found null in problem.nodes.costs[0][1]"},
    {"[1, 2]", "[1, {}]", "found an object in problem.nodes.costs[0][1]"},
    {"[1, 2]", "[]", "node 0 has no strategies"},
    {"[1, 2]", "[1, 99999999999999999999999]", "is not a 64-bit integer"},
    {"[1, 2]", "[1, 18446744073709551615]", "does not fit in 64 bits"},
    {"[1, 2]", "[1, \"2\"]", "found a string in problem.nodes.costs[0][1]"},
    {"[1, 2]", "[[1], 2]", "nested too deep"},
    {"[1, 2]", "7", "found a number in problem.nodes.costs[0]"},
    {"[0, 3]", "[0]", "interval 0 has 1 numbers; 2 needed"},
    {"[0, 3]", "[3, 1]", "over [3, 1)"},
    {"[0, 3]", "[0, 3000000000]", "time 3000000000 of node 0 is out of range"},
    {"[0, 3], ", "", "their numbers must agree"},
    {"[7, 8]", "[7, 8, 9]", "node 0 has 2 strategies but a usage with 3 amounts"},
    {"[7, 8]", "[7, -8]", "node 0 has usage -8"},
    {"[7, 8], []", "[7, 8], [1]", "node 1 has 3 strategies but 1 usages"},
    {"\"usages\"", "\"usage\"", "has no problem.nodes.usages"},
    {"[[1, 0]]", "[[1, 1]]", "edge 0 joins node 1 to itself"},
    {"[[1, 0]]", "[[1, -1]]", "edge 0 names node -1; there are 2 nodes"},
    {"2, 3, 4, 10000", "2, -3, 4, 10000", "edge 0 has a negative cost"},
    {"\"usage_limit\"", "\"limit\"", "has no problem.usage_limit; 9223372036854775807 is no limit"},
    {"99}}", "-99}}", "usage limit is -99"},
    {"99}}", "1.5}}", "1.5 in problem.usage_limit is not a 64-bit integer"},
    {"99}}", "99, \"usage_limit\": 98}}", "problem.usage_limit occurs twice"},
    {"\"edges\"", "\"nodes\"", "problem.nodes occurs twice"},
    {"\"usages\"", "\"costs\"", "problem.nodes.costs occurs twice"},
    {"{\"problem\"", "[{\"problem\"", "not JSON"},
    {"[[1, 0]]", "[[1, 2]]", "edge 0 names node 2; there are 2 nodes"},
    {"[[1, 0]]", "[[1]]", "edge 0 has 1 nodes; 2 needed"},
    {"[[1, 0]]", "[]", "0 pairs of edge nodes, 1 lists of edge costs"},
    {"4, 10000", "10000", "edge 0 (nodes 1, 0) has a 3 x 2 matrix of 5 entries"},
    {"99}}", "[99]}}", "found a list in problem.usage_limit"},
    {"\"small\"", "5", "found a number in problem.name"},
};

TEST(IopddlJsonTest, ErrorsNameFileAndPlace) {
  for (const JsonDamage& damage : kJsonDamages) {
    SCOPED_TRACE(damage.replace);
    std::string text = kSmall;
    text.replace(text.find(damage.find), std::string(damage.find).size(), damage.replace);
    const absl::StatusOr<Problem> problem = ParseIopddl(text, "bad.json");
    ASSERT_FALSE(problem.ok());
    const std::string message(problem.status().message());
    EXPECT_EQ(message.rfind("bad.json: ", 0), 0u) << message;
    EXPECT_NE(message.find(damage.message), std::string::npos) << message;
  }
}

TEST(IopddlJsonTest, DottedKeysAreNotPaths) {
  std::string text = kSmall;
  text.insert(1, R"("problem.name": "other", "problem.nodes": {"costs": [[8]]}, )");
  const absl::StatusOr<Problem> problem = ParseIopddl(text, "dots.json");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->name, "small");
  EXPECT_EQ(problem->nodes[0].cost, (std::vector<int64_t>{1, 2}));
}

// Texts that are long where a message would quote them, or deep where memory would grow with depth.
TEST(IopddlJsonTest, LongAndDeepTextsGiveShortErrors) {
  std::string objects;
  for (int depth = 0; depth < 300'000; ++depth) objects += "{\"a\":";
  const std::string texts[] = {
      std::string(1'000'000, '['),
      objects,
      "{\"problem\": \"" + std::string(1'000'000, 'x'),
      "{\"problem\": {\"usage_limit\": " + std::string(100'000, '9') + "}}",
      std::string(1'000'000, '\0'),
      "\x1f\x8b" + std::string(100, '\0')};
  for (const std::string& text : texts) {
    const absl::StatusOr<Problem> problem = ParseIopddl(text, "long.json");
    ASSERT_FALSE(problem.ok());
    EXPECT_LT(problem.status().message().size(), 400u);
    EXPECT_EQ(problem.status().message().find('\n'), absl::string_view::npos);
  }
}

TEST(IopddlJsonTest, RefusesToWriteSeveralUsagesOfANode) {
  Problem problem;
  problem.nodes = {{{0}, {Usage{0, 1, {1}}, Usage{1, 2, {1}}}}};
  EXPECT_NE(std::string(WriteIopddl(problem).status().message()).find("node 0 has 2 usages"),
            std::string::npos);
}

TEST(IopddlJsonTest, EveryPrefixOfAFileIsAnError) {
  const std::string text = kSmall;
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(ParseIopddl(text.substr(0, length), "prefix").ok()) << length;
  }
}

}  // namespace
}  // namespace meshwright::solve
