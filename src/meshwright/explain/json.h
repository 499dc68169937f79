#ifndef MESHWRIGHT_EXPLAIN_JSON_H_
#define MESHWRIGHT_EXPLAIN_JSON_H_

#include <string>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan.h"

// What the JSON forms of explanations and comparisons have in common.

namespace meshwright {

// One document, with a newline at its end; what is not UTF-8 becomes U+FFFD.
std::string JsonText(const Json& json);

// Objects with kind, axes, count, bytes_per_device and seconds.
Json CollectivesJson(const std::vector<PlanCollective>& collectives);
// Bytes by category.
Json MemoryJson(const MemoryByCategory& memory);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_JSON_H_
