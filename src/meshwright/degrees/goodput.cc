#include "meshwright/degrees/goodput.h"

#include <cmath>

namespace meshwright::transformer {

Goodput GoodputOf(const Failures& failures) {
  const double mtbf = failures.mtbf_seconds, each = failures.checkpoint_seconds;
  Goodput goodput;
  if (each == 0) {
    goodput.share = std::exp(-failures.restart_seconds / mtbf);
    return goodput;
  }
  goodput.interval_seconds = mtbf;
  if (each < 2 * mtbf) {
    const double ratio = each / (2 * mtbf);
    goodput.interval_seconds =
        std::sqrt(2 * each * mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - each;
  }
  // Time that `interval` of work takes on average, restarts and lost work included.
  const double taken = mtbf * std::exp(failures.restart_seconds / mtbf) *
                       std::expm1((goodput.interval_seconds + each) / mtbf);
  goodput.share = goodput.interval_seconds / taken;
  return goodput;
}

}  // namespace meshwright::transformer
