#ifndef MESHWRIGHT_SOLVE_IOPDDL_JSON_H_
#define MESHWRIGHT_SOLVE_IOPDDL_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/solve/problem.h"

// The exchange format of the 2025 ASPLOS/EuroSys contest on intra-operator parallelism
// (google/iopddl):
//
//   {"problem": {"name": "...",
//                "nodes": {"intervals": [[lo, hi], ...], "costs": [[...], ...], "usages": [[...],
//                ...]}, "edges": {"nodes": [[a, b], ...], "costs": [[...], ...]}, "usage_limit":
//                123}}
//
// An edge's costs are row-major in the order of its two nodes. An empty interval ([0, 0]) means no
// usage.

namespace meshwright::solve {

// Parses `text`, inflating it first if it is gzip data; `name` stands for it in errors. Equal
// matrices of different edges come out shared. All of these keys but the name must be there, once;
// others are ignored. Costs of 10^18 and more are forbidden, a usage limit of 2^63 - 1 is none.
absl::StatusOr<Problem> ParseIopddl(std::string text, std::string_view name);

// Reads the file at `path`, gzip or plain.
absl::StatusOr<Problem> ReadIopddl(const std::string& path);

// Writes `problem` in the same format, which cannot say that a node has several usages: an error.
absl::StatusOr<std::string> WriteIopddl(const Problem& problem);

}  // namespace meshwright::solve

#endif  // MESHWRIGHT_SOLVE_IOPDDL_JSON_H_
