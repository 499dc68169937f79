#ifndef MESHWRIGHT_HETERO_MEASURED_LAYERS_H_
#define MESHWRIGHT_HETERO_MEASURED_LAYERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/degrees/device_parameters.h"
#include "meshwright/hetero/problem.h"

namespace meshwright::transformer::hetero {

// What the problem's profile says of a group's stages with some degrees. The calibrated model has
// the rest.
struct MeasuredLayers {
  // Of every entry; none where the tensor degree lies outside of those measured on the device.
  std::optional<std::vector<LayerTime>> times;
  // Of the measured tensor degrees that nearest to the stages'; 0: nothing was measured on the
  // device.
  int64_t nearest_tp = 0;
  // Without `times`: layers measured with that degree take as many times what the model has of
  // them.
  double scale = 1;
};

// `problem` must have a profile.
MeasuredLayers FindMeasured(const Problem& problem, const CostParameters& parameters, size_t group,
                            const StageDegrees& degrees);

// Times of layers with a micro-batch that is larger than all that were measured.
struct Extrapolation {
  int64_t measured = 0;    // sequences: the largest micro-batch that was
  double times = 0;        // the measured layers are taken to be as many times as long
  double model_times = 0;  // ... by the calibrated model of the device

  // By how much the model's differ, as a share of what the layers are taken to be.
  double error() const { return model_times / times - 1; }
};

// That of stages with these degrees on a group; none where nothing is extrapolated.
std::optional<Extrapolation> FindExtrapolation(const Problem& problem, size_t group,
                                               const StageDegrees& degrees);

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_MEASURED_LAYERS_H_
