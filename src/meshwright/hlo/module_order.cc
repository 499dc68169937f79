#include "meshwright/hlo/module_order.h"

#include <utility>

namespace meshwright {
namespace {

// Moves the elements of `items` to the given order; returns the new ids by old position.
template <typename IdType, typename Item>
std::vector<IdType> Permute(std::vector<Item>& items, const std::vector<size_t>& order) {
  std::vector<IdType> moved(items.size());
  std::vector<Item> ordered;
  ordered.reserve(items.size());
  for (const size_t old_position : order) {
    moved[old_position] = IdType(ordered.size());
    ordered.push_back(std::move(items[old_position]));
  }
  items = std::move(ordered);
  return moved;
}

}  // namespace

std::vector<std::vector<size_t>> InstructionNeeds(const Computation& computation) {
  std::vector<std::vector<size_t>> needs(computation.instructions.size());
  for (size_t i = 0; i < needs.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    for (const InstructionId id : instruction.operands) needs[i].push_back(id.index());
    for (const InstructionId id : instruction.control_predecessors) needs[i].push_back(id.index());
  }
  return needs;
}

std::vector<std::vector<size_t>> ComputationNeeds(const Module& module) {
  std::vector<std::vector<size_t>> needs(module.computations.size());
  for (size_t c = 0; c < needs.size(); ++c) {
    for (const Instruction& instruction : module.computations[c].instructions) {
      for (const ComputationId id : instruction.called) {
        if (id.valid()) needs[c].push_back(id.index());
      }
    }
    if (c != module.entry.index()) needs[module.entry.index()].push_back(c);
  }
  return needs;
}

std::vector<InstructionId> Reorder(Computation& computation, const std::vector<size_t>& order) {
  const std::vector<InstructionId> moved = Permute<InstructionId>(computation.instructions, order);
  for (Instruction& instruction : computation.instructions) {
    for (InstructionId& id : instruction.operands) id = moved[id.index()];
    for (InstructionId& id : instruction.control_predecessors) id = moved[id.index()];
  }
  computation.root = moved[computation.root.index()];
  return moved;
}

void Reorder(Module& module, const std::vector<size_t>& order) {
  const std::vector<ComputationId> moved = Permute<ComputationId>(module.computations, order);
  for (Computation& computation : module.computations) {
    for (Instruction& instruction : computation.instructions) {
      for (ComputationId& id : instruction.called) {
        if (id.valid()) id = moved[id.index()];
      }
    }
  }
  module.entry = moved[module.entry.index()];
}

}  // namespace meshwright
