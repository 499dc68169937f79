#ifndef MESHWRIGHT_INTRA_COMPLETION_H_
#define MESHWRIGHT_INTRA_COMPLETION_H_

#include "meshwright/base/words.h"

namespace meshwright {

// What becomes of values whose sharding nobody gave.
enum class Completion {
  kLeastCost,  // the planner decides
  kPropagate,  // they follow from those that were given, as in XLA (propagate.h)
};
template <>
inline constexpr auto kWords<Completion> = std::to_array<std::string_view>({"least-cost", "xla"});

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_COMPLETION_H_
