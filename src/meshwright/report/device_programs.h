#ifndef MESHWRIGHT_REPORT_DEVICE_PROGRAMS_H_
#define MESHWRIGHT_REPORT_DEVICE_PROGRAMS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "meshwright/explain/plan_part.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// What devices run, by kind. Refers to the plan.
struct DevicePrograms {
  std::vector<PlanPart> programs;  // distinct ones, in the order of their first stages
  std::vector<size_t> of_stage;    // by stage: index of `programs`
};

// One program without a pipeline (none if the plan has no instructions), else one for each distinct
// stage.
DevicePrograms ProgramsOf(const Plan& plan);

// How each of its parameters is parallel, in the field's words: "FSDP x, tensor column y".
std::vector<std::string> ParameterKinds(const PlanPart& program);

// The metadata's name of an instruction; "" if it has none.
const std::string& MetadataName(const PlanPart& program, const PlanInstruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_DEVICE_PROGRAMS_H_
