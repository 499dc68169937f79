#ifndef MESHWRIGHT_REPORT_DEVICE_PROGRAMS_H_
#define MESHWRIGHT_REPORT_DEVICE_PROGRAMS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "meshwright/explain/layer_labels.h"
#include "meshwright/explain/plan_part.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// What devices run, by kind. Refers to the plan.
struct DevicePrograms {
  std::vector<PlanPart> programs;  // distinct ones, in the order of their first stages
  std::vector<size_t> of_stage;    // by stage: index of `programs`; empty if there are none
};

// One program without a pipeline, else one for each distinct stage. None if the plan has no
// instructions: plans of models do not, those over groups of nodes with their stages either.
DevicePrograms ProgramsOf(const Plan& plan);

// What users call the layers of all of them.
LayerLabels LabelsOf(const DevicePrograms& programs);

// "layers 0-11": those of a stage; "" if it has none.
std::string LayersText(const PlanStage& stage, const LayerLabels& labels);

// How each of its parameters is parallel, in the field's words: "FSDP x, tensor column y".
std::vector<std::string> ParameterKinds(const PlanPart& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_DEVICE_PROGRAMS_H_
