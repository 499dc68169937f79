#ifndef MESHWRIGHT_HLO_MODULE_ORDER_H_
#define MESHWRIGHT_HLO_MODULE_ORDER_H_

#include <cstddef>
#include <vector>

#include "meshwright/hlo/module.h"

// Putting instructions and computations in an order in which each follows what it uses. Ids are
// positions, so moving things means renaming every reference to them.

namespace meshwright {

// For each instruction, what must come before it: operands and control predecessors. See
// dependency_order.h.
std::vector<std::vector<size_t>> InstructionNeeds(const Computation& computation);
// For each computation, those it calls; for the entry, all others, so that it comes last.
std::vector<std::vector<size_t>> ComputationNeeds(const Module& module);

// Moves the instruction at order[k] to position k. `order` holds each position once. Returns the
// new ids by old position. `parameters` is not touched.
std::vector<InstructionId> Reorder(Computation& computation, const std::vector<size_t>& order);
// The same for the computations of a module.
void Reorder(Module& module, const std::vector<size_t>& order);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_MODULE_ORDER_H_
