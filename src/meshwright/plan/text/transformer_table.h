#ifndef MESHWRIGHT_PLAN_TEXT_TRANSFORMER_TABLE_H_
#define MESHWRIGHT_PLAN_TEXT_TRANSFORMER_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// A plan of a model in short, for a terminal: degrees, what the step's time and memory consist of,
// the next best, and what the hardware changes. `plan.model` must be there; `in_short` as in
// PlanTable.
std::string TransformerTable(const Plan& plan, std::string_view in_short = "");

// "70.6 B", "125 M": a number of parameters as people say it.
std::string ParametersText(int64_t parameters);

// Whether a plan of a model on one cluster is the best that was found before its search was ended,
// at the deadline or by an interrupt.
bool SearchWasEnded(const Plan& plan);
// By how much others may be better than such a plan.
std::string EndedSearchText(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_TRANSFORMER_TABLE_H_
