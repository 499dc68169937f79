#include "meshwright/explain/collective_causes.h"

#include <algorithm>
#include <array>

namespace meshwright {
namespace {

bool HaveOneInCommon(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& axis) {
    return std::find(b.begin(), b.end(), axis) != b.end();
  });
}

}  // namespace

bool ShowsItsOperand(const PlanInstruction& instruction) {
  using enum PlanOpcode;
  constexpr auto kKinds = std::to_array({kBitcast, kBitcastConvert, kConvert, kCopy, kDynamicSlice,
                                         kLoopParameter, kReshape, kTranspose, kSlice});
  return std::find(kKinds.begin(), kKinds.end(), instruction.opcode) != kKinds.end() &&
         !instruction.operands.empty();
}

CauseFinder::CauseFinder(const PlanPart& part) : part_(part) {
  size_t parameter = 0;
  for (size_t i = 0; i < part.instructions.size(); ++i) {
    by_name_.try_emplace(part.instructions[i].name, i);
    if (part.instructions[i].opcode != PlanOpcode::kParameter) continue;
    if (parameter < part.parameters.size()) parameters_[i] = parameter;
    ++parameter;
  }
}

std::optional<size_t> CauseFinder::Named(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<size_t> CauseFinder::ParameterBehind(size_t instruction) const {
  while (ShowsItsOperand(part_.instructions[instruction]))
    instruction = static_cast<size_t>(part_.instructions[instruction].operands[0]);
  const auto found = parameters_.find(instruction);
  return found == parameters_.end() ? std::nullopt : std::optional(found->second);
}

CollectiveCause CauseFinder::Find(const PlanInstruction& user,
                                  const PlanCollective& collective) const {
  const std::optional<size_t> value =
      collective.value.empty() ? std::nullopt : Named(collective.value);
  const PlanInstruction& made = value.has_value() ? part_.instructions[*value] : user;
  CollectiveCause cause;
  if (collective.kind == "all-reduce" || collective.kind == "reduce-scatter") {
    cause.verb = "reduces partial sums of";
    cause.moved = NameOf(part_, made);
    // What adds partial sums up and leaves them partial hands them on for another operator.
    cause.at = HaveOneInCommon(made.reduced_axes, collective.axes) ||
                       HaveOneInCommon(made.pending_axes, collective.axes)
                   ? &made
                   : &user;
    return cause;
  }
  cause.verb = collective.kind == "all-gather"           ? "all-gathers"
               : collective.kind == "collective-permute" ? "exchanges parts of"
                                                         : "reshards";
  cause.at = &user;
  cause.moved = NameOf(part_, made);
  if (!value.has_value()) return cause;
  if (const std::optional<size_t> parameter = ParameterBehind(*value)) {
    cause.moved = part_.parameters[*parameter].name;
    cause.is_parameter = true;
  }
  return cause;
}

}  // namespace meshwright
