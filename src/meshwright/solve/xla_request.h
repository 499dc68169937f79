#ifndef MESHWRIGHT_SOLVE_XLA_REQUEST_H_
#define MESHWRIGHT_SOLVE_XLA_REQUEST_H_

#include "meshwright/base/json_value.h"
#include "meshwright/solve/recorded_problem.h"

// Requests to XLA's auto-sharding solver (AutoShardingSolverRequest in
// xla/hlo/experimental/auto_sharding) with the objective expected of it:
//
//   [{"name": ..., "expected_objective": number, or null if infeasible, "request":
//      {"num_nodes", "s_len", "s_follow", "edges", "resharding_costs", "aliases", "memory_costs",
//       "memory_budget", "communication_costs" as for Alpa (alpa_ilp.h); "computation_costs" and
//       "value_costs" are Alpa's compute and alias costs;
//       "node_intervals": [[first, last], ...] times at which nodes count, both included, none if
//       last < first;
//       "departure_costs": [[whole numbers] a node], "max_departures": at most so many in all;
//       "minimize_departures": they are the objective;
//       "overbudget_coeff": bytes beyond the budget, at the worst time, cost this much each}}]
//
// Costs of 1e17 or more forbid (XLA's infinity is 1e20), whatever the objective. The last three
// members may be null or absent. Members that would change the problem and are not known here are
// errors.

namespace meshwright::solve {

// One case. After an error `one.ok()` is false and the result means nothing.
RecordedProblem ReadXlaCase(const JsonValue& one);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_XLA_REQUEST_H_
