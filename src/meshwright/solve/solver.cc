#include "meshwright/solve/solver.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/solve/model.h"
#include "meshwright/solve/solve_in_width.h"
#include "meshwright/solve/solver_memory.h"

namespace meshwright::solve {
namespace {

// The most that narrow sums may come to before reductions move costs about.
constexpr Int128 kMostNarrowCosts = kInf / 8, kMostNarrowUsages = Int128{1} << 61;

int64_t LargestAllowed(const std::vector<int64_t>& cost) {
  int64_t largest = 0;
  for (int64_t c : cost) {
    if (c < kForbidden) largest = std::max(largest, c);
  }
  return largest;
}

}  // namespace

bool FitsNarrow(const Problem& problem) {
  Int128 costs = 0, usages = 0;
  for (const Node& node : problem.nodes) {
    costs += LargestAllowed(node.cost);
    for (const Usage& usage : node.usages) {
      if (usage.begin < usage.end)
        usages += *std::max_element(usage.amount.begin(), usage.amount.end());
    }
  }
  absl::flat_hash_map<const Matrix*, int64_t> largest;
  for (const Edge& edge : problem.edges) {
    const auto [it, fresh] = largest.try_emplace(edge.matrix.get(), 0);
    if (fresh) it->second = LargestAllowed(edge.matrix->cost);
    costs += it->second;
  }
  // Usages that no limit can be exceeded by are not looked at.
  const bool limited = problem.usage_limit != kUnlimited && usages > problem.usage_limit;
  return costs <= kMostNarrowCosts && (!limited || usages <= kMostNarrowUsages);
}

absl::StatusOr<Solution> Solve(const Problem& problem, const SolverOptions& options,
                               SolverMemory* memory) {
  if (absl::Status status = Validate(problem); !status.ok()) return status;
  return FitsNarrow(problem) ? narrow::SolveInWidth(problem, options, memory)
                             : wide::SolveInWidth(problem, options, memory);
}

absl::StatusOr<Solution> Solve(const Problem& problem, const SolverOptions& options) {
  return Solve(problem, options, nullptr);
}

}  // namespace meshwright::solve
