#ifndef MESHWRIGHT_SOLVE_REQUEST_PARTS_H_
#define MESHWRIGHT_SOLVE_REQUEST_PARTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/solve/recorded_problem.h"

// The common parts of problems of Alpa and of XLA's auto-sharding solver, its descendant. As
// everywhere with JsonValue, results mean nothing once its status has an error.

namespace meshwright::solve {

// "s_len": strategies by node, as many nodes as "num_nodes" says.
std::vector<int64_t> ReadStrategyCounts(const JsonValue& request);

// One list of numbers a node, one number a strategy.
std::vector<std::vector<double>> ReadByStrategy(const JsonValue& lists,
                                                const std::vector<int64_t>& counts);

// The same for bytes, which must not be negative.
std::vector<std::vector<double>> ReadBytes(const JsonValue& lists,
                                           const std::vector<int64_t>& counts);

// Adds the edges by which nodes follow others ("s_follow").
void ReadFollowers(const JsonValue& follow, RealProblem* problem);

// Adds an edge for each pair of `ends`, with the matching row-major list of `costs`.
enum class EdgeKind {
  kCost,   // costs, forbidden from `forbidden_from` on
  kAlias,  // 1 or more forbids, less is free
};
void ReadEdges(const JsonValue& ends, const JsonValue& costs, EdgeKind kind, double forbidden_from,
               RealProblem* problem);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_REQUEST_PARTS_H_
