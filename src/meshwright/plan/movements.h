#ifndef MESHWRIGHT_PLAN_MOVEMENTS_H_
#define MESHWRIGHT_PLAN_MOVEMENTS_H_

#include <vector>

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
};

Movements FindMovements(const Graph& graph, const Mesh& mesh, const IntraPlan& intra);

// How `op` needs its operands; empty if as they are kept.
std::vector<Sharding> NeededOperands(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                     OpId op);

// How `op` computes its results; empty if as they are kept, or if they are partial sums, which no
// sharding expresses.
std::vector<Sharding> ComputedResults(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                      OpId op);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MOVEMENTS_H_
