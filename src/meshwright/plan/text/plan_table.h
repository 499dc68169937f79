#ifndef MESHWRIGHT_PLAN_TEXT_PLAN_TABLE_H_
#define MESHWRIGHT_PLAN_TEXT_PLAN_TABLE_H_

#include <cstdint>
#include <string>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// A plan in short, for a terminal of 80 columns: time, memory, collectives, and how the parameters
// are sharded. Parameters whose names differ in numbers only (layers) and that are sharded alike
// share a line.
std::string PlanTable(const Plan& plan);

// What a plan with a profile database rests on, segment by segment; empty for others.
std::string SegmentTable(const Plan& plan);

// "[x,_,(y,z)]", as --fix takes it.
std::string SpecText(const PlanSpec& spec);
// Three significant digits and a unit: "12.3 GiB", "512 B"; "1.23 ms", "45.6 us".
std::string BytesText(int64_t bytes);
std::string SecondsText(double seconds);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_PLAN_TABLE_H_
