#include "meshwright/plan/make/stage_lists.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

const PlanStage& ListedBy(const Plan& plan, size_t i) {
  const PlanStage& stage = plan.pipeline->stages[i];
  return stage.same_as.has_value() ? plan.pipeline->stages[static_cast<size_t>(*stage.same_as)]
                                   : stage;
}

std::vector<PlanTensor> Renamed(std::vector<PlanTensor> tensors,
                                const std::vector<std::string>& names) {
  for (size_t t = 0; t < names.size(); ++t) tensors[t].name = names[t];
  return tensors;
}

}  // namespace

std::vector<PlanTensor> ParametersOfStage(const Plan& plan, size_t i) {
  return Renamed(ListedBy(plan, i).program.parameters, plan.pipeline->stages[i].parameter_names);
}

std::vector<PlanTensor> OutputsOfStage(const Plan& plan, size_t i) {
  return Renamed(ListedBy(plan, i).program.outputs, plan.pipeline->stages[i].output_names);
}

void ClearLists(PlanStage* stage) {
  stage->program = ProgramPart();
  stage->parameter_names.clear();
  stage->output_names.clear();
}

void TakeLists(const Plan& plan, size_t i, PlanStage* out) {
  constexpr std::string_view kReplaces = "as ";  // of outputs, before the parameter's name
  const PlanStage& listed = ListedBy(plan, i);
  absl::flat_hash_map<std::string, std::string> own_name;
  std::vector<PlanTensor> parameters = ParametersOfStage(plan, i);
  for (size_t p = 0; p < parameters.size(); ++p)
    own_name.try_emplace(listed.program.parameters[p].name, parameters[p].name);
  std::vector<PlanTensor> outputs = OutputsOfStage(plan, i);
  const int64_t layers = plan.pipeline->stages[i].first_layer - listed.first_layer;
  ClearLists(out);
  out->same_as.reset();
  out->program = listed.program;
  out->program.parameters = std::move(parameters);
  out->program.outputs = std::move(outputs);
  for (PlanInstruction& instruction : out->program.instructions) {
    if (instruction.layer.has_value()) *instruction.layer += layers;
    if (instruction.opcode != PlanOpcode::kOutput || !instruction.strategy.starts_with(kReplaces))
      continue;
    const auto name = own_name.find(instruction.strategy.substr(kReplaces.size()));
    if (name != own_name.end()) instruction.strategy = StrCat(kReplaces, name->second);
  }
}

}  // namespace meshwright
