#ifndef MESHWRIGHT_HETERO_EXTRAPOLATION_H_
#define MESHWRIGHT_HETERO_EXTRAPOLATION_H_

#include <cstddef>
#include <optional>

#include "meshwright/hetero/problem.h"

namespace meshwright::transformer::hetero {

// Times of layers with a micro-batch that is larger than all that were measured.
struct Extrapolation {
  int64_t measured = 0;    // sequences: the largest micro-batch that was
  double times = 0;        // the measured layers are taken to be as many times as long
  double model_times = 0;  // ... by the calibrated model of the device

  // By how much the two differ.
  double error() const { return times / model_times - 1; }
};

// That of stages with these degrees on a group; none where nothing is extrapolated.
std::optional<Extrapolation> FindExtrapolation(const Problem& problem, size_t group,
                                               const StageDegrees& degrees);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_EXTRAPOLATION_H_
