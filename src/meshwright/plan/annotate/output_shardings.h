#ifndef MESHWRIGHT_PLAN_ANNOTATE_OUTPUT_SHARDINGS_H_
#define MESHWRIGHT_PLAN_ANNOTATE_OUTPUT_SHARDINGS_H_

#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// How each output leaves the program, in the order of graph.outputs. Inside, its value may be kept
// otherwise: an output that replaces a parameter (`tied`, see IntraPlan::tied; empty: none does)
// leaves as that is stored, any other as its own strategy says.
std::vector<Sharding> OutputShardings(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                                      const std::vector<int32_t>& tied);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_OUTPUT_SHARDINGS_H_
