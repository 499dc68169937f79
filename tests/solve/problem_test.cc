#include "meshwright/solve/problem.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace meshwright::solve {
namespace {

Problem Pair() {
  Problem problem;
  problem.nodes = {{{1, 2}, {Usage{0, 2, {3, 1}}}}, {{5, 0}, {Usage{1, 3, {4, 2}}}}};
  problem.edges = {{NodeId(size_t{0}), NodeId(size_t{1}),
                    std::make_shared<const Matrix>(Matrix{2, 2, {0, 10, kForbidden, 7}})}};
  problem.usage_limit = 6;
  return problem;
}

TEST(EvaluateTest, AddsCostsAndSweepsUsage) {
  const Evaluation both_first = Evaluate(Pair(), {0, 0});
  EXPECT_TRUE(both_first.cost == 6);
  EXPECT_TRUE(both_first.peak == 7);
  EXPECT_EQ(both_first.peak_time, 1);
  EXPECT_FALSE(both_first.fits);
  EXPECT_FALSE(both_first.forbidden);

  const Evaluation good = Evaluate(Pair(), {0, 1});
  EXPECT_TRUE(good.cost == 11);
  EXPECT_TRUE(good.peak == 5);
  EXPECT_TRUE(good.feasible());

  EXPECT_TRUE(Evaluate(Pair(), {1, 0}).forbidden);
}

TEST(EvaluateTest, IntervalsAreHalfOpenAndEmptyOnesDoNotCount) {
  Problem problem;
  problem.nodes = {{{0}, {Usage{0, 1, {5}}, Usage{2, 2, {100}}}}, {{0}, {Usage{1, 2, {5}}}}};
  EXPECT_TRUE(Evaluate(problem, {0, 0}).peak == 5);
}

TEST(EvaluateTest, SumsBeyond64Bits) {
  Problem problem;
  for (int v = 0; v < 20; ++v)
    problem.nodes.push_back({{kForbidden - 1}, {Usage{0, 1, {kUnlimited}}}});
  const Evaluation evaluation = Evaluate(problem, std::vector<int32_t>(20, 0));
  EXPECT_TRUE(evaluation.cost == Int128{20} * (kForbidden - 1));
  EXPECT_TRUE(evaluation.peak == Int128{20} * kUnlimited);
  EXPECT_FALSE(evaluation.forbidden);
  EXPECT_TRUE(evaluation.fits);
  problem.usage_limit = kUnlimited - 1;
  EXPECT_FALSE(Evaluate(problem, std::vector<int32_t>(20, 0)).fits);
}

TEST(ValidateTest, AcceptsWhatIsWellFormed) {
  EXPECT_TRUE(Validate(Pair()).ok());
  EXPECT_TRUE(Validate(Problem()).ok());
}

struct ProblemDamage {
  const char* what;
  void (*apply)(Problem*);
  const char* message;  // part of it
};
const ProblemDamage kProblemDamages[] = {
    {"no strategies", [](Problem* p) { p->nodes[1].cost.clear(); }, "node 1 has no strategies"},
    {"negative cost", [](Problem* p) { p->nodes[0].cost[1] = -3; }, "node 0 strategy 1 costs -3"},
    {"negative usage", [](Problem* p) { p->nodes[0].usages[0].amount[0] = -1; },
     "node 0 has usage -1"},
    {"interval", [](Problem* p) { p->nodes[0].usages[0].end = -1; }, "over [0, -1)"},
    {"amounts", [](Problem* p) { p->nodes[0].usages[0].amount.pop_back(); },
     "a usage with 1 amounts"},
    {"unknown node", [](Problem* p) { p->edges[0].b = NodeId(size_t{9}); },
     "names node 9; there are nodes 0 to 1"},
    {"no node", [](Problem* p) { p->edges[0].a = NodeId(); }, "edge 0 names node -1"},
    {"loop", [](Problem* p) { p->edges[0].b = p->edges[0].a; }, "joins node 0 to itself"},
    {"no matrix", [](Problem* p) { p->edges[0].matrix = nullptr; }, "edge 0 has no cost matrix"},
    {"matrix size",
     [](Problem* p) {
       p->edges[0].matrix = std::make_shared<const Matrix>(Matrix{1, 2, {0, 0}});
     },
     "a 1 x 2 matrix of 2 entries; 2 x 2 needed"},
    {"negative entry",
     [](Problem* p) {
       p->edges[0].matrix = std::make_shared<const Matrix>(Matrix{2, 2, {0, 0, -1, 0}});
     },
     "edge 0 has a negative cost"},
    {"limit", [](Problem* p) { p->usage_limit = -1; }, "usage limit is -1"},
};

TEST(ValidateTest, SaysWhatIsWrong) {
  for (const ProblemDamage& damage : kProblemDamages) {
    SCOPED_TRACE(damage.what);
    Problem problem = Pair();
    damage.apply(&problem);
    const absl::Status status = Validate(problem);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(damage.message), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace meshwright::solve
