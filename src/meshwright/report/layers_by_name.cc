#include "meshwright/report/layers_by_name.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "meshwright/report/segment_graph.h"

namespace meshwright {
namespace {

constexpr int32_t kForwardPhase = 1, kBackwardPhase = 2, kUpdatePhase = 3;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// A name without its numbers, and these.
struct CountedName {
  std::string pattern;
  std::vector<int64_t> numbers;  // -1: too large to be a count
  std::vector<bool> named;       // stands behind a letter or "_": "layer3", not "state[0]"
};

CountedName Split(const std::string& name) {
  CountedName result;
  for (size_t i = 0; i < name.size();) {
    if (!IsDigit(name[i])) {
      result.pattern.push_back(name[i++]);
      continue;
    }
    size_t end = i;
    while (end < name.size() && IsDigit(name[end])) ++end;
    int64_t number = 0;
    const bool counts = absl::SimpleAtoi(absl::string_view(name).substr(i, end - i), &number);
    result.numbers.push_back(counts ? number : -1);
    const char before = i == 0 ? ' ' : name[i - 1];
    result.named.push_back(absl::ascii_isalpha(static_cast<unsigned char>(before)) ||
                           before == '_');
    result.pattern.push_back('*');
    i = end;
  }
  return result;
}

// The place among a pattern's numbers that counts layers: one that is named, if there is any, and
// takes the most values; -1: none takes several.
int64_t CountingPlace(const std::vector<CountedName>& names) {
  int64_t best = -1;
  size_t best_values = 1;
  bool best_named = false;
  for (size_t place = 0; place < names[0].numbers.size(); ++place) {
    std::set<int64_t> values;
    for (const CountedName& name : names) values.insert(name.numbers[place]);
    const bool named = names[0].named[place];
    if (values.size() < 2 || (best_named && !named)) continue;
    if (values.size() > best_values || (named && !best_named)) {
      best = static_cast<int64_t>(place);
      best_values = values.size();
      best_named = named;
    }
  }
  return best;
}

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
      if (instructions_[i].opcode != "parameter") result_.layer[i] = LayerOf(i);
    }
    return std::move(result_);
  }

 private:
  void ReadParameters() {
    std::vector<size_t> parameters;
    std::vector<CountedName> names;
    absl::flat_hash_map<std::string, std::vector<CountedName>> by_pattern;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (instructions_[i].opcode != "parameter") continue;
      const std::string& name = MetadataName(program_, instructions_[i]);
      parameters.push_back(i);
      names.push_back(Split(name.empty() ? instructions_[i].name : name));
      by_pattern[names.back().pattern].push_back(names.back());
    }
    absl::flat_hash_map<std::string, int64_t> places;
    for (const auto& [pattern, list] : by_pattern) places[pattern] = CountingPlace(list);
    for (size_t k = 0; k < parameters.size(); ++k) {
      const int64_t place = places[names[k].pattern];
      if (place >= 0) result_.layer[parameters[k]] = names[k].numbers[place];
    }
  }

  // What the way back makes, and what is neither it nor goes into it.
  void ReadPhases() {
    bool returns = false;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (instructions_[i].opcode == "parameter") continue;
      const std::string& name = MetadataName(program_, instructions_[i]);
      int32_t latest = kForwardPhase;
      for (const int64_t operand : instructions_[i].operands) {
        if (operand < static_cast<int64_t>(i)) latest = std::max(latest, result_.phase[operand]);
      }
      const bool back = absl::StrContains(name, "transpose(");
      returns |= back;
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
      if (instructions_[operand].opcode == "parameter") parameter = layer;
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
  const bool known = std::any_of(instructions.begin(), instructions.end(),
                                 [](const PlanInstruction& i) { return i.layer.has_value(); });
  if (!known) {
    PhasesAndLayers read = NameReader(program).Read();
    const bool phases = std::any_of(instructions.begin(), instructions.end(),
                                    [](const PlanInstruction& i) { return !i.phase.empty(); });
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
