#include "meshwright/explain/plan_part.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace meshwright {

namespace {

// By name of an output: the first and the last stage that has it.
using StagesOfOutputs = absl::flat_hash_map<std::string_view, std::pair<size_t, size_t>>;

StagesOfOutputs FindOutputs(const Plan& plan) {
  StagesOfOutputs stages;
  for (size_t i = 0; i < plan.stages().size(); ++i) {
    const auto add = [&](std::string_view name) {
      stages.try_emplace(name, i, i).first->second.second = i;
    };
    for (const PlanTensor& output : plan.stages()[i].program.outputs) add(output.name);
    for (const std::string& name : plan.stages()[i].output_names) add(name);
  }
  return stages;
}

std::vector<bool> Received(const PlanStage& stage, size_t i, const StagesOfOutputs& outputs) {
  std::vector<bool> received;
  for (const PlanTensor& parameter : stage.program.parameters) {
    const auto makers = outputs.find(parameter.name);
    received.push_back(parameter.category != MemoryCategory::kParameters &&
                       parameter.category != MemoryCategory::kOptimizerState &&
                       makers != outputs.end() && makers->second != std::pair(i, i));
  }
  return received;
}

PlanPart PartOf(const std::vector<PlanAxis>& mesh, const ProgramPart& program,
                std::vector<bool> received) {
  return {mesh,
          program.collectives,
          program.parameters,
          program.outputs,
          program.instructions,
          program.op_names,
          program.source_files,
          program.memory_timeline,
          program.step_timeline,
          std::move(received)};
}

}  // namespace

std::string PlanPart::StageName(size_t member) const {
  return is_stage() ? absl::StrCat("stage ", stages[member]) : "";
}

const std::string& PlanPart::ParameterName(size_t member, size_t parameter) const {
  return member == 0 ? parameters[parameter].name : (*parameter_names[member])[parameter];
}

const std::string& PlanPart::OutputName(size_t member, size_t output) const {
  return member == 0 ? outputs[output].name : (*output_names[member])[output];
}

std::vector<PlanPart> PartsOf(const Plan& plan) {
  if (plan.stages().empty()) {
    return {
        PartOf(plan.mesh, plan.program, std::vector<bool>(plan.program.parameters.size(), false))};
  }
  std::vector<PlanPart> parts;
  const StagesOfOutputs outputs = FindOutputs(plan);
  for (size_t i = 0; i < plan.stages().size(); ++i) {
    const PlanStage& stage = plan.stages()[i];
    if (!stage.same_as.has_value()) {
      parts.push_back(PartOf(stage.mesh, stage.program, Received(stage, i, outputs)));
      parts.back().stages = {i};
      parts.back().recompute = stage.recompute;
      continue;
    }
    for (PlanPart& part : parts) {
      if (part.stages[0] != static_cast<size_t>(*stage.same_as)) continue;
      part.stages.push_back(i);
      part.layer_offset.push_back(stage.first_layer - plan.stages()[part.stages[0]].first_layer);
      part.parameter_names.push_back(&stage.parameter_names);
      part.output_names.push_back(&stage.output_names);
    }
  }
  return parts;
}

std::string SourceText(const PlanPart& part, const PlanInstruction& instruction) {
  if (!instruction.source.has_value()) return "";
  const std::string& file = part.source_files[static_cast<size_t>(instruction.source->file)];
  const size_t folder = file.rfind('/');
  return absl::StrCat(folder == std::string::npos ? file : file.substr(folder + 1), ":",
                      instruction.source->line);
}

const std::string& MetadataName(const PlanPart& part, const PlanInstruction& instruction) {
  static const auto* const kNone = new std::string();
  return instruction.op_name.has_value() ? part.op_names[static_cast<size_t>(*instruction.op_name)]
                                         : *kNone;
}

const std::string& NameOf(const PlanPart& part, const PlanInstruction& instruction) {
  return instruction.op_name.has_value() ? part.op_names[static_cast<size_t>(*instruction.op_name)]
                                         : instruction.name;
}

std::vector<std::string> AxesOfSpec(const PlanSpec& spec) {
  std::vector<std::string> axes;
  for (const std::vector<std::string>& dimension : spec)
    axes.insert(axes.end(), dimension.begin(), dimension.end());
  return axes;
}

bool Uses(const PlanSpec& spec, const std::string& axis) {
  return std::any_of(spec.begin(), spec.end(), [&](const std::vector<std::string>& dimension) {
    return std::find(dimension.begin(), dimension.end(), axis) != dimension.end();
  });
}

const PlanSpec* NeededSpec(const PlanPart& part, const PlanInstruction& instruction, size_t k) {
  if (k < instruction.operand_specs.size()) return &instruction.operand_specs[k];
  if (k >= instruction.operands.size()) return nullptr;
  const PlanInstruction& producer = part.instructions[static_cast<size_t>(instruction.operands[k])];
  const int64_t result =
      k < instruction.operand_results.size() ? instruction.operand_results[k] : 0;
  if (result == 0) return &producer.spec;
  const auto other = static_cast<size_t>(result - 1);
  return other < producer.other_specs.size() ? &producer.other_specs[other] : nullptr;
}

const PlanSpec& ComputedSpec(const PlanInstruction& instruction) {
  return instruction.computed_specs.empty() ? instruction.spec : instruction.computed_specs[0];
}

bool IsContraction(const PlanInstruction& instruction) {
  return instruction.opcode == PlanOpcode::kDot || instruction.opcode == PlanOpcode::kRaggedDot ||
         instruction.opcode == PlanOpcode::kConvolution;
}

int64_t AddCapped(int64_t a, int64_t b) {
  const int64_t slack = std::numeric_limits<int64_t>::max() - a;
  return b > slack ? std::numeric_limits<int64_t>::max() : a + b;
}

double DevicesOf(const PlanPart& part, const std::vector<std::string>& axes) {
  double devices = 1;
  for (const PlanAxis& axis : part.mesh) {
    if (std::find(axes.begin(), axes.end(), axis.name) != axes.end())
      devices *= static_cast<double>(axis.size);
  }
  return devices;
}

}  // namespace meshwright
