#ifndef MESHWRIGHT_PLAN_ANNOTATE_BRANCH_RESULTS_H_
#define MESHWRIGHT_PLAN_ANNOTATE_BRANCH_RESULTS_H_

#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/plan/annotate/leaf_finder.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// Has every branch of `module`'s conditionals hand its results on as the conditional's are kept.
// XLA refuses a conditional whose branches end in values of several shardings, and a plan may well
// keep what one branch makes otherwise than what another does. Where it does, the branch gets
// reshapes to the same shape at its end, annotated like the conditional's results, and a new root.
//
// `module`: an annotated copy of the one that `graph` and `finder` were built from, whose
// instructions keep their positions. `values`: shardings by ValueId. Computations that run in
// several places, which have no annotations, are left alone.
void MoveBranchResults(const Graph& graph, const LeafFinder& finder, const Mesh& mesh,
                       const std::vector<Sharding>& values, Module* module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_BRANCH_RESULTS_H_
