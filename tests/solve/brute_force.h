#ifndef MESHWRIGHT_TESTS_SOLVE_BRUTE_FORCE_H_
#define MESHWRIGHT_TESTS_SOLVE_BRUTE_FORCE_H_

#include <optional>
#include <utility>
#include <vector>

#include "meshwright/solve/problem.h"

namespace meshwright::solve {

// The oracle: looks at every assignment with Evaluate. Nullopt if none is feasible.
struct BruteForceResult {
  std::vector<int32_t> choice;
  Int128 cost;
};
inline std::optional<BruteForceResult> BruteForce(const Problem& problem) {
  std::optional<BruteForceResult> best;
  std::vector<int32_t> choice(problem.nodes.size(), 0);
  while (true) {
    const Evaluation evaluation = Evaluate(problem, choice);
    if (evaluation.feasible() && (!best.has_value() || evaluation.cost < best->cost)) {
      best = {choice, evaluation.cost};
    }
    size_t v = 0;
    for (; v < choice.size(); ++v) {
      if (++choice[v] < static_cast<int32_t>(problem.nodes[v].cost.size())) break;
      choice[v] = 0;
    }
    if (v == choice.size()) return best;
  }
}

// Smallest peak of any assignment without forbidden costs.
inline std::optional<Int128> BruteForcePeak(Problem problem) {
  problem.usage_limit = kUnlimited;
  std::optional<Int128> best;
  std::vector<int32_t> choice(problem.nodes.size(), 0);
  while (true) {
    const Evaluation evaluation = Evaluate(problem, choice);
    if (!evaluation.forbidden && (!best.has_value() || evaluation.peak < *best))
      best = evaluation.peak;
    size_t v = 0;
    for (; v < choice.size(); ++v) {
      if (++choice[v] < static_cast<int32_t>(problem.nodes[v].cost.size())) break;
      choice[v] = 0;
    }
    if (v == choice.size()) return best;
  }
}

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_TESTS_SOLVE_BRUTE_FORCE_H_
