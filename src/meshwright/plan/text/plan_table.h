#ifndef MESHWRIGHT_PLAN_TEXT_PLAN_TABLE_H_
#define MESHWRIGHT_PLAN_TEXT_PLAN_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// Seconds of a step of a plan of a program without overlap and launch overhead.
double SerialSeconds(const Plan& plan);

// A plan in short, for a terminal of 80 columns: time and what limits it, memory, collectives, and
// how the parameters are sharded. Parameters whose names differ in numbers only (layers) and that
// are sharded alike share a line. `in_short`: what parallelism it is, in words
// (explain/in_short.h); "" leaves that out.
std::string PlanTable(const Plan& plan, std::string_view in_short = "");

// What a plan with a profile database rests on, segment by segment; empty for others.
std::string SegmentTable(const Plan& plan);

// A cost in seconds, or a plain number where the plan's cost model has no unit.
std::string CostText(const Plan& plan, double seconds);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_PLAN_TABLE_H_
