#include "meshwright/solve/solve_in_width.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/compile.h"
#include "meshwright/solve/matrix_pool.h"
#include "meshwright/solve/number.h"
#include "meshwright/solve/optimise.h"
#include "meshwright/solve/reduce.h"

namespace meshwright::solve::MW_SOLVE_WIDTH {
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

// An edge whose entries are all forbidden; -1 if there is none.
int32_t ForbiddenEdge(const Problem& problem) {
  absl::flat_hash_map<const solve::Matrix*, bool> forbidden;
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const solve::Matrix* const matrix = problem.edges[e].matrix.get();
    const auto [it, fresh] = forbidden.try_emplace(matrix, false);
    if (fresh) {
      it->second = std::all_of(matrix->cost.begin(), matrix->cost.end(),
                               [](int64_t c) { return c >= kForbidden; });
    }
    if (it->second) return static_cast<int32_t>(e);
  }
  return -1;
}

// The one that `memory` has; null without it.
MatrixPool* PoolOf(SolverMemory* memory) {
  if (memory == nullptr) return nullptr;
  std::shared_ptr<void>& part = kWide ? memory->wide : memory->narrow;
  if (part == nullptr) part = std::make_shared<MatrixPool>(memory->max_bytes);
  return static_cast<MatrixPool*>(part.get());
}

}  // namespace

Solution SolveInWidth(const Problem& problem, const SolverOptions& options, SolverMemory* memory) {
  const Clock clock;
  Solution solution;
  Compiled compiled = Compile(problem);
  solution.infeasible_time = compiled.infeasible_time;
  if (solution.infeasible_time < 0) solution.infeasible_edge = ForbiddenEdge(problem);
  if (solution.infeasible_time >= 0 || solution.infeasible_edge >= 0) {
    solution.outcome = Outcome::kInfeasible;
    return solution;
  }
  Int128 last_bound = 0;
  const auto report = [&](const char* phase, Int128 bound) {
    last_bound = std::max(last_bound, bound);
    if (!options.progress) return;
    Progress progress{clock.seconds(), phase, !solution.history.empty(), solution.cost, last_bound};
    options.progress(progress);
  };
  report("reduce", 0);
  const Reduced reduced = Reduce(std::move(compiled.model), {}, nullptr, PoolOf(memory));
  solution.reduced_nodes = reduced.model.size();
  solution.reduced_edges = static_cast<int64_t>(reduced.model.edges.size());

  Optimised optimised;
  if (reduced.infeasible) {
    optimised.complete = true;
    solution.infeasible_node = reduced.empty_node;
    if (reduced.crowded_row >= 0) solution.crowded_time = compiled.row_time[reduced.crowded_row];
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
    inner.stop = [&] {
      return clock.seconds() >= options.deadline_seconds || (options.stop && options.stop());
    };
    inner.improved = [&](Int128 cost) {
      if (!solution.history.empty() && cost >= solution.cost) return;
      solution.cost = cost;
      solution.history.push_back({clock.seconds(), solution.cost});
      report("incumbent", 0);
    };
    inner.report = report;
    optimised = Optimise(reduced.model, inner, std::move(starts));
  }
  const bool found = optimised.cost < kInfCost;
  if (!found) {
    solution.outcome = optimised.complete ? Outcome::kInfeasible : Outcome::kUnknown;
    return solution;
  }
  solution.choice = reduced.Expand(optimised.choice);
  const Evaluation evaluation = Evaluate(problem, solution.choice);
  solution.cost = evaluation.cost;
  solution.peak = evaluation.peak;
  solution.bound = std::clamp<Int128>(optimised.bound, 0, solution.cost);
  solution.outcome = optimised.complete ? Outcome::kOptimal : Outcome::kFeasible;
  if (solution.outcome == Outcome::kOptimal) solution.bound = solution.cost;
  solution.gap = GapOf(solution.cost, solution.bound);
  return solution;
}

}  // namespace meshwright::solve::MW_SOLVE_WIDTH
