#ifndef MESHWRIGHT_INTER_LAYERS_LAYERS_H_
#define MESHWRIGHT_INTER_LAYERS_LAYERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/fusion.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/batch.h"
#include "meshwright/inter/layers/phase.h"

// The layers of a program: what a pipeline may be cut between. Found from data flow alone.

namespace meshwright {

// A loop that runs over layers: its iterations are layers [first, first + count).
struct LayerLoop {
  int32_t loop = 0;  // in Graph::loops
  int32_t first = 0, count = 0;
  bool reversed = false;  // iteration i works on layer first + count - 1 - i (a backward loop)
  bool falling = false;   // the last layer's entries stand first in the arrays (a reversed scan)
};

struct Layers {
  int32_t count = 0;
  std::vector<Phase> phase;  // by OpId
  // By OpId: the layer of which the op is a part. -1: of every layer that needs it (entry
  // parameters, and what depends on no data and is cheap: masks, casts of weights, the step's
  // number), ops inside a layer loop and its exits, and what works on entries for all of its layers
  // at once (the optimizer of stacked weights).
  std::vector<int32_t> layer;
  std::vector<LayerLoop> loops;
  // By layer: layers of equal kind are alike, operator by operator, in all phases and in what
  // crosses their borders.
  std::vector<int32_t> kind;
  std::vector<double> flops;  // by layer: of all phases, for the global batch
};

struct LayerOptions {
  int32_t count = 0;       // layers wanted; 0: as the program repeats, at most kMostLayers
  double imbalance = 0.5;  // a layer's cost may exceed the average by this share
};
inline constexpr int32_t kMostLayers = 256;

// Cuts the forward phase into layers of balanced cost with the fewest bytes across the cuts
// (layer_clustering.h), at the program's own repetition where it has one; then gives every backward
// and update op the layer whose forward ops it belongs to. Values cross layers in order only:
// forward from lower to higher layers, backward from higher to lower. Errors: the program has fewer
// heavy ops than `options.count`.
absl::StatusOr<Layers> FindLayers(const Graph& graph, const FusionInfo& fusion,
                                  const BatchSplit& batch, const std::vector<int32_t>& tied,
                                  const LayerOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_LAYERS_H_
