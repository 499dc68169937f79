#ifndef MESHWRIGHT_SOLVE_MODEL_H_
#define MESHWRIGHT_SOLVE_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "meshwright/solve/number.h"

// The form in which the solver's parts hand problems to each other. It is Problem with three
// changes:
//
// * time is compressed to *rows*, the few time points at which usage can peak; row r is a knapsack
// constraint with its own capacity;
// * costs may be negative (reductions move costs between nodes and edges) and a forbidden cost is
// kInf;
// * a constant has been taken out.
//
// Nodes, strategies, edges and rows are dense indices. All finite sums of costs of one assignment
// stay below kInf / 4 in magnitude and all sums of usage within a Number: FitsNarrow sees to it,
// and no step makes them larger.

namespace meshwright::solve::MW_SOLVE_WIDTH {

// A forbidden cost inside the solver: two of them can be added without overflow.
inline constexpr Number kInf = kWide ? Number{1} << (kWide ? 94 : 0) : 4'000'000'000'000'000'000;
inline constexpr bool IsInf(Number cost) { return cost >= kInf / 2; }
// Sum of two costs; forbidden if either is.
inline constexpr Number AddCost(Number a, Number b) {
  const Number sum = a + b;
  return IsInf(sum) ? kInf : sum;
}

inline constexpr Number Magnitude(Number x) { return x < 0 ? -x : x; }

using MatrixRef = std::shared_ptr<const Matrix>;
using Choice = std::vector<int32_t>;  // strategy by node

// Usage of a node in rows [begin, end), by strategy.
struct Segment {
  int32_t begin = 0, end = 0;
  std::vector<Number> amount;
  friend bool operator==(const Segment&, const Segment&) = default;
};

struct ModelNode {
  std::vector<Number> cost;
  std::vector<Segment> segments;  // disjoint, in order of rows
};

struct ModelEdge {
  int32_t a = -1, b = -1;
  MatrixRef matrix;  // rows are a's strategies, columns b's
};

struct Model {
  Int128 constant = 0;
  std::vector<ModelNode> nodes;
  std::vector<ModelEdge> edges;
  std::vector<Number> capacity;  // by row

  int32_t size() const { return static_cast<int32_t>(nodes.size()); }
  int32_t strategies(int32_t v) const { return static_cast<int32_t>(nodes[v].cost.size()); }
  int32_t rows() const { return static_cast<int32_t>(capacity.size()); }
};

// Cost of `choice`, with a strategy for every node; kInfCost if something in it is forbidden.
inline constexpr Int128 kInfCost = Int128{1} << 120;
Int128 ModelCost(const Model& model, const Choice& choice);

// Usage by row.
std::vector<Number> RowUsage(const Model& model, const Choice& choice);

// Largest excess over a row's capacity; 0 or below if all hold, lowest possible without rows.
Number MaxExcess(const Model& model, const Choice& choice);

inline bool Fits(const Model& model, const Choice& choice) { return MaxExcess(model, choice) <= 0; }

// Makes the segments of one node disjoint and sorted by adding up where they overlap; drops zero
// ones and joins equal neighbours.
std::vector<Segment> DisjointSegments(std::vector<Segment> segments);

}  // namespace meshwright::solve::MW_SOLVE_WIDTH

#endif  // MESHWRIGHT_SOLVE_MODEL_H_
