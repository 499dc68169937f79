#include "meshwright/degrees/device_warnings.h"

#include "meshwright/base/strings.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/degrees/precision_support.h"

namespace meshwright::transformer {
namespace {

// 300 published runs, predicted without the parameters of their devices (docs/accuracy-runs.md).
constexpr std::string_view kErrorUnmeasured =
    "runs on other devices, predicted so, were off by 17 % on average and one in ten by more than "
    "38 %";

// One layer of each kind is compiled and timed, whatever the size of the model.
constexpr std::string_view kMeasure =
    "on one GPU of the kind `meshwright profile STEP.mlir --mesh 1 --db layers.sqlite --layers-csv "
    "layers.csv` measures the layers of a training step, for --profile layers.csv";

}  // namespace

std::vector<std::string> DeviceWarnings(const DeviceType& device, Precision precision,
                                        bool layers_measured) {
  std::vector<std::string> warnings;
  if (std::string warning = PrecisionWarning(device, precision); !warning.empty())
    warnings.push_back(std::move(warning));
  if (!layers_measured && !BuiltinCostParameters().Knows(device.measured_as())) {
    warnings.push_back(StrCat("no training run on ", device.name,
                              " was measured, so its kernels are priced by its data sheet: ",
                              kErrorUnmeasured, "; ", kMeasure));
  }
  return warnings;
}

}  // namespace meshwright::transformer
