#ifndef MESHWRIGHT_PLAN_DOCUMENT_SPEC_TEXT_H_
#define MESHWRIGHT_PLAN_DOCUMENT_SPEC_TEXT_H_

#include <string>
#include <vector>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// "[x,_,(y,z)]", as --fix takes it.
std::string SpecText(const PlanSpec& spec);

// "x=2,y=4", as --mesh takes it.
std::string MeshText(const std::vector<PlanAxis>& mesh);

// "f32[4,8]".
std::string TypeText(const PlanType& type);

// "optimizer state".
std::string CategoryText(MemoryCategory category);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_SPEC_TEXT_H_
