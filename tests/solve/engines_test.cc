// Everything that solves the problem, exactly or not, on the same problems: all of some small
// families, and random ones where ties, forbidden costs and tight limits are common. Evaluate is
// the oracle, by way of brute force; CBC knows nothing of our code.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/branch_and_bound.h"
#include "meshwright/solve/compile.h"
#include "meshwright/solve/dual_bound.h"
#include "meshwright/solve/eliminate.h"
#include "meshwright/solve/neighbourhood_search.h"
#include "meshwright/solve/optimise.h"
#include "meshwright/solve/solver.h"
#include "tests/solve/brute_force.h"
#include "tests/solve/cbc.h"
#include "tests/solve/model_brute_force.h"
#include "tests/solve/random_problem.h"
#include "tests/testing/exhaustive.h"

namespace meshwright::solve {
namespace {

constexpr int64_t kEngineSteps = 20'000'000;

void ExpectFullSolveAgrees(const Problem& problem, const std::optional<BruteForceResult>& oracle) {
  SolverOptions options;
  options.threads = 1;
  options.deadline_seconds = 60;
  options.max_search_steps = kEngineSteps;
  const absl::StatusOr<Solution> solution = Solve(problem, options);
  ASSERT_TRUE(solution.ok()) << solution.status();
  ASSERT_EQ(solution->outcome, oracle.has_value() ? Outcome::kOptimal : Outcome::kInfeasible);
  if (oracle.has_value()) {
    EXPECT_TRUE(solution->cost == oracle->cost && solution->bound == oracle->cost);
    EXPECT_TRUE(Evaluate(problem, solution->choice).feasible());
    EXPECT_TRUE(Evaluate(problem, solution->choice).cost == oracle->cost);
  } else if (solution->infeasible_time >= 0) {
    // The time that it names shows it.
    Int128 least = 0;
    for (const Node& node : problem.nodes) {
      std::vector<Int128> amount(node.cost.size(), 0);
      for (const Usage& usage : node.usages) {
        if (usage.begin > solution->infeasible_time || usage.end <= solution->infeasible_time)
          continue;
        for (size_t s = 0; s < amount.size(); ++s) amount[s] += usage.amount[s];
      }
      least += *std::min_element(amount.begin(), amount.end());
    }
    EXPECT_TRUE(least > problem.usage_limit);
  }
}

// `with_search`: the heuristics too, which take far longer than all others together.
void ExpectPartsAgree(const Model& model, Int128 optimum, bool with_search) {
  BranchOptions branch;
  branch.max_steps = kEngineSteps;
  branch.root_rounds = 5;  // leaves something to branch on
  const BranchResult branched = BranchAndBound(model, branch);
  EXPECT_TRUE(branched.complete && branched.cost == optimum) << "branch and bound";

  if (model.rows() == 0) {
    const std::optional<Choice> eliminated = EliminateExactly(model, 1 << 16);
    ASSERT_TRUE(eliminated.has_value());
    const bool none = eliminated->empty() && model.size() > 0;
    EXPECT_TRUE((none ? kInfCost : ModelCost(model, *eliminated)) == optimum) << "elimination";
  }

  DualBound bound(model);
  for (int pass = 0; pass < 4; ++pass) {
    bound.Pass();
    EXPECT_TRUE(bound.bound() <= optimum) << "dual bound";
  }
  if (!with_search) return;

  OptimiseOptions optimise;
  optimise.max_steps = kEngineSteps;
  optimise.max_table_entries = 0;  // not by elimination, which has been seen already
  optimise.stop = [] { return false; };
  const Optimised optimised = Optimise(model, optimise, {});
  EXPECT_TRUE(optimised.complete && optimised.cost == optimum) << "the unreduced model";

  // From the worst start there is.
  Choice worst;
  ForEveryChoice(model, [&](const Choice& choice) {
    const Int128 cost = ModelCost(model, choice);
    if (cost >= kInfCost || !Fits(model, choice)) return;
    if (worst.empty() || cost > ModelCost(model, worst)) worst = choice;
  });
  if (worst.empty()) return;
  NeighbourhoodSearch search(model, worst,
                             {.seed = 1, .threads = 1, .multipliers = {}, .stop = nullptr});
  search.Round();
  EXPECT_TRUE(search.cost() >= optimum && search.cost() <= ModelCost(model, worst)) << "search";
  EXPECT_TRUE(Fits(model, search.choice()) && ModelCost(model, search.choice()) == search.cost());
}

void ExpectEnginesAgree(const Problem& problem, bool with_search) {
  const std::optional<BruteForceResult> oracle = BruteForce(problem);
  ExpectFullSolveAgrees(problem, oracle);
  const Compiled compiled = Compile(problem);
  if (compiled.infeasible_time >= 0) {
    EXPECT_FALSE(oracle.has_value());
    return;
  }
  const Int128 optimum = oracle.has_value() ? oracle->cost : kInfCost;
  EXPECT_TRUE(CheapestCost(compiled.model) == optimum) << "compilation";
  ExpectPartsAgree(compiled.model, optimum, with_search);
}

void ExpectCbcAgrees(const Problem& problem) {
  const std::optional<BruteForceResult> oracle = BruteForce(problem);
  const std::optional<double> theirs = SolveWithCbc(problem);
  ASSERT_EQ(theirs.has_value(), oracle.has_value());
  if (oracle.has_value()) {
    EXPECT_EQ(std::llround(*theirs), static_cast<int64_t>(oracle->cost));
  }
}

std::shared_ptr<const Matrix> SharedMatrix(int32_t rows, int32_t cols, std::vector<int64_t> cost) {
  return std::make_shared<const Matrix>(Matrix{rows, cols, std::move(cost)});
}

// The digits of a number in a base, lowest first.
class Digits {
 public:
  explicit Digits(int64_t number) : rest_(number) {}
  int64_t Next(int64_t base) {
    const int64_t digit = rest_ % base;
    rest_ /= base;
    return digit;
  }

 private:
  int64_t rest_;
};

int64_t Power(int64_t base, int64_t exponent) {
  int64_t power = 1;
  for (; exponent > 0; --exponent) power *= base;
  return power;
}

// Complete: two nodes of one to three strategies without costs of their own, and every matrix over
// {0, 1, forbidden} between them.
TEST(EnginesTest, AgreeOnEveryEdge) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  constexpr int64_t kEntries[] = {0, 1, kForbidden};
  for (int32_t rows = 1; rows <= 3; ++rows) {
    for (int32_t cols = 1; cols <= 3; ++cols) {
      for (int64_t code = 0; code < Power(3, rows * cols); ++code) {
        SCOPED_TRACE(absl::StrCat(rows, " x ", cols, " code ", code));
        Digits digits(code);
        std::vector<int64_t> cost;
        for (int i = 0; i < rows * cols; ++i) cost.push_back(kEntries[digits.Next(3)]);
        Problem problem;
        problem.nodes = {{std::vector<int64_t>(rows, 0), {}}, {std::vector<int64_t>(cols, 0), {}}};
        problem.edges = {{NodeId(size_t{0}), NodeId(size_t{1}), SharedMatrix(rows, cols, cost)}};
        ExpectEnginesAgree(problem, /*with_search=*/code % 8 == 0);
        if (HasFailure()) return;
      }
    }
  }
}

// Complete: one to three nodes of two strategies, between every pair nothing or one of three edges
// (forced to differ, rather equal, one way only), and four nodes with the first two of them; each
// for every usage limit from none to where it does not bind. Usage is 1 for the cheaper strategy,
// over intervals that overlap in turn.
TEST(EnginesTest, AgreeOnEverySmallGraph) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  const std::shared_ptr<const Matrix> kinds[] = {nullptr, SharedMatrix(2, 2, {0, 1, 1, 0}),
                                                 SharedMatrix(2, 2, {kForbidden, 0, 0, kForbidden}),
                                                 SharedMatrix(2, 2, {0, kForbidden, 1, 0})};
  for (int n = 1; n <= 4; ++n) {
    const int64_t used = n == 4 ? 3 : 4;
    for (int64_t code = 0; code < Power(used, n * (n - 1) / 2); ++code) {
      Digits digits(code);
      Problem problem;
      for (int v = 0; v < n; ++v) problem.nodes.push_back({{0, 1}, {Usage{v, v + 2, {1, 0}}}});
      for (size_t a = 0; a < static_cast<size_t>(n); ++a) {
        for (size_t b = a + 1; b < static_cast<size_t>(n); ++b) {
          const auto& kind = kinds[digits.Next(used)];
          if (kind != nullptr) problem.edges.push_back({NodeId(a), NodeId(b), kind});
        }
      }
      for (int64_t limit = 0; limit <= 2; ++limit) {
        SCOPED_TRACE(absl::StrCat(n, " nodes, code ", code, ", limit ", limit));
        problem.usage_limit = limit;
        ExpectEnginesAgree(problem, /*with_search=*/code % 8 == 0);
        if (code % 31 == 0) ExpectCbcAgrees(problem);
        if (HasFailure()) return;
      }
    }
  }
}

// Every random problem at a limit where feasibility changes: the least peak of all, one below it
// (nothing fits) and one above.
TEST(EnginesTest, AgreeOnRandomProblemsAtTheEdgeOfFeasibility) {
  MESHWRIGHT_EXHAUSTIVE_TEST();
  int feasible = 0, infeasible = 0, checked_by_cbc = 0;
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomShape shape{.max_nodes = 4, .max_strategies = 3, .max_edges = 7, .max_cost = 2};
    shape.max_usage = seed % 5 == 0 ? 1 : 5;  // 1: much that is zero, and ties
    shape.shared_matrix = 40;
    Problem problem = RandomProblem(seed, shape);
    const std::optional<Int128> least = BruteForcePeak(problem);
    const int64_t limit =
        static_cast<int64_t>(least.value_or(1)) + static_cast<int64_t>(seed % 3) - 1;
    problem.usage_limit = seed % 7 == 0 || limit < 0 ? kUnlimited : limit;
    if (BruteForce(problem).has_value()) {
      ++feasible;
    } else {
      ++infeasible;
    }
    ExpectEnginesAgree(problem, /*with_search=*/seed % 8 == 0);
    if (seed % 40 == 0) {
      ++checked_by_cbc;
      ExpectCbcAgrees(problem);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(feasible, 3000);
  EXPECT_GT(infeasible, 2000);
  EXPECT_EQ(checked_by_cbc, 250);
}

}  // namespace
}  // namespace meshwright::solve
