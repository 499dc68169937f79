#include "meshwright/solve/solution_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace meshwright::solve {
namespace {

TEST(Int128TextTest, WiderThan64Bits) {
  EXPECT_EQ(Int128Text(0), "0");
  EXPECT_EQ(Int128Text(-12), "-12");
  EXPECT_EQ(Int128Text(Int128{1} << 100), "1267650600228229401496703205376");
}

TEST(SolutionJsonTest, HoldsTheWholeAnswer) {
  Problem problem;
  problem.name = "a \"b\" \xff";
  problem.nodes = {{{3, 1}, {}}, {{2, 5}, {}}};
  const Solution solution = *Solve(problem);
  const nlohmann::json json = nlohmann::json::parse(SolutionToJson(problem, solution));
  EXPECT_EQ(json["outcome"], "optimal");
  EXPECT_EQ(json["cost"], 3);
  EXPECT_EQ(json["bound"], 3);
  EXPECT_EQ(json["choice"], (std::vector<int>{1, 0}));
  EXPECT_TRUE(json["usage_limit"].is_null());
  EXPECT_EQ(ChoiceText(solution), "[1, 0]");
}

TEST(SolutionJsonTest, NumbersOf128BitsAndTheWayThere) {
  Problem problem;
  problem.nodes = {{{1}, {}}};
  problem.usage_limit = 42;
  Solution solution;
  solution.outcome = Outcome::kFeasible;
  solution.choice = {0};
  solution.cost = Int128{1} << 100;
  solution.bound = Int128{1} << 99;
  solution.gap = 0.5;
  solution.peak = 7;
  solution.history = {{0.25, Int128{1} << 101}, {1.5, Int128{1} << 100}};
  solution.reduced_nodes = 3;
  solution.reduced_edges = 4;
  const std::string text = SolutionToJson(problem, solution);
  // JSON readers lose such digits, so they are looked for in the text.
  for (const char* part :
       {"\"cost\": 1267650600228229401496703205376,", "\"bound\": 633825300114114700748351602688,",
        "\"cost\": 2535301200456458802993406410752}"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["outcome"], "feasible");
  EXPECT_EQ(json["usage_limit"], 42);
  EXPECT_EQ(json["peak_usage"], 7);
  EXPECT_EQ(json["gap"], 0.5);
  ASSERT_EQ(json["improvements"].size(), 2u);
  EXPECT_EQ(json["improvements"][1]["seconds"], 1.5);
  EXPECT_EQ(json["reduced_nodes"], 3);
  EXPECT_EQ(json["reduced_edges"], 4);
}

TEST(SolutionJsonTest, OutcomesHaveNames) {
  EXPECT_EQ(OutcomeName(Outcome::kOptimal), "optimal");
  EXPECT_EQ(OutcomeName(Outcome::kInfeasible), "infeasible");
  EXPECT_EQ(OutcomeName(Outcome::kUnknown), "unknown");
}

TEST(SolutionJsonTest, NoAnswerIsAnEmptyList) { EXPECT_EQ(ChoiceText(Solution()), "[]"); }

}  // namespace
}  // namespace meshwright::solve
