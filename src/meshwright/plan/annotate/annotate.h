#ifndef MESHWRIGHT_PLAN_ANNOTATE_ANNOTATE_H_
#define MESHWRIGHT_PLAN_ANNOTATE_ANNOTATE_H_

#include <cstdint>
#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// A copy of the module that `graph` was built from with the plan written into it: `sharding=` on
// the entry parameters, the entry root, and every instruction of the entry computation and of
// computations that run in one place only (loop bodies and conditions, branches, callees with one
// call), tuples included; and num_partitions set to the mesh's size. Annotations that were there
// are replaced. Branches end with reshapes to the same shape where the plan keeps what they hand on
// otherwise than the conditional's result; all other instructions keep their positions.
//
// Left without an annotation: instructions of computations that several calls share (they may be
// sharded differently each time; XLA propagates into them from the calls), bodies of fusions,
// reductions and the like.
//
// `values`: shardings by ValueId, `outputs`: how each output leaves the program.
Module AnnotateModule(const Graph& graph, const Mesh& mesh, const std::vector<Sharding>& values,
                      const std::vector<Sharding>& outputs);

// The same for what was just decided. `tied`: see TiedParameters.
Module AnnotateModule(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                      const std::vector<int32_t>& tied);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_ANNOTATE_H_
