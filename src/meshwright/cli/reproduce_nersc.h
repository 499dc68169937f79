#ifndef MESHWRIGHT_CLI_REPRODUCE_NERSC_H_
#define MESHWRIGHT_CLI_REPRODUCE_NERSC_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace meshwright {

// `meshwright reproduce nersc FILE...`: a line for each file, as text or JSON, and the first
// figures that differ. Nothing is printed unless all files can be read. kAborted if some figure
// differs.
absl::Status ReproduceNersc(const std::vector<std::string>& files, bool json);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_REPRODUCE_NERSC_H_
