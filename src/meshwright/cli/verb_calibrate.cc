#include <CLI/CLI.hpp>
#include <memory>

#include "meshwright/answer/calibrate_request.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

absl::Status RunCalibrate(const CalibrateAsked& asked) {
  MW_RETURN_IF_ERROR(CheckCalibrate(asked));
  const OutputFile output = {"-o", asked.output};
  MW_RETURN_IF_ERROR(CheckOutputs({output}, {asked.from}));
  MW_ASSIGN_OR_RETURN(const CalibrationAnswer made, MakeCalibration(asked));
  for (const std::string& warning : made.warnings) PrintWarning(warning);
  return asked.output.empty() ? PrintOutput(made.yaml) : WriteOutput(output, made.yaml);
}

}  // namespace

Action AddCalibrateVerb(CLI::App& app) {
  auto asked = std::make_shared<CalibrateAsked>();
  AddOptions(app, CalibrateOptionRows(*asked));
  return [asked] { return RunCalibrate(*asked); };
}

}  // namespace meshwright
