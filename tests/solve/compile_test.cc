#include "meshwright/solve/compile.h"

#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/solve/model_brute_force.h"
#include "tests/solve/random_problem.h"

namespace meshwright::solve {
namespace {

TEST(CompileTest, RowsStandForTimesWhereUsageCanPeak) {
  Problem problem;
  // Usage rises at 0 and 2, falls at 3, rises at 3 and 7, falls at 8 and 9: it can peak just after
  // 2 and just after 7.
  problem.nodes = {{{0}, {Usage{0, 3, {5}}}},
                   {{0}, {Usage{2, 9, {5}}}},
                   {{0}, {Usage{3, 8, {1}}, Usage{7, 8, {2}}, Usage{4, 4, {99}}}}};
  problem.usage_limit = 11;
  const Compiled compiled = Compile(problem);
  EXPECT_EQ(compiled.row_time, (std::vector<int32_t>{2, 7}));
  EXPECT_EQ(compiled.model.capacity, (std::vector<int64_t>{11, 11}));
  EXPECT_EQ(RowUsage(compiled.model, {0, 0, 0}), (std::vector<int64_t>{10, 8}));
  EXPECT_EQ(compiled.infeasible_time, -1);
}

TEST(CompileTest, NoRowsWhereTheLimitNeverBinds) {
  Problem problem;
  problem.nodes = {{{0, 1}, {Usage{0, 3, {5, 2}}}}, {{0}, {Usage{5, 6, {6}}}}};
  problem.usage_limit = 11;
  EXPECT_EQ(Compile(problem).model.rows(), 0);
  problem.usage_limit = kUnlimited;
  EXPECT_EQ(Compile(problem).model.rows(), 0);
  problem.usage_limit = 10;
  EXPECT_EQ(Compile(problem).model.rows(), 2);
}

TEST(CompileTest, NamesTheFirstTimeAtWhichNothingFits) {
  Problem problem;
  problem.nodes = {
      {{0, 0}, {Usage{0, 9, {3, 4}}}}, {{0, 0}, {Usage{4, 6, {9, 2}}}}, {{0}, {Usage{5, 8, {1}}}}};
  problem.usage_limit = 5;
  EXPECT_EQ(Compile(problem).infeasible_time, 5);
  problem.usage_limit = 6;
  EXPECT_EQ(Compile(problem).infeasible_time, -1);
}

TEST(CompileTest, ForbiddenCostsAreInfinite) {
  Problem problem;
  problem.nodes = {{{3, kForbidden}, {}}, {{0, kForbidden + 7}, {}}};
  problem.edges = {
      {NodeId(size_t{0}), NodeId(size_t{1}),
       std::make_shared<const Matrix>(Matrix{2, 2, {4, kForbidden, kForbidden - 1, 0}})}};
  const Compiled compiled = Compile(problem);
  const Model& model = compiled.model;
  EXPECT_TRUE(IsInf(model.nodes[0].cost[1]));
  EXPECT_TRUE(IsInf(model.nodes[1].cost[1]));
  EXPECT_TRUE(IsInf(model.edges[0].matrix->at(0, 1)));
  EXPECT_FALSE(IsInf(model.edges[0].matrix->at(1, 0)));
  EXPECT_TRUE(ModelCost(model, {0, 1}) == kInfCost);
}

TEST(CompileTest, MatricesStaySharedAndUncopiedWhereTheyDoNotChange) {
  Problem problem;
  problem.nodes = {{{0, 0}, {}}, {{0, 0}, {}}, {{0, 0}, {}}};
  const auto plain = std::make_shared<const Matrix>(Matrix{2, 2, {0, 1, 2, 3}});
  const auto forbidding = std::make_shared<const Matrix>(Matrix{2, 2, {0, kForbidden, 2, 3}});
  const NodeId a(size_t{0}), b(size_t{1}), c(size_t{2});
  problem.edges = {{a, b, plain}, {b, c, forbidding}, {a, c, forbidding}};
  const Compiled compiled = Compile(problem);
  EXPECT_EQ(compiled.model.edges[0].matrix, plain);
  EXPECT_EQ(compiled.model.edges[1].matrix, compiled.model.edges[2].matrix);
  EXPECT_NE(compiled.model.edges[1].matrix, forbidding);
}

}  // namespace
}  // namespace meshwright::solve
