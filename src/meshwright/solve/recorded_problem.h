#ifndef MESHWRIGHT_SOLVE_RECORDED_PROBLEM_H_
#define MESHWRIGHT_SOLVE_RECORDED_PROBLEM_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/solve/problem.h"
#include "meshwright/solve/solver.h"

// Assignment problems of other solvers, with the optimum that was recorded for each: what is needed
// to state them in integers, and to see whether we find the same.

namespace meshwright::solve {

// An assignment problem in real numbers. Costs may be negative; kForbiddenReal forbids.
inline constexpr double kForbiddenReal = std::numeric_limits<double>::infinity();
struct RealProblem {
  struct Usage {
    int32_t begin = 0, end = 0;
    std::vector<double> amount;  // by strategy, >= 0
  };
  struct Node {
    std::vector<double> cost;
    std::vector<Usage> usages;
  };
  struct Edge {
    size_t a = 0, b = 0;       // may be equal: then the diagonal counts
    std::vector<double> cost;  // row-major, strategies of a x strategies of b
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::optional<double> usage_limit;  // nullopt: unlimited

  // Lets `node` take the strategy with the index of `leader`'s; both have as many.
  void Follow(size_t node, size_t leader);
};

struct RecordedProblem {
  std::string name;
  Problem problem;
  // Costs of `problem` are the recorded ones, less `cost_offset`, times `cost_scale`, rounded to
  // the nearest integer. The scale is a million, or the largest power of ten below it with which
  // sums of costs still are exact in the solver (problem costs of 4e17). What an assignment costs
  // is thus off by at most half a unit (0.5 / cost_scale) a node and an edge.
  double cost_scale = 1, cost_offset = 0;
  std::optional<double> objective;  // recorded; nullopt: recorded as infeasible

  double RealCost(Int128 cost) const {
    return static_cast<double>(cost) / cost_scale + cost_offset;
  }
  // Deviation from `objective` (not relative) that rounding explains: of costs as above, and 1e-9
  // relative for the sums of doubles in the record.
  double Tolerance() const;
};

// States `real` in integers. Usages are kept if all are whole, else counted in units of 2^-20 or
// the nearest that sums allow, with as much added to the limit as rounding can take.
RecordedProblem Record(std::string name, const RealProblem& real, std::optional<double> objective);

// The outcome of a recorded problem.
struct Reproduced {
  Outcome outcome = Outcome::kUnknown;
  std::optional<double> found;  // cost of the best assignment; nullopt: none
  double deviation = 0;     // |found - objective| / max(1, |objective|); infinite if one is none
  double milliseconds = 0;  // wall clock
  // Proven optimal and as cheap as recorded up to Tolerance(), or proven infeasible as recorded.
  bool agrees = false;
};
absl::StatusOr<Reproduced> Reproduce(const RecordedProblem& recorded,
                                     const SolverOptions& options = {});

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_RECORDED_PROBLEM_H_
