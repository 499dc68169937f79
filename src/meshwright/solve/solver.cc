#include "meshwright/solve/solver.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "meshwright/solve/compile.h"
#include "meshwright/solve/optimise.h"
#include "meshwright/solve/reduce.h"

namespace meshwright::solve {
namespace {

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double GapOf(Int128 cost, Int128 bound) {
  if (cost <= bound) return 0;
  return static_cast<double>(cost - bound) / static_cast<double>(cost);
}

bool UsableHint(const Problem& problem, const std::vector<int32_t>& hint) {
  if (hint.size() != problem.nodes.size()) return false;
  for (size_t v = 0; v < hint.size(); ++v) {
    if (hint[v] < 0 || hint[v] >= static_cast<int64_t>(problem.nodes[v].cost.size())) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Solution> Solve(const Problem& problem, const SolverOptions& options) {
  if (absl::Status status = Validate(problem); !status.ok()) return status;
  const Clock clock;
  Solution solution;
  Compiled compiled = Compile(problem);
  if (compiled.infeasible_time >= 0) {
    solution.outcome = Outcome::kInfeasible;
    solution.infeasible_time = compiled.infeasible_time;
    return solution;
  }
  const int shift = compiled.cost_shift;
  Int128 last_bound = 0;
  const auto report = [&](const char* phase, Int128 bound) {
    last_bound = std::max(last_bound, bound);
    if (!options.progress) return;
    Progress progress{clock.seconds(), phase, !solution.history.empty(), solution.cost,
                      last_bound << shift};
    options.progress(progress);
  };
  report("reduce", 0);
  const Reduced reduced = Reduce(std::move(compiled.model));
  solution.reduced_nodes = reduced.model.size();
  solution.reduced_edges = static_cast<int64_t>(reduced.model.edges.size());

  Optimised optimised;
  if (reduced.infeasible) {
    optimised.complete = true;
  } else {
    std::vector<Choice> starts;
    for (const std::vector<int32_t>& hint : options.hints) {
      if (UsableHint(problem, hint)) starts.push_back(reduced.Project(hint));
    }
    OptimiseOptions inner;
    inner.target_gap = options.target_gap;
    inner.threads = std::max(1, options.threads);
    inner.seed = options.seed;
    inner.max_steps = options.max_search_steps;
    inner.max_table_entries = options.max_table_entries;
    inner.stop = [&] { return clock.seconds() >= options.deadline_seconds; };
    inner.improved = [&](Int128 cost) {
      if (!solution.history.empty() && cost << shift >= solution.cost) return;
      solution.cost = cost << shift;
      solution.history.push_back({clock.seconds(), solution.cost});
      report("incumbent", 0);
    };
    inner.report = report;
    optimised = Optimise(reduced.model, inner, std::move(starts));
  }
  const bool exact = compiled.cost_shift == 0 && compiled.usage_shift == 0;
  const bool found = optimised.cost < kInfCost;
  if (!found) {
    const bool proven = optimised.complete && compiled.usage_shift == 0;
    solution.outcome = proven ? Outcome::kInfeasible : Outcome::kUnknown;
    return solution;
  }
  solution.choice = reduced.Expand(optimised.choice);
  const Evaluation evaluation = Evaluate(problem, solution.choice);
  solution.cost = evaluation.cost;
  solution.peak = evaluation.peak;
  if (compiled.usage_shift == 0) {
    solution.bound = std::clamp<Int128>(optimised.bound << shift, 0, solution.cost);
  }
  solution.outcome = exact && optimised.complete ? Outcome::kOptimal : Outcome::kFeasible;
  if (solution.outcome == Outcome::kOptimal) solution.bound = solution.cost;
  solution.gap = GapOf(solution.cost, solution.bound);
  return solution;
}

}  // namespace meshwright::solve
