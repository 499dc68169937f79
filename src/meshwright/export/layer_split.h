#ifndef MESHWRIGHT_EXPORT_LAYER_SPLIT_H_
#define MESHWRIGHT_EXPORT_LAYER_SPLIT_H_

#include <cstdint>
#include <vector>

#include "meshwright/degrees/configuration.h"
#include "meshwright/export/model_launch.h"
#include "meshwright/model/model.h"

namespace meshwright {

// Which layers every stage runs, and how that is said. Stage s belongs to pipeline group s mod pp.
struct LayerSplit {
  enum class Kind {
    kEven,         // as many in each stage
    kHeadCounted,  // so, if the head counts as a layer
    kEndsCounted,  // so, if embedding and head count as a layer each
    kListed,       // as `layers` says
    kImpossible,   // more stages than layers
  };
  Kind kind = Kind::kEven;
  std::vector<int64_t>
      layers;  // of each of pp x virtual stages; modules of prediction not among them
};

// As the planner partitions layers into pp groups (degrees/layer_partition.h) and to virtual stages
// (degrees/space.h).
LayerSplit SplitLayers(const transformer::Model& model, const transformer::Configuration& c);

// Of a launch: where the plan is over groups of nodes, as its stages say.
LayerSplit SplitLayers(const ModelLaunch& launch);

// The kind alone.
LayerSplit::Kind KindOfSplit(const transformer::Model& model, const transformer::Configuration& c);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_LAYER_SPLIT_H_
