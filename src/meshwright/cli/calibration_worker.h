#ifndef MESHWRIGHT_CLI_CALIBRATION_WORKER_H_
#define MESHWRIGHT_CLI_CALIBRATION_WORKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"

namespace meshwright {

// The program that measures what cost models need to know of a device, beside the sources or the
// installed program, unless `named` is one.
absl::StatusOr<std::string> FindCalibrationWorker(const std::string& named);

// What it prints, on the GPUs of this machine: measurements (cluster/measurements.h).
absl::StatusOr<std::string> RunCalibrationWorker(const std::string& worker);

// Measurements, a file or what the worker printed, as the YAML of a calibration; warnings go to
// standard error. `source`: what the text is called.
absl::StatusOr<std::string> CalibrationFrom(const std::string& text, const std::string& source,
                                            const DeviceType& device);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_CALIBRATION_WORKER_H_
