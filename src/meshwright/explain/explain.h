#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"

// A plan in words: for people on a screen of 80 columns, and as JSON.

namespace meshwright {

// What kind of parallelism the plan is, where time goes, where memory peaks and what fills it,
// the most expensive collectives and what causes them, how close to optimal it is. Says what the
// document does not tell.
std::string ExplainPlan(const Plan& plan);
// The same as one JSON object, with all groups of collectives and parameters; docs/explain.md
// documents it.
std::string ExplainPlanJson(const Plan& plan);

// Where every parameter is kept: mesh, spec, replicas, kind of parallelism. Error: a plan without a
// program has no parameters.
absl::StatusOr<std::string> ExplainParameters(const Plan& plan);
absl::StatusOr<std::string> ExplainParametersJson(const Plan& plan);

// Of every parameter, output and instruction whose name, or name in the program's metadata, matches
// `pattern` (see GlobMatch): how it is placed, what makes it, who reads it and who moves it.
// Errors: nothing matches (names the nearest); the plan has no program.
absl::StatusOr<std::string> ExplainTensors(const Plan& plan, std::string_view pattern);
absl::StatusOr<std::string> ExplainTensorsJson(const Plan& plan, std::string_view pattern);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_H_
