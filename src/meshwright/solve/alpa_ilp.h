#ifndef MESHWRIGHT_SOLVE_ALPA_ILP_H_
#define MESHWRIGHT_SOLVE_ALPA_ILP_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/json_value.h"
#include "meshwright/solve/recorded_problem.h"

// Integer programs that Alpa's intra-operator pass writes (Zheng et al., OSDI 2022, section 4.2;
// `_call_solver_serialized_args` in its auto_sharding.py), with their recorded optima:
//
//   {NAME: {"num_nodes": n, "s_len": [strategies of each node], "s_follow": [-1 or a node, ...],
//           "compute_costs": [[...] a node], "communication_costs": [[...] a node],
//           "memory_costs": [[bytes] a node], "live": [[nodes] a time], "memory_budget": bytes,
//           "edges": [[a, b], ...], "resharding_costs": [[row-major] an edge],
//           "aliases": [[a, b], ...], "alias_costs": [[row-major, >= 1 forbids] an alias],
//           "status": "optimal" or "infeasible", "objective": if optimal}}
//
// A node that follows another takes the strategy with the same index. Alpa's "infinities" of 1e10
// and 1e13 are costs like others in its objective, and here; from 1e15 on a cost forbids. A budget
// of 0 or below is none, as in Alpa. Other members are ignored.

namespace meshwright::solve {

// Costs from here on forbid a choice.
inline constexpr double kAlpaForbiddenFrom = 1e15;

// The problems of one document, in its order: Alpa's as above, or XLA's (xla_request.h), told apart
// by content. `text` may be gzip data; `name` stands for it in errors, which name the member.
absl::StatusOr<std::vector<RecordedProblem>> ParseRecordedProblems(std::string text,
                                                                   std::string_view name);
absl::StatusOr<std::vector<RecordedProblem>> ReadRecordedProblems(const std::string& path);

// One problem. After an error `ilp.ok()` is false and the result means nothing.
RecordedProblem ReadAlpaIlp(const std::string& name, const JsonValue& ilp);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_ALPA_ILP_H_
