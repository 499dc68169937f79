#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/calibration_worker.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/hlo/program/program.h"

namespace meshwright {
namespace {

struct CalibrateOptions {
  std::string from;  // CSV of measurements; empty: --run
  bool run = false;
  std::string worker;  // the program that measures
  std::string device = "h100-sxm";
  std::string output;  // empty: standard output
};

absl::StatusOr<const DeviceType*> ChooseDevice(const std::string& name) {
  if (const DeviceType* device = FindDevice(name)) return device;
  std::vector<std::string> names;
  for (const DeviceType& device : BuiltinDevices()) names.push_back(device.name);
  return absl::InvalidArgumentError(absl::StrCat("--device: unknown device \"", name,
                                                 "\"; did you mean \"", NearestName(name, names),
                                                 "\"? `meshwright clusters` lists them"));
}

absl::Status RunCalibrate(const CalibrateOptions& options) {
  if (options.run != options.from.empty()) {
    return absl::InvalidArgumentError("give either --from FILE or --run");
  }
  MW_ASSIGN_OR_RETURN(const DeviceType* const device, ChooseDevice(options.device));
  const OutputFile output = {"-o", options.output};
  MW_RETURN_IF_ERROR(CheckOutputs({output}, {options.from}));
  std::string text, source;
  if (options.run) {
    MW_ASSIGN_OR_RETURN(source, FindCalibrationWorker(options.worker));
    MW_ASSIGN_OR_RETURN(text, RunCalibrationWorker(source));
  } else {
    source = options.from;
    MW_ASSIGN_OR_RETURN(text, ReadInput(source));
  }
  MW_ASSIGN_OR_RETURN(const std::string yaml, CalibrationFrom(text, source, *device));
  return options.output.empty() ? PrintOutput(yaml) : WriteOutput(output, yaml);
}

}  // namespace

Action AddCalibrateVerb(CLI::App& app) {
  auto options = std::make_shared<CalibrateOptions>();
  app.add_option("--from", options->from,
                 "measurements: CSV of op,group,bytes_or_flops,dtype,usec; - for standard input");
  app.add_flag("--run", options->run, "measure on the GPUs of this machine, with JAX");
  app.add_option("--worker", options->worker, "the Python program that --run starts");
  app.add_option("--device", options->device, "device type that was measured")
      ->capture_default_str();
  AddOutputOption(app, "-o,--output", options->output,
                  "write the calibration (YAML) here, for `calibration:` in a cluster's file");
  return [options] { return RunCalibrate(*options); };
}

}  // namespace meshwright
