#ifndef MESHWRIGHT_REQUEST_FASOP_REQUEST_H_
#define MESHWRIGHT_REQUEST_FASOP_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace meshwright {

// `plan MODEL --cost-model fasop`: the published search, defects included (docs/fasop.md).
struct FasopRequest {
  std::string model;    // of the publication, or the built-in name of the same model
  std::string cluster;  // groups of A100 and A10 nodes of four or eight
  int64_t top = 10;
  bool pareto = false;  // over all choices of the nodes
};
struct FasopAnswer {
  std::string table;  // for a terminal
  std::string csv;    // all configurations
};
absl::StatusOr<FasopAnswer> PlanFasop(const FasopRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_FASOP_REQUEST_H_
