#ifndef MESHWRIGHT_CLI_REPRODUCE_RUNS_H_
#define MESHWRIGHT_CLI_REPRODUCE_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace meshwright {

// `meshwright reproduce runs FILE.csv`: predicts measured training runs and prints the errors.
// `output` (may be empty) receives the table with columns of predictions, `parameters` (may be
// empty) is a YAML file that replaces the built-in parameters of devices and frameworks.
struct ReproduceRunsOptions {
  std::string output, parameters;
  bool rank = false;      // print how what was run ranks among all plans, not the errors
  bool commands = false;  // print the `plan` command that predicts the same of each row
  int threads = 2;        // of ranking
  bool json = false;      // print JSON, not tables
};
absl::Status ReproduceRuns(const std::vector<std::string>& files,
                           const ReproduceRunsOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_REPRODUCE_RUNS_H_
