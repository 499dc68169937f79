#ifndef MESHWRIGHT_INTER_LAYERS_ALPA_LAYERS_H_
#define MESHWRIGHT_INTER_LAYERS_ALPA_LAYERS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/layers/layer_clustering.h"

// Recorded runs of Alpa's layer clustering:
//
//   [{"name": ..., "compute_costs": [cost of each operator], "non_trivial": [0 or 1 for each],
//     "edges": [[from, to, bytes], ...], "layer_num": l, "eps": e,
//     "criteria": "flops", "count" or "input_memory",
//     "slices": [[begin, end], ...] or null, "max_boundary_bytes": b}, ...]
//
// Other members are ignored.

namespace meshwright {

struct RecordedClustering {
  std::string name;
  ClusteringProblem problem;
  std::optional<Clustering> clustering;  // nullopt: there is none
};

// `text` may be gzip data; `name` stands for it in errors, which name the member.
absl::StatusOr<std::vector<RecordedClustering>> ParseRecordedClusterings(std::string text,
                                                                         std::string_view name);
absl::StatusOr<std::vector<RecordedClustering>> ReadRecordedClusterings(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_ALPA_LAYERS_H_
