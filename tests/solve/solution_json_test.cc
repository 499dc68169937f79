#include "meshwright/solve/solution_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(SolutionJsonTest, NoAnswerIsAnEmptyList) { EXPECT_EQ(ChoiceText(Solution()), "[]"); }

}  // namespace
}  // namespace meshwright::solve
