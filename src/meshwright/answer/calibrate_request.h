#ifndef MESHWRIGHT_ANSWER_CALIBRATE_REQUEST_H_
#define MESHWRIGHT_ANSWER_CALIBRATE_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/request/option.h"

namespace meshwright {

// What `calibrate` is asked.
struct CalibrateAsked {
  std::string from;  // file of measurements; empty: they are made
  bool run = false;
  std::string worker;  // the Python program that measures; empty: the package's
  std::string device = "h100-sxm";
  std::string output;
};
Options CalibrateOptionRows(CalibrateAsked& asked);

struct CalibrationAnswer {
  std::string yaml;  // see cluster/calibration.h
  std::vector<std::string> warnings;
};

// Before long work. Errors: neither or both of a file and a run; an unknown device.
absl::Status CheckCalibrate(const CalibrateAsked& asked);

// The calibration from measurements, of a file or of the GPUs of this machine. Errors: those of
// CheckCalibrate; a worker that fails; measurements that are too few or cannot be read.
absl::StatusOr<CalibrationAnswer> MakeCalibration(const CalibrateAsked& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_CALIBRATE_REQUEST_H_
