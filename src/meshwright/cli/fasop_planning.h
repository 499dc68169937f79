#ifndef MESHWRIGHT_CLI_FASOP_PLANNING_H_
#define MESHWRIGHT_CLI_FASOP_PLANNING_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace meshwright {

// `plan MODEL --cost-model fasop`: the published search, defects included (docs/fasop.md).
struct FasopPlanning {
  std::string model;    // of the publication, or the built-in name of the same model
  std::string cluster;  // groups of A100 and A10 nodes of four or eight
  int64_t top = 10;
  bool pareto = false;   // over all choices of the nodes
  std::string csv_path;  // empty: not wanted
};
absl::Status RunFasopPlanning(const FasopPlanning& planning);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_FASOP_PLANNING_H_
