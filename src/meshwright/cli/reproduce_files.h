#ifndef MESHWRIGHT_CLI_REPRODUCE_FILES_H_
#define MESHWRIGHT_CLI_REPRODUCE_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/published/nersc/reproduce.h"

namespace meshwright {

// Computes the records of one file again.
using FileReproduction =
    absl::StatusOr<transformer::nersc::FileReport> (*)(const std::string& path);

// `meshwright reproduce NAME FILE...`: a line for each file, as text or JSON, and the first
// figures that differ. Nothing is printed unless all files can be read. kAborted if some figure
// differs.
absl::Status ReproduceFiles(std::string_view name, FileReproduction reproduce,
                            const std::vector<std::string>& files, bool json);

// In five columns up to 100 seconds.
std::string MillisecondsText(double milliseconds);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_REPRODUCE_FILES_H_
