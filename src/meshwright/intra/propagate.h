#ifndef MESHWRIGHT_INTRA_PROPAGATE_H_
#define MESHWRIGHT_INTRA_PROPAGATE_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/fusion.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/pins.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// Completes `pins` the way XLA does before it partitions a program: the shardings that are given
// spread over the operators' sharding rules until nothing changes, first through elementwise
// operators and changes of shape, then along dimensions that pass through an operator, last along
// contracted ones. What they never reach stays whole. propagate.cc says what is taken over from
// Shardy.
//
// On return every array value that is not free has a pin, and with it every parameter and output.
// `tied` as TiedParameters returns. Deterministic; a few passes over the graph.
void PropagatePins(const Graph& graph, const FusionInfo& fusion, const Mesh& mesh,
                   const std::vector<int32_t>& tied, Pins* pins);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PROPAGATE_H_
