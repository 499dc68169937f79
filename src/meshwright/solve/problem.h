#ifndef MESHWRIGHT_SOLVE_PROBLEM_H_
#define MESHWRIGHT_SOLVE_PROBLEM_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/id.h"

// The assignment problem, a pairwise graphical model (weighted CSP) with knapsack constraints:
// choose one strategy a node to
//
//   minimise   sum_v cost_v(s_v) + sum_e cost_e(s_a, s_b)
//   subject to, at every time t,   sum of usage_v(s_v) over usages of v whose interval holds t  <=
//   usage_limit.
//
// It is the problem of the 2025 ASPLOS/EuroSys contest on intra-operator parallelism (IOPDDL), with
// two generalisations: a node may have several usages with different intervals, and edges may share
// matrices.

namespace meshwright::solve {

struct NodeTag {};
struct EdgeTag {};
using NodeId = Id<NodeTag>;
using EdgeId = Id<EdgeTag>;

using Int128 = __int128;  // sums of costs and usages

// Costs at or above this are forbidden (the contest's 1e18).
inline constexpr int64_t kForbidden = 1'000'000'000'000'000'000;
inline constexpr int64_t kUnlimited =
    std::numeric_limits<int64_t>::max();  // as a usage limit: none

// Usage of a node over [begin, end) by strategy. Empty intervals never count.
struct Usage {
  int32_t begin = 0, end = 0;
  std::vector<int64_t> amount;  // by strategy, >= 0
  friend bool operator==(const Usage&, const Usage&) = default;
};

struct Node {
  std::vector<int64_t> cost;  // by strategy, >= 0; its size is the number of strategies
  std::vector<Usage> usages;
  friend bool operator==(const Node&, const Node&) = default;
};

// Row-major rows x cols.
template <typename Entry>
struct MatrixOf {
  int32_t rows = 0, cols = 0;
  std::vector<Entry> cost;  // >= 0
  Entry at(int32_t r, int32_t c) const { return cost[static_cast<size_t>(r) * cols + c]; }
  friend bool operator==(const MatrixOf&, const MatrixOf&) = default;
};
using Matrix = MatrixOf<int64_t>;

struct Edge {
  NodeId a, b;                           // different nodes; rows are a's strategies, columns b's
  std::shared_ptr<const Matrix> matrix;  // may be shared by many edges
};

struct Problem {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;  // parallel edges add up
  int64_t usage_limit = kUnlimited;
};

// Sizes agree, indices exist, costs and usages are not negative, intervals are in order.
absl::Status Validate(const Problem& problem);

// Costs and usages of an assignment, from the problem alone (shares no code with the solver).
struct Evaluation {
  Int128 cost = 0;
  bool forbidden = false;  // some cost is kForbidden or above
  Int128 peak = 0;         // largest usage at any time
  int32_t peak_time = 0;
  bool fits = true;  // peak <= usage_limit, or that is kUnlimited
  bool feasible() const { return fits && !forbidden; }
};
Evaluation Evaluate(const Problem& problem, const std::vector<int32_t>& choice);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_PROBLEM_H_
