#ifndef MESHWRIGHT_PLAN_MOVEMENTS_H_
#define MESHWRIGHT_PLAN_MOVEMENTS_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// Where a plan moves data: operators that do not take or make values as those are kept. By OpId;
// empty for operators that do.
struct Movements {
  std::vector<std::vector<Sharding>> needed;    // of all operands
  std::vector<std::vector<Sharding>> computed;  // of all results
  // Axes along which it adds partial sums and leaves them partial. Values that only such operators
  // use are kept as partial sums.
  std::vector<AxisList> pending;
};

Movements FindMovements(const Graph& graph, const Mesh& mesh, const IntraPlan& intra);

// Movements::pending. Where an operand has other users too, it is summed up before any of them, and
// no operator adds what is left.
std::vector<AxisList> PendingAxes(const Graph& graph, const Mesh& mesh, const IntraPlan& intra);

// `pending` (by OpId) without operators that have an operand that is no partial sum: one that
// `is_partial` denies, that is made by an operator taken away here, or that others use as a whole.
std::vector<AxisList> WithPartialOperands(
    const Graph& graph, std::vector<AxisList> pending,
    absl::FunctionRef<bool(OpId op, size_t operand)> is_partial);

// The axes along which `value` is kept as a partial sum, ascending; empty if it is not.
AxisList KeptPartial(const Graph& graph, const std::vector<AxisList>& pending, ValueId value);

// How `op` needs its operands once partial sums are combined; empty if as they are kept.
std::vector<Sharding> NeededOperands(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                     OpId op);

// How `op` computes its results; empty if as they are kept, or if they are partial sums that are
// combined at once.
std::vector<Sharding> ComputedResults(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                      const std::vector<AxisList>& pending, OpId op);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MOVEMENTS_H_
