#ifndef MESHWRIGHT_INTER_LAYERS_PHASE_H_
#define MESHWRIGHT_INTER_LAYERS_PHASE_H_

#include <cstdint>

#include "meshwright/base/words.h"

namespace meshwright {

// The phases of a training step.
enum class Phase : uint8_t {
  kForward,
  kBackward,  // with what it computes again of the forward phase
  kUpdate,    // once a step: the optimizer
};
template <>
inline constexpr auto kWords<Phase> = std::to_array<std::string_view>({"forward", "backward",
                                                                       "update"});

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_PHASE_H_
