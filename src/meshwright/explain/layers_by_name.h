#ifndef MESHWRIGHT_EXPLAIN_LAYERS_BY_NAME_H_
#define MESHWRIGHT_EXPLAIN_LAYERS_BY_NAME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/explain/plan_part.h"

namespace meshwright {

// Phases by number, in the order in which they run; 0: none.
inline int32_t PhaseNumber(const std::optional<Phase>& phase) {
  return phase.has_value() ? static_cast<int32_t>(*phase) + 1 : 0;
}
inline std::string PhaseText(int32_t number) {
  return number == 0 ? "" : std::string(kWords<Phase>[static_cast<size_t>(number - 1)]);
}

// By instruction: phase by number and layer, -1: none.
struct PhasesAndLayers {
  std::vector<int32_t> phase;
  std::vector<int64_t> layer;
};

// Phases and layers as planning found them. Where it found no layers, because the program shows no
// batch or is not trained, they are read off names, for screens and pictures only: parameters are
// of the layer that their names count (layer_names.h), operators of the last layer whose parameters
// went into them; on the way back, which JAX's "transpose(" tells, of the first.
PhasesAndLayers FindPhasesAndLayers(const PlanPart& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_LAYERS_BY_NAME_H_
