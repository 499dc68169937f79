#ifndef MESHWRIGHT_INTRA_ANNOTATIONS_H_
#define MESHWRIGHT_INTRA_ANNOTATIONS_H_

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/pins.h"

namespace meshwright {

// Reads the shardings that a program gives its values and results into `pins`, as far as `mesh` can
// express them; Pins::unused_annotations says what becomes of the others.
//
// A program that was made for another number of devices, as annotations that name devices or its
// num_partitions tell, says nothing of this mesh where it replicates an array either: HLO's
// `{replicated}` is then one of those that are not used. Where a call into Python runs says nothing
// of how arrays lie (`{maximal device=0}`, which JAX puts on callbacks).
void ReadAnnotations(const Graph& graph, const Mesh& mesh, Pins* pins);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_ANNOTATIONS_H_
