#ifndef MESHWRIGHT_PROFILE_OPERAND_CONSTRAINTS_H_
#define MESHWRIGHT_PROFILE_OPERAND_CONSTRAINTS_H_

#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/annotate/movements.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// `module`, an annotated copy of the one that `graph` was built from, with a reshape to its own
// shape before every operand that an operator takes otherwise than it is kept, annotated so:
// annotations stand at results only, and without this XLA decides where such an operand is moved.
// `needed`: by OpId, of all operands; empty: as they are kept (Movements::needed). Operands of
// operators that take tuples are left alone.
Module WithOperandConstraints(Module module, const Graph& graph, const Mesh& mesh,
                              const std::vector<Sharding>& kept,
                              const std::vector<std::vector<Sharding>>& needed);

// The module of `graph`, which has no calls, annotated with all that a plan moves: what a loop
// starts from is moved to how it is carried and the program's results along their paths, results
// that are computed otherwise than they are kept have a reshape behind them, and partial sums that
// are added before they are combined the frontend attribute kUnreduced, the names of axes with
// commas between them. XLA does not check that claim, so what makes them has all of its operands
// constrained. `outputs`: how results leave.
inline constexpr char kUnreduced[] = "meshwright.unreduced";
Module WithMovements(const Graph& graph, const Mesh& mesh, const std::vector<Sharding>& kept,
                     const std::vector<Sharding>& outputs, const Movements& movements);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_OPERAND_CONSTRAINTS_H_
