#ifndef MESHWRIGHT_EXPLAIN_JSON_H_
#define MESHWRIGHT_EXPLAIN_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan.h"

// What the JSON forms of explanations and comparisons have in common.

namespace meshwright {

using ExplainJson = nlohmann::ordered_json;

// One document, with a newline at its end; what is not UTF-8 becomes U+FFFD.
std::string JsonText(const ExplainJson& json);

// Objects with kind, axes, count, bytes_per_device and seconds.
ExplainJson CollectivesJson(const std::vector<PlanCollective>& collectives);
// Bytes by category.
ExplainJson MemoryJson(const MemoryByCategory& memory);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_JSON_H_
