#ifndef MESHWRIGHT_INTER_LAYERS_LAYER_KINDS_H_
#define MESHWRIGHT_INTER_LAYERS_LAYER_KINDS_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/layers.h"

namespace meshwright {

// Layers::kind from the rest of `layers`: numbers from 0 on in order of first appearance. Layers
// are of one kind if they have the same operators (fingerprint.h) in the same phases, each computed
// from the same, and what comes in and goes out is alike. Hashes decide. `shared` (by OpId) ops
// make something of several layers' sums, in whichever layer they stand: they do not count.
std::vector<int32_t> FindLayerKinds(const Graph& graph, const Layers& layers,
                                    const std::vector<bool>& shared);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_LAYER_KINDS_H_
