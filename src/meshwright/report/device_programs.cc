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
