#include "meshwright/answer/calibrate_request.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/python_worker.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/measurements.h"
#include "meshwright/export/quoting.h"
#include "meshwright/hlo/program/program.h"

namespace meshwright {
namespace {

absl::StatusOr<const DeviceType*> ChooseDevice(const std::string& name) {
  if (const DeviceType* device = FindDevice(name)) return device;
  std::vector<std::string> names;
  for (const DeviceType& device : BuiltinDevices()) names.push_back(device.name);
  return absl::InvalidArgumentError(absl::StrCat("--device: unknown device \"", name,
                                                 "\"; did you mean \"", NearestName(name, names),
                                                 "\"? `meshwright clusters` lists them"));
}

// What the worker prints: measurements of the GPUs of this machine.
absl::StatusOr<std::string> RunCalibrationWorker(const std::string& named) {
  std::vector<std::string> command = PythonWorker("meshwright.calibrate_worker");
  if (const absl::Status status = CheckPython(command[0]); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), "; MESHWRIGHT_PYTHON names another than python3"));
  }
  if (!named.empty()) command = {command[0], named};
  const std::string line = absl::StrJoin(command, " ", [](std::string* out, const auto& word) {
    absl::StrAppend(out, ShellWord(word));
  });
  std::FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return absl::InvalidArgumentError(absl::StrCat("cannot start ", command[0]));
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  if (pclose(pipe) == 0) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(command[0], named.empty() ? "" : " ", named,
                   ": measuring failed; it needs JAX and at least two GPUs (see above)"));
}

}  // namespace

Options CalibrateOptionRows(CalibrateAsked& asked) {
  return {
      {"from",
       &asked.from,
       "measurements: CSV of op,group,bytes_or_flops,dtype,usec; - for standard input",
       {.path = true}},
      {"run", &asked.run, "measure on the GPUs of this machine, with JAX"},
      {"worker", &asked.worker, "the Python program that --run starts", {.path = true}},
      {"device", &asked.device, "device type that was measured", {.takes = "DEVICE"}},
      {"output",
       &asked.output,
       "write the calibration (YAML) here, for `calibration:` in a cluster's file",
       {.output = true, .letter = "o"}},
  };
}

absl::Status CheckCalibrate(const CalibrateAsked& asked) {
  if (asked.run != asked.from.empty())
    return absl::InvalidArgumentError("give either --from FILE or --run");
  return ChooseDevice(asked.device).status();
}

absl::StatusOr<CalibrationAnswer> MakeCalibration(const CalibrateAsked& asked) {
  MW_RETURN_IF_ERROR(CheckCalibrate(asked));
  MW_ASSIGN_OR_RETURN(const DeviceType* const device, ChooseDevice(asked.device));
  MW_ASSIGN_OR_RETURN(const std::string text,
                      asked.run ? RunCalibrationWorker(asked.worker) : ReadInput(asked.from));
  std::string source = asked.from;
  if (asked.run) source = asked.worker.empty() ? "calibrate_worker.py" : asked.worker;
  MW_ASSIGN_OR_RETURN(const std::vector<Measurement> rows, ParseMeasurements(text, source));
  CalibrationAnswer answer;
  MW_ASSIGN_OR_RETURN(const Calibration calibration,
                      Calibrate(rows, *device, std::filesystem::path(source).filename().string(),
                                &answer.warnings));
  answer.yaml = CalibrationYaml(calibration);
  return answer;
}

}  // namespace meshwright
