#ifndef MESHWRIGHT_CLUSTER_BUILTIN_CALIBRATIONS_H_
#define MESHWRIGHT_CLUSTER_BUILTIN_CALIBRATIONS_H_

#include <string_view>
#include <vector>

namespace meshwright {

// The output of `meshwright calibrate` for each measured device type, in calibration.h's YAML.
const std::vector<std::string_view>& BuiltinCalibrationTexts();

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_BUILTIN_CALIBRATIONS_H_
