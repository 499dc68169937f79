#ifndef MESHWRIGHT_PLAN_MAKE_STAGE_LISTS_H_
#define MESHWRIGHT_PLAN_MAKE_STAGE_LISTS_H_

#include <cstddef>
#include <vector>

#include "meshwright/plan/document/plan.h"

// What stages list, wherever the document has it: a stage that is the same as another has names of
// its own only.

namespace meshwright {

// Of stage `i`, under its own names.
std::vector<PlanTensor> ParametersOfStage(const Plan& plan, size_t i);
std::vector<PlanTensor> OutputsOfStage(const Plan& plan, size_t i);

// Leaves `stage` without lists and names.
void ClearLists(PlanStage* stage);

// Gives `out` the lists that stage `i` of `plan` stands for, under its own names, so that it needs
// no other stage.
void TakeLists(const Plan& plan, size_t i, PlanStage* out);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_STAGE_LISTS_H_
