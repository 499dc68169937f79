#include "meshwright/explain/layers_by_name.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "meshwright/explain/layer_names.h"

namespace meshwright {
namespace {

constexpr int32_t kForwardPhase = 1, kBackwardPhase = 2, kUpdatePhase = 3;

class NameReader {
 public:
  explicit NameReader(const PlanPart& program)
      : program_(program), instructions_(program.instructions) {}

  PhasesAndLayers Read() && {
    const size_t count = instructions_.size();
    result_.phase.assign(count, 0);
    result_.layer.assign(count, -1);
    ReadParameters();
    ReadPhases();
    for (size_t i = 0; i < count; ++i) {
      if (instructions_[i].opcode != PlanOpcode::kParameter) result_.layer[i] = LayerOf(i);
    }
    return std::move(result_);
  }

 private:
  void ReadParameters() {
    std::vector<size_t> parameters;
    std::vector<std::string> names;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      // Without a name of the user's there is only HLO's own, which counts instructions.
      const std::string& name = MetadataName(program_, instructions_[i]);
      if (instructions_[i].opcode != PlanOpcode::kParameter || name.empty()) continue;
      parameters.push_back(i);
      names.push_back(name);
    }
    const std::vector<LayerInName> layers = LayersInNames(names);
    for (size_t k = 0; k < parameters.size(); ++k) {
      int64_t layer = 0;
      // Others are too large to be a count.
      if (layers[k].place >= 0 &&
          absl::SimpleAtoi(names[k].substr(layers[k].begin, layers[k].length), &layer)) {
        result_.layer[parameters[k]] = layer;
      }
    }
  }

  // What the way back makes, and what is neither it nor goes into it.
  void ReadPhases() {
    bool returns = false;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (instructions_[i].opcode == PlanOpcode::kParameter) continue;
      const std::string& name = MetadataName(program_, instructions_[i]);
      int32_t latest = kForwardPhase;
      for (const int64_t operand : instructions_[i].operands) {
        if (operand < static_cast<int64_t>(i)) latest = std::max(latest, result_.phase[operand]);
      }
      const bool back = absl::StrContains(name, "transpose(");
      returns |= back;
      if (instructions_[i].opcode == PlanOpcode::kOutput) {  // where its value is made
        result_.phase[i] = latest;
        continue;
      }
      result_.phase[i] = back                                        ? kBackwardPhase
                         : latest == kBackwardPhase && !name.empty() ? kUpdatePhase
                                                                     : latest;
    }
    if (!returns) std::fill(result_.phase.begin(), result_.phase.end(), 0);
  }

  int64_t LayerOf(size_t i) const {
    int64_t last = -1, least = -1, parameter = -1, gradient = -1, activation = -1;
    for (const int64_t operand : instructions_[i].operands) {
      if (operand >= static_cast<int64_t>(i)) continue;
      const int64_t layer = result_.layer[operand];
      if (layer < 0) continue;
      last = std::max(last, layer);
      least = least < 0 ? layer : std::min(least, layer);
      if (instructions_[operand].opcode == PlanOpcode::kParameter) parameter = layer;
      if (result_.phase[operand] == kBackwardPhase) {
        gradient = gradient < 0 ? layer : std::min(gradient, layer);
      } else {
        activation = std::max(activation, layer);
      }
    }
    if (result_.phase[i] == kBackwardPhase) {
      // Gradients go from a layer to the one before it where they meet what that had computed.
      // What lies further back, masks and the like, is only used by many layers.
      if (gradient < 0) return activation;
      return activation == gradient - 1 ? activation : gradient;
    }
    if (result_.phase[i] != kUpdatePhase) return last;
    // An update is of its parameter's layer; what several layers go into is of none.
    return parameter >= 0 ? parameter : least == last ? last : -1;
  }

  const PlanPart& program_;
  const std::vector<PlanInstruction>& instructions_;
  PhasesAndLayers result_;
};

}  // namespace

PhasesAndLayers FindPhasesAndLayers(const PlanPart& program) {
  const std::vector<PlanInstruction>& instructions = program.instructions;
  // A pipeline is cut between layers that planning found, so what a stage says of none is in none:
  // a loop over layers, say.
  const bool known = program.is_stage() ||
                     std::any_of(instructions.begin(), instructions.end(),
                                 [](const PlanInstruction& i) { return i.layer.has_value(); });
  if (!known) {
    PhasesAndLayers read = NameReader(program).Read();
    const bool phases = std::any_of(instructions.begin(), instructions.end(),
                                    [](const PlanInstruction& i) { return i.phase.has_value(); });
    for (size_t i = 0; phases && i < instructions.size(); ++i) {
      read.phase[i] = PhaseNumber(instructions[i].phase);
    }
    return read;
  }
  PhasesAndLayers result;
  for (const PlanInstruction& instruction : instructions) {
    result.phase.push_back(PhaseNumber(instruction.phase));
    result.layer.push_back(instruction.layer.value_or(-1));
  }
  return result;
}

}  // namespace meshwright
