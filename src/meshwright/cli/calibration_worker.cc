#include "meshwright/cli/calibration_worker.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/message.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/measurements.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

absl::StatusOr<std::string> FindCalibrationWorker(const std::string& named) {
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
      absl::StrCat("found no ", ToAbsl(kFile), " near the program; name it with --worker"));
}

absl::StatusOr<std::string> RunCalibrationWorker(const std::string& worker) {
  std::FILE* const pipe = popen(absl::StrCat("python3 ", ShellQuoted(worker)).c_str(), "r");
  if (pipe == nullptr) return absl::InvalidArgumentError("cannot start python3");
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  if (pclose(pipe) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "python3 ", worker, " failed; it needs JAX and at least two GPUs (see above)"));
  }
  return text;
}

absl::StatusOr<std::string> CalibrationFrom(const std::string& text, const std::string& source,
                                            const DeviceType& device) {
  MW_ASSIGN_OR_RETURN(const std::vector<Measurement> rows, ParseMeasurements(text, source));
  std::vector<std::string> warnings;
  const absl::StatusOr<Calibration> calibration =
      Calibrate(rows, device, fs::path(source).filename().string(), &warnings);
  for (const std::string& warning : warnings) PrintWarning(warning);
  MW_RETURN_IF_ERROR(calibration.status());
  return CalibrationYaml(*calibration);
}

}  // namespace meshwright
