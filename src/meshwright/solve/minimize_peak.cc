#include <algorithm>
#include <chrono>
#include <utility>

#include "meshwright/solve/compile.h"
#include "meshwright/solve/solver.h"

// The smallest limit by bisection: the same problem without costs (only forbidden entries stay) is
// solved for feasibility with limits between what the smallest usages need at some time and the
// peak of the best answer so far. A limit is given up when its share of the deadline is over, so
// the answer is only called optimal if the limit below it was proven infeasible. The rest of the
// time makes the assignment cheap at the limit that was found.

namespace meshwright::solve {
namespace {

using Seconds = std::chrono::duration<double>;

// The problem with costs 0, or kForbidden where they are forbidden.
Problem WithoutCosts(const Problem& problem) {
  Problem bare = problem;
  const auto strip = [](std::vector<int64_t>* costs) {
    for (int64_t& c : *costs) c = c >= kForbidden ? kForbidden : 0;
  };
  for (Node& node : bare.nodes) strip(&node.cost);
  std::vector<std::pair<const Matrix*, std::shared_ptr<const Matrix>>> stripped;
  for (Edge& edge : bare.edges) {
    auto matrix = std::make_shared<Matrix>(*edge.matrix);
    strip(&matrix->cost);
    edge.matrix = std::move(matrix);
  }
  return bare;
}

// Largest sum of smallest usages at any time.
Int128 LeastPeak(const Problem& problem) {
  Problem smallest;
  for (const Node& node : problem.nodes) {
    Node reduced{{0}, {}};
    for (const Usage& usage : node.usages) {
      reduced.usages.push_back(
          {usage.begin, usage.end, {*std::min_element(usage.amount.begin(), usage.amount.end())}});
    }
    smallest.nodes.push_back(std::move(reduced));
  }
  return Evaluate(smallest, std::vector<int32_t>(smallest.nodes.size(), 0)).peak;
}

}  // namespace

absl::StatusOr<Solution> MinimizePeak(const Problem& problem, const SolverOptions& options) {
  if (absl::Status status = Validate(problem); !status.ok()) return status;
  const auto start = std::chrono::steady_clock::now();
  const auto left = [&] {
    return options.deadline_seconds - Seconds(std::chrono::steady_clock::now() - start).count();
  };
  Problem bare = WithoutCosts(problem);
  bare.usage_limit = kUnlimited;
  SolverOptions inner = options;
  inner.target_gap = 0;
  inner.progress = nullptr;
  inner.deadline_seconds = options.deadline_seconds / 4;
  absl::StatusOr<Solution> any = Solve(bare, inner);
  if (!any.ok() || any->choice.empty()) return any;
  Solution best = *std::move(any);

  Int128 low = LeastPeak(problem);  // no smaller limit is feasible
  Int128 high = best.peak;          // feasible
  bool proven = true;               // every limit below `low` is infeasible for certain
  const auto stopped = [&options] { return options.stop && options.stop(); };
  while (low < high && low < kUnlimited && left() > options.deadline_seconds / 3 && !stopped()) {
    const Int128 middle = std::min<Int128>(low + (high - low) / 2, kUnlimited - 1);
    bare.usage_limit = static_cast<int64_t>(middle);
    inner.deadline_seconds = std::min(options.deadline_seconds / 12, left());
    inner.hints = {best.choice};
    absl::StatusOr<Solution> tried = Solve(bare, inner);
    if (!tried.ok()) return tried;
    if (!tried->choice.empty()) {
      best = *std::move(tried);
      high = best.peak;
    } else {
      proven &= tried->outcome == Outcome::kInfeasible;
      low = middle + 1;
    }
  }
  proven &= low >= high;
  Problem limited = problem;
  limited.usage_limit = static_cast<int64_t>(std::min<Int128>(high, kUnlimited));
  inner = options;
  inner.deadline_seconds = std::max(left(), 0.01);
  inner.hints.push_back(best.choice);
  absl::StatusOr<Solution> cheap = Solve(limited, inner);
  if (!cheap.ok()) return cheap;
  Solution result = cheap->choice.empty() ? std::move(best) : *std::move(cheap);
  const Evaluation evaluation = Evaluate(problem, result.choice);
  result.cost = evaluation.cost;
  result.peak = evaluation.peak;
  result.outcome = proven ? Outcome::kOptimal : Outcome::kFeasible;
  return result;
}

}  // namespace meshwright::solve
