#ifndef MESHWRIGHT_TESTS_SHARDING_RING_PRICE_H_
#define MESHWRIGHT_TESTS_SHARDING_RING_PRICE_H_

#include <cstdint>
#include <string>

#include "meshwright/sharding/reshard.h"

namespace meshwright {

// Ring collectives: a latency a step and the bytes each member sends over one link.
inline double RingSeconds(const Mesh& mesh, CollectiveKind kind, const AxisList& axes,
                          int64_t bytes) {
  double n = static_cast<double>(mesh.Size(axes));
  double steps = kind == CollectiveKind::kCollectivePermute
                     ? 1
                     : (kind == CollectiveKind::kAllReduce ? 2 : 1) * (n - 1);
  double sent = kind == CollectiveKind::kCollectivePermute
                    ? 1
                    : (kind == CollectiveKind::kAllReduce ? 2 : 1) * (n - 1) / n;
  return steps * 1e-6 + sent * static_cast<double>(bytes) / 1e11;
}

inline CollectivePrice RingPrice(const Mesh& mesh) {
  return [&mesh](CollectiveKind kind, const AxisList& axes, int64_t bytes) {
    return RingSeconds(mesh, kind, axes, bytes);
  };
}

// "all-gather x 4194304, ...": collectives, their axes and bytes.
inline std::string StepsText(const Resharding& resharding, const Mesh& mesh) {
  if (!resharding.possible) return "impossible";
  std::string text;
  for (const CollectiveStep& step : resharding.steps) {
    text += text.empty() ? "" : ", ";
    text += std::string(CollectiveName(step.kind)) + " ";
    for (AxisIndex axis : step.axes) text += mesh.axes[axis].name;
    text += " " + std::to_string(step.bytes);
  }
  return text;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_RING_PRICE_H_
