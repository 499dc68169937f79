#ifndef MESHWRIGHT_TESTS_SOLVE_RANDOM_PROBLEM_H_
#define MESHWRIGHT_TESTS_SOLVE_RANDOM_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>

#include "meshwright/solve/problem.h"

namespace meshwright::solve {

// What a random problem looks like; every field is a probability in percent or a largest size.
struct RandomShape {
  int max_nodes = 6, max_strategies = 4, max_edges = 9;
  int64_t max_cost = 6;  // small: many ties
  int forbidden_node = 3, forbidden_entry = 15;
  int functional_edge = 15;  // matrices with one allowed entry a row
  int separable_edge = 10;
  int shared_matrix = 25;
  int max_usages = 3, max_time = 6;
  int64_t max_usage = 5;
  int limited = 70;  // with a usage limit at all
};

// Deterministic for a seed, on every platform (no std distributions).
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : random_(seed) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool Percent(int p) { return Below(100) < p; }

 private:
  std::mt19937_64 random_;
};

inline Problem RandomProblem(uint64_t seed, const RandomShape& shape = {}) {
  RandomSource random(seed);
  Problem problem;
  const int64_t n = 1 + random.Below(shape.max_nodes);
  for (int64_t v = 0; v < n; ++v) {
    Node node;
    node.cost.resize(1 + random.Below(shape.max_strategies));
    for (int64_t& c : node.cost) {
      c = random.Percent(shape.forbidden_node) ? kForbidden : random.Below(shape.max_cost + 1);
    }
    for (int64_t u = random.Below(shape.max_usages + 1); u > 0; --u) {
      Usage usage;
      usage.begin = static_cast<int32_t>(random.Below(shape.max_time));
      usage.end = usage.begin + static_cast<int32_t>(random.Below(shape.max_time));
      for (size_t s = 0; s < node.cost.size(); ++s)
        usage.amount.push_back(random.Below(shape.max_usage + 1));
      node.usages.push_back(std::move(usage));
    }
    problem.nodes.push_back(std::move(node));
  }
  for (int64_t e = n < 2 ? 0 : random.Below(shape.max_edges + 1); e > 0; --e) {
    const int64_t a = random.Below(n);
    const int64_t b = (a + 1 + random.Below(n - 1)) % n;
    const auto rows = static_cast<int32_t>(problem.nodes[a].cost.size());
    const auto cols = static_cast<int32_t>(problem.nodes[b].cost.size());
    if (!problem.edges.empty() && random.Percent(shape.shared_matrix)) {
      const Edge& other = problem.edges[random.Below(static_cast<int64_t>(problem.edges.size()))];
      if (other.matrix->rows == rows && other.matrix->cols == cols) {
        problem.edges.push_back({NodeId(a), NodeId(b), other.matrix});
        continue;
      }
    }
    Matrix m{rows, cols, std::vector<int64_t>(static_cast<size_t>(rows) * cols)};
    const bool functional = random.Percent(shape.functional_edge),
               separable = random.Percent(shape.separable_edge);
    for (int32_t i = 0; i < rows; ++i) {
      const int64_t allowed = random.Below(cols);
      for (int32_t j = 0; j < cols; ++j) {
        int64_t c = separable ? i + 2 * j : random.Below(shape.max_cost + 1);
        if (functional ? j != allowed : !separable && random.Percent(shape.forbidden_entry))
          c = kForbidden;
        m.cost[static_cast<size_t>(i) * cols + j] = c;
      }
    }
    problem.edges.push_back({NodeId(a), NodeId(b), std::make_shared<const Matrix>(std::move(m))});
  }
  if (random.Percent(shape.limited)) {
    // At, just below or around the peak of a random assignment: near where feasibility changes.
    std::vector<int32_t> choice;
    for (const Node& node : problem.nodes) {
      choice.push_back(static_cast<int32_t>(random.Below(static_cast<int64_t>(node.cost.size()))));
    }
    const auto peak = static_cast<int64_t>(Evaluate(problem, choice).peak);
    problem.usage_limit = std::max<int64_t>(0, peak - random.Below(3) + random.Below(2));
  }
  return problem;
}

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_TESTS_SOLVE_RANDOM_PROBLEM_H_
