#ifndef MESHWRIGHT_EXPLAIN_SCREEN_H_
#define MESHWRIGHT_EXPLAIN_SCREEN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/explain/part_summary.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/document/spec_text.h"

// Pieces of text that explanations and comparisons of plans have in common. All of it fits the
// screen.

namespace meshwright {

// "label     text", wrapped under the text; `label` has at most 9 letters.
std::string Labelled(std::string_view label, std::string_view text);

// What the plan was made of: the path of its program, or the name of its model.
std::string SubjectText(const Plan& plan);
// "0-23", "1-2, 4-31": ascending numbers, those of a row put together; more than a dozen rows lose
// their middle.
std::string NumbersText(const std::vector<int64_t>& numbers);
// "12.3 %"; of nothing "0 %".
std::string ShareText(double part, double whole);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_SCREEN_H_
