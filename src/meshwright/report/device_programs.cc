#include "meshwright/report/device_programs.h"

#include "meshwright/explain/parallelism.h"

namespace meshwright {

DevicePrograms ProgramsOf(const Plan& plan) {
  DevicePrograms result;
  if (plan.stages.empty() && plan.instructions.empty()) return result;
  result.programs = PartsOf(plan);
  result.of_stage.resize(plan.stages.size());
  for (size_t p = 0; p < result.programs.size(); ++p) {
    for (const size_t stage : result.programs[p].stages) result.of_stage[stage] = p;
  }
  return result;
}

std::vector<std::string> ParameterKinds(const PlanPart& program) {
  std::vector<std::string> kinds;
  for (const ParameterParallelism& one : JudgeParameters(program)) {
    kinds.push_back(RolesText(one.roles, program.mesh));
  }
  return kinds;
}

const std::string& MetadataName(const PlanPart& program, const PlanInstruction& instruction) {
  static const auto* const kNone = new std::string();
  return instruction.op_name.has_value()
             ? program.op_names[static_cast<size_t>(*instruction.op_name)]
             : *kNone;
}

}  // namespace meshwright
