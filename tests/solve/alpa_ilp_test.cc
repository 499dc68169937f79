#include "meshwright/solve/alpa_ilp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/solve/brute_force.h"

namespace meshwright::solve {
namespace {

// Node 1 follows node 0; node 2 is free. Choosing 0 for the leader costs 0.5 + 0.25 (edge) + 1.5,
// choosing 1 costs 2 + 0.
constexpr char kAlpa[] = R"({"small": {
  "num_nodes": 3, "s_len": [2, 2, 2], "s_follow": [-1, 0, -1],
  "compute_costs": [[0.5, 2], [0, 0], [1, 0]],
  "communication_costs": [[0, 0], [0, 0], [0.5, 3]],
  "memory_costs": [[4, 2], [4, 2], [1, 1]],
  "live": [[0], [0, 1], [1, 2], [0]], "memory_budget": 9.0,
  "edges": [[0, 2]], "resharding_costs": [[0.25, 1e10, 0, 0]],
  "aliases": [[1, 2]], "alias_costs": [[0, 0, 0, 1]],
  "status": "optimal", "objective": 2.25}})";

constexpr char kXla[] = R"([{"name": "small", "expected_objective": 33, "request": {
  "num_nodes": 2, "s_len": [2, 2], "s_follow": [-1, -1],
  "computation_costs": [[10, 20], [10, 20]], "communication_costs": [[1, 1], [1, 1]],
  "memory_costs": [[6, 2], [6, 2]], "departure_costs": [[0, 1], [0, 1]],
  "node_intervals": [[0, 4], [2, 3]], "memory_budget": 9,
  "edges": [[0, 1]], "resharding_costs": [[0, 1, 1, 1e20]],
  "aliases": [], "value_costs": [],
  "overbudget_coeff": null, "max_departures": null, "minimize_departures": false}}])";

std::string Replaced(std::string text, const std::string& find, const std::string& by) {
  const size_t at = text.find(find);
  EXPECT_NE(at, std::string::npos) << find;
  return text.replace(at, find.size(), by);
}

RecordedProblem Only(const std::string& text) {
  const absl::StatusOr<std::vector<RecordedProblem>> problems =
      ParseRecordedProblems(text, "cases.json");
  EXPECT_TRUE(problems.ok()) << problems.status();
  if (!problems.ok()) return {};
  EXPECT_EQ(problems->size(), 1u);
  return problems->front();
}

// That brute force finds the recorded optimum, and that Reproduce says so.
void ExpectReproduced(const std::string& text) {
  SCOPED_TRACE(text);
  const RecordedProblem recorded = Only(text);
  const std::optional<BruteForceResult> best = BruteForce(recorded.problem);
  ASSERT_EQ(best.has_value(), recorded.objective.has_value());
  if (best.has_value()) {
    EXPECT_NEAR(recorded.RealCost(best->cost), *recorded.objective, 1e-6);
  }
  const absl::StatusOr<Reproduced> result = Reproduce(recorded);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->agrees);
  EXPECT_LT(result->deviation, 1e-9);
}

TEST(AlpaIlpTest, ReadsWhatAlpaWrites) {
  const RecordedProblem small = Only(kAlpa);
  EXPECT_EQ(small.name, "small");
  EXPECT_EQ(small.objective, 2.25);
  EXPECT_EQ(small.cost_scale, 1e6);
  const Problem& problem = small.problem;
  EXPECT_EQ(problem.usage_limit, 9);
  ASSERT_EQ(problem.nodes.size(), 3u);
  EXPECT_EQ(problem.nodes[0],
            (Node{{500'000, 2'000'000}, {Usage{0, 2, {4, 2}}, Usage{3, 4, {4, 2}}}}));
  EXPECT_EQ(problem.nodes[2], (Node{{1'500'000, 3'000'000}, {Usage{2, 3, {1, 1}}}}));
  ASSERT_EQ(problem.edges.size(), 3u);
  EXPECT_EQ(*problem.edges[0].matrix, (Matrix{2, 2, {0, kForbidden, kForbidden, 0}}));
  EXPECT_EQ(*problem.edges[1].matrix, (Matrix{2, 2, {250'000, 10'000'000'000'000'000, 0, 0}}));
  EXPECT_EQ(*problem.edges[2].matrix, (Matrix{2, 2, {0, 0, 0, kForbidden}}));
}

TEST(AlpaIlpTest, ReproducesWhatIsRecorded) {
  ExpectReproduced(kAlpa);
  // Six bytes at a time rule the leader's first strategy out.
  ExpectReproduced(Replaced(Replaced(kAlpa, "9.0", "6"), "2.25", "3.5"));
  ExpectReproduced(Replaced(Replaced(kAlpa, "9.0", "3"), "optimal", "infeasible"));
  // Without a positive budget memory is unlimited.
  ExpectReproduced(Replaced(kAlpa, "9.0", "-1"));
  // Fractions of bytes: 4 + 8/3 just fits, and 4.0 + 2.67 just does not.
  const std::string thirds = Replaced(kAlpa, "[4, 2], [1, 1]", "[2.6666666666666665, 2], [1, 1]");
  ExpectReproduced(Replaced(thirds, "9.0", "6.6666666666666665"));
  ExpectReproduced(Replaced(Replaced(thirds, "9.0", "6.666"), "2.25", "3.5"));
  // Negative costs, and an edge from a node to itself.
  ExpectReproduced(
      Replaced(Replaced(kAlpa, "[0.25, 1e10, 0, 0]", "[-0.25, 0, 0, 0]"), "2.25", "1.75"));
  ExpectReproduced(Replaced(Replaced(kAlpa, "[[0, 2]]", "[[0, 0]]"), "2.25", "2.25"));
}

TEST(AlpaIlpTest, SaysWhatDiffers) {
  const Reproduced costly = *Reproduce(Only(Replaced(kAlpa, "2.25", "2.5")));
  EXPECT_FALSE(costly.agrees);
  EXPECT_DOUBLE_EQ(costly.deviation, 0.1);
  const Reproduced feasible = *Reproduce(Only(Replaced(kAlpa, "optimal", "infeasible")));
  EXPECT_FALSE(feasible.agrees);
  EXPECT_TRUE(std::isinf(feasible.deviation));
  const Reproduced infeasible = *Reproduce(Only(Replaced(kAlpa, "9.0", "3")));
  EXPECT_FALSE(infeasible.agrees);
  EXPECT_EQ(infeasible.outcome, Outcome::kInfeasible);
}

TEST(AlpaIlpTest, CostsTooLargeForMillionthsAreCoarser) {
  const RecordedProblem coarse = Only(Replaced(kAlpa, "1e10", "1e13"));
  EXPECT_EQ(coarse.cost_scale, 1e4);
  EXPECT_TRUE(Reproduce(coarse)->agrees);
}

TEST(XlaRequestTest, ReproducesWhatIsExpected) {
  ExpectReproduced(kXla);
  // Slack enough for both.
  ExpectReproduced(Replaced(Replaced(kXla, "\": 9", "\": 12"), "33", "22"));
  ExpectReproduced(Replaced(Replaced(kXla, "\": 9", "\": 3"), "33", "null"));
  // Each byte over the budget costs 2: 3 bytes are cheaper than 11.
  ExpectReproduced(Replaced(Replaced(kXla, "coeff\": null", "coeff\": 2.0"), "33", "28"));
  ExpectReproduced(Replaced(Replaced(kXla, "coeff\": null", "coeff\": 4"), "33", "33"));
  // At most so many departures, with and without a budget.
  ExpectReproduced(
      Replaced(Replaced(kXla, "max_departures\": null", "max_departures\": 0"), "33", "null"));
  ExpectReproduced(Replaced(kXla, "max_departures\": null", "max_departures\": 1.0"));
  const std::string unlimited = Replaced(kXla, "\": 9", "\": 0");
  ExpectReproduced(
      Replaced(Replaced(unlimited, "max_departures\": null", "max_departures\": 0"), "33", "22"));
  ExpectReproduced(
      Replaced(Replaced(kXla, "departures\": false", "departures\": true"), "33", "1"));
  // The second node counts at no time.
  ExpectReproduced(Replaced(Replaced(kXla, "[2, 3]]", "[2, -1]]"), "33", "22"));
}

// Departures of several weights against brute force over the request itself.
TEST(XlaRequestTest, LimitsDepartures) {
  for (int most = 0; most <= 9; ++most) {
    SCOPED_TRACE(absl::StrCat("at most ", most));
    std::string text = Replaced(kXla, "[[0, 1], [0, 1]]", "[[7, 0], [5, 3]]");
    text = Replaced(text, "\": 9", "\": 14");
    text = Replaced(text, "max_departures\": null", absl::StrCat("max_departures\": ", most));
    // 7 + 5: 22; 0 + 5: 33 (with the edge); 7 + 3: 33; 0 + 3: forbidden.
    ExpectReproduced(Replaced(text, "33", most >= 5 ? "33" : "null"));
  }
}

struct IlpDamage {
  const char* find;
  const char* by;
  const char* message;
};

void ExpectErrors(const std::string& good, const std::vector<IlpDamage>& damages) {
  for (const IlpDamage& damage : damages) {
    SCOPED_TRACE(absl::StrCat(damage.find, " -> ", damage.by));
    const absl::StatusOr<std::vector<RecordedProblem>> problems =
        ParseRecordedProblems(Replaced(good, damage.find, damage.by), "cases.json");
    ASSERT_FALSE(problems.ok());
    EXPECT_EQ(problems.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(problems.status().message()),
              absl::StrCat("cases.json: ", damage.message));
  }
}

TEST(AlpaIlpTest, ErrorsNameFileAndMember) {
  ExpectErrors(
      kAlpa,
      {{"\"num_nodes\": 3, ", "", "$[\"small\"]: has no \"num_nodes\""},
       {"\"num_nodes\": 3", "\"num_nodes\": 4",
        "$[\"small\"].s_len: has 3 elements, expected 4 (nodes)"},
       {"\"num_nodes\": 3", "\"num_nodes\": -3",
        "$[\"small\"].num_nodes: found -3, expected an integer from 0 to 10000000"},
       {"[2, 2, 2]", "[2, 0, 2]",
        "$[\"small\"].s_len[1]: found 0, expected an integer from 1 to 4096"},
       {"[2, 2, 2]", "[2, 2.5, 2]",
        "$[\"small\"].s_len[1]: found 2.5, expected an integer from 1 to 4096"},
       {"[-1, 0, -1]", "[-1, 1, -1]", "$[\"small\"].s_follow[1]: a node cannot follow itself"},
       {"[-1, 0, -1]", "[-1, 3, -1]",
        "$[\"small\"].s_follow[1]: found 3, expected an integer from -1 to 2"},
       {"[0.5, 2]", "[0.5]",
        "$[\"small\"].compute_costs[0]: has 1 elements, expected 2 (strategies of the node)"},
       {"[0.5, 2]", "[0.5, \"2\"]",
        "$[\"small\"].compute_costs[0][1]: found a string, expected a number"},
       {"[0.5, 2]", "[0.5, 1e31]",
        "$[\"small\"].compute_costs[0][1]: found 1e+31, expected at most 1e+30 in magnitude"},
       {"[0.5, 2]", "7",
        "$[\"small\"].compute_costs[0]: found a number, expected a list of numbers"},
       {"[4, 2]", "[4, -2]", "$[\"small\"].memory_costs[0]: found -2, expected 0 or more"},
       {"[1, 2], [0]]", "[1, 3], [0]]",
        "$[\"small\"].live[2][1]: found 3, expected an integer from 0 to 2"},
       {"9.0", "null", "$[\"small\"].memory_budget: found null, expected a number"},
       {"[[0, 2]]", "[[0, 2, 1]]",
        "$[\"small\"].edges[0]: has 3 elements, expected 2 (nodes of a pair)"},
       {"[[0, 2]]", "[[0, 2], [0, 1]]",
        "$[\"small\"].resharding_costs: has 1 elements, expected 2 (pairs of nodes)"},
       {"[0.25, 1e10, 0, 0]", "[0.25, 0, 0]",
        "$[\"small\"].resharding_costs[0]: has 3 elements, expected 4 (pairs of strategies)"},
       {"\"optimal\"", "\"maybe\"", "$[\"small\"].status: expected \"optimal\" or \"infeasible\""},
       {", \"objective\": 2.25", "", "$[\"small\"]: has no \"objective\""},
       {"\"edges\"", "\"live\"", "\"live\" occurs twice in one object"}});
}

TEST(XlaRequestTest, ErrorsNameFileAndMember) {
  ExpectErrors(
      kXla,
      {{"\"name\": \"small\", ", "", "$[0]: has no \"name\""},
       {"33", "\"33\"", "$[0].expected_objective: found a string, expected a number"},
       {"[0, 4]", "[0]",
        "$[0].request.node_intervals[0]: has 1 elements, expected 2 (first and last time)"},
       {"[0, 4]", "[-3, 4]",
        "$[0].request.node_intervals[0][0]: found -3, expected an integer from 0 to 1000000000"},
       {"\"aliases\": []", "\"aliases\": [], \"node_groups\": [[0, 1]]",
        "$[0].request.node_groups: is not supported"},
       {"false", "1", "$[0].request.minimize_departures: found a number, expected a boolean"},
       {"max_departures\": null", "max_departures\": -1",
        "$[0].request.max_departures: expected 0 or more"},
       {"coeff\": null", "coeff\": -1",
        "$[0].request.overbudget_coeff: needs whole numbers of bytes and a cost of 0 or "
        "more"}});
}

TEST(RecordedProblemsTest, OtherDocumentsAreErrors) {
  const auto error = [](const std::string& text) {
    const auto problems = ParseRecordedProblems(text, "f");
    EXPECT_FALSE(problems.ok());
    return std::string(problems.status().message());
  };
  EXPECT_EQ(
      error("7"),
      "f: $: expected an object of Alpa's integer programs or a list of cases of XLA's solver");
  EXPECT_EQ(error("{}"), "f: $: holds no problem");
  EXPECT_EQ(error("[]"), "f: $: holds no problem");
  EXPECT_EQ(error("[3]"), "f: $[0]: found a number, expected an object");
  EXPECT_EQ(error("{\"a\": [1]}"), "f: $[\"a\"]: found a list, expected an object");
  EXPECT_EQ(
      error("{\n \"a\" 7}").rfind("f: not valid JSON, at $.a: parse error at line 2, column 6", 0),
      0u);
  EXPECT_EQ(error("").rfind("f: not valid JSON, at $: parse error at line 1, column 1", 0), 0u);
  // Short messages whatever the text.
  EXPECT_LT(error("{\"" + std::string(1'000'000, 'x')).size(), 300u);
  EXPECT_LT(error(std::string(1'000'000, '[')).size(), 300u);
}

TEST(RecordedProblemsTest, EveryPrefixIsAnError) {
  for (const std::string text : {kAlpa, kXla}) {
    for (size_t length = 0; length < text.size(); ++length) {
      EXPECT_FALSE(ParseRecordedProblems(text.substr(0, length), "prefix").ok()) << length;
    }
  }
}

}  // namespace
}  // namespace meshwright::solve
