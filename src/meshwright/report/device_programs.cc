#include "meshwright/report/device_programs.h"

#include <algorithm>
#include <utility>

#include "meshwright/explain/parallelism.h"

namespace meshwright {

DevicePrograms ProgramsOf(const Plan& plan) {
  DevicePrograms result;
  std::vector<PlanPart> parts = PartsOf(plan);
  if (std::all_of(parts.begin(), parts.end(),
                  [](const PlanPart& part) { return part.instructions.empty(); })) {
    return result;
  }
  result.programs = std::move(parts);
  result.of_stage.resize(plan.stages().size());
  for (size_t p = 0; p < result.programs.size(); ++p) {
    for (const size_t stage : result.programs[p].stages) result.of_stage[stage] = p;
  }
  return result;
}

LayerLabels LabelsOf(const DevicePrograms& programs) {
  std::vector<std::vector<ParameterParallelism>> judged;
  for (const PlanPart& program : programs.programs) judged.push_back(JudgeParameters(program));
  std::vector<JudgedPart> parts;
  for (size_t p = 0; p < judged.size(); ++p) parts.push_back({programs.programs[p], judged[p]});
  return LayerLabels(parts);
}

std::string LayersText(const PlanStage& stage, const LayerLabels& labels) {
  return stage.first_layer < stage.end_layer ? labels.Text(stage.first_layer, stage.end_layer - 1)
                                             : "";
}

std::vector<std::string> ParameterKinds(const PlanPart& program) {
  std::vector<std::string> kinds;
  for (const ParameterParallelism& one : JudgeParameters(program)) {
    kinds.push_back(RolesText(one.roles, program.mesh));
  }
  return kinds;
}

}  // namespace meshwright
