#ifndef MESHWRIGHT_DEGREES_DEVICE_WARNINGS_H_
#define MESHWRIGHT_DEGREES_DEVICE_WARNINGS_H_

#include <string>
#include <vector>

#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"

namespace meshwright::transformer {

// What to say of a plan on a device by the calibrated model: that it has no hardware for matmuls of
// this precision (precision_support.h); that no run on it was measured, how far off that made
// predictions of runs on others, and what measures its layers. `layers_measured`: they were.
std::vector<std::string> DeviceWarnings(const DeviceType& device, Precision precision,
                                        bool layers_measured = false);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_DEVICE_WARNINGS_H_
