#ifndef MESHWRIGHT_PLAN_ANNOTATE_MOVEMENTS_H_
#define MESHWRIGHT_PLAN_ANNOTATE_MOVEMENTS_H_

#include <cstddef>
#include <optional>
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
  // Shardings that a value goes through on its way from one to another, in their order. XLA, told
  // only the two ends, would take steps of its own choice, whatever they cost.
  using Path = std::vector<Sharding>;

  std::vector<std::vector<Sharding>> needed;  // of all operands
  // Of all results; of loop parameters and exits: how the loop carries them.
  std::vector<std::vector<Sharding>> computed;
  // Of operands on their way to how they are needed (of outputs: to how they leave; of loop
  // parameters: of what enters the loop and of what enters its next round), and of results to how
  // they are kept. Empty if all of an operator are.
  std::vector<std::vector<Path>> operand_paths, result_paths;
  // How all users see the operator's result, where it is moved once for all of them: parameters.
  std::vector<std::optional<Sharding>> shared;
  // Axes along which it adds partial sums and leaves them partial. Values that only such operators
  // use are kept as partial sums.
  std::vector<AxisList> pending;
  // Axes that cut a dimension over which the operator sums (or takes the maximum of, ...).
  std::vector<AxisList> reduced;
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
// combined at once. Of calls also before that: they may have other results beside.
std::vector<Sharding> ComputedResults(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                      const std::vector<AxisList>& pending, OpId op);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_MOVEMENTS_H_
