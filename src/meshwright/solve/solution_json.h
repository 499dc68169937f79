#ifndef MESHWRIGHT_SOLVE_SOLUTION_JSON_H_
#define MESHWRIGHT_SOLVE_SOLUTION_JSON_H_

#include <string>

#include "meshwright/solve/problem.h"
#include "meshwright/solve/solver.h"

namespace meshwright::solve {

// Decimal digits; sums of costs can be wider than any built-in type prints.
std::string Int128Text(Int128 value);

// "optimal", "feasible", "infeasible" or "unknown".
std::string OutcomeName(Outcome outcome);

// The contest's form of an answer: "[0, 2, 1]"; "[]" if there is none.
std::string ChoiceText(const Solution& solution);

// A solution as JSON: problem (name), outcome, cost, bound, gap, peak_usage, usage_limit (null:
// unlimited), choice, improvements (seconds, cost), reduced_nodes, reduced_edges. Costs and usages
// are integers of up to 128 bits.
std::string SolutionToJson(const Problem& problem, const Solution& solution);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_SOLUTION_JSON_H_
