#ifndef MESHWRIGHT_PLAN_DOCUMENT_PLAN_JSON_H_
#define MESHWRIGHT_PLAN_DOCUMENT_PLAN_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"

// The JSON form of a Plan, as docs/plan-schema.md documents it.

namespace meshwright {

// Keys in the order of the schema, one line for each scalar and for each element of a list; numbers
// in the shortest form that reads back to the same value. Equal plans give equal bytes. Text that
// is not UTF-8 (a path may be anything) is written with U+FFFD in place of what is not.
std::string PlanToJson(const Plan& plan);

// Reads what PlanToJson wrote, and nothing else: every key must be there, no other, each of its
// type and range; axes must be those of the mesh. Errors name `file` and the JSON path: "plan.json:
// $.parameters[3].spec[0]: ...". A plan of another schema version is refused.
absl::StatusOr<Plan> ParsePlanJson(std::string_view text, std::string_view file);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_PLAN_JSON_H_
