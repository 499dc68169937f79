#ifndef MESHWRIGHT_INTER_LAYERS_PHASES_H_
#define MESHWRIGHT_INTER_LAYERS_PHASES_H_

#include <cstdint>
#include <vector>

#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/layers/unit_graph.h"

namespace meshwright {

// The phase of every unit. Forward is what the loss needs (sums over the batch of rank 0 from which
// outputs are computed, also those that a loop whose operators are units stacks up); without a
// loss, what all gradients need; without gradients, all that runs for every micro-batch. The rest
// of that is backward. What depends on no data has the phase of its first user.
std::vector<Phase> FindPhases(const Graph& graph, const BatchSplit& batch,
                              const std::vector<int32_t>& tied, const UnitGraph& units);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_PHASES_H_
