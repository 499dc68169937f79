#ifndef MESHWRIGHT_REPORT_LAYERS_BY_NAME_H_
#define MESHWRIGHT_REPORT_LAYERS_BY_NAME_H_

#include <cstdint>
#include <vector>

#include "meshwright/report/device_programs.h"

namespace meshwright {

// By instruction: phase (as kPhaseNames counts them) and layer, -1: none.
struct PhasesAndLayers {
  std::vector<int32_t> phase;
  std::vector<int64_t> layer;
};

// Phases and layers as planning found them. Where it found no layers, because the program shows no
// batch or is not trained, they are read off names, for pictures only: parameters are of the layer
// that their names count (layer_names.h), operators of the last layer whose parameters went into
// them; on the way back, which JAX's "transpose(" tells, of the first.
PhasesAndLayers FindPhasesAndLayers(const PlanPart& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_LAYERS_BY_NAME_H_
