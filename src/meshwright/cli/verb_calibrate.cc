#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/measurements.h"
#include "meshwright/plan/program.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

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

// The worker beside the sources or the installed program, unless one was named.
absl::StatusOr<std::string> FindWorker(const std::string& named) {
  if (!named.empty()) return named;
  constexpr std::string_view kFile = "python/meshwright/calibrate_worker.py";
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = program.parent_path(); !error && folder != folder.root_path();
       folder = folder.parent_path()) {
    for (const char* prefix : {"", "share/meshwright"}) {
      const fs::path candidate = folder / prefix / kFile;
      if (fs::is_regular_file(candidate, error)) return candidate.string();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--run: found no ", ToAbsl(kFile), " near the program; name it with --worker"));
}

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

absl::StatusOr<std::string> RunWorker(const std::string& worker) {
  std::FILE* const pipe = popen(absl::StrCat("python3 ", ShellQuoted(worker)).c_str(), "r");
  if (pipe == nullptr) return absl::InvalidArgumentError("--run: cannot start python3");
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  if (pclose(pipe) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--run: python3 ", worker, " failed; it needs JAX and at least two GPUs (see above)"));
  }
  return text;
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
    MW_ASSIGN_OR_RETURN(source, FindWorker(options.worker));
    MW_ASSIGN_OR_RETURN(text, RunWorker(source));
  } else {
    source = options.from;
    MW_ASSIGN_OR_RETURN(text, ReadInput(source));
  }
  MW_ASSIGN_OR_RETURN(const std::vector<Measurement> rows, ParseMeasurements(text, source));
  std::vector<std::string> warnings;
  const absl::StatusOr<Calibration> calibration =
      Calibrate(rows, *device, fs::path(source).filename().string(), &warnings);
  for (const std::string& warning : warnings)
    std::fprintf(stderr, "meshwright: warning: %s\n", warning.c_str());
  MW_RETURN_IF_ERROR(calibration.status());
  const std::string yaml = CalibrationYaml(*calibration);
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
