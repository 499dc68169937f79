#ifndef MESHWRIGHT_INTER_STAGES_ALPA_STAGES_H_
#define MESHWRIGHT_INTER_STAGES_ALPA_STAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// Recorded runs of Alpa's stage dynamic programming (Zheng et al. 2022, section 5.2):
//
//   [{"name": ..., "num_layers": l, "num_devices": d, "num_microbatches": b,
//     "submesh_choices": [[hosts, devices], ...],
//     "compute_cost": [first layer][last layer][submesh][configuration], null: not allowed,
//     "max_n_succ_stages": likewise, negative: out of memory,
//     "training_cost": c or null, "inference_cost": c or null}, ...]
//
// Other members are ignored.

namespace meshwright {

struct StageProblem {
  int32_t layers = 0;
  int64_t devices = 0, micro_batches = 1;
  std::vector<int64_t> submeshes;  // devices of each
  struct Configuration {
    double seconds = 0;
    int64_t max_after = 0;  // stages that may follow
    int32_t number = 0;
  };
  // By first layer, last layer and submesh.
  std::vector<Configuration> const& At(int32_t first, int32_t last, size_t submesh) const {
    return configurations[(static_cast<size_t>(first) * layers + last) * submeshes.size() +
                          submesh];
  }
  std::vector<std::vector<Configuration>> configurations;
};

struct RecordedStages {
  std::string name;
  StageProblem problem;
  std::optional<double> training, inference;  // nullopt: infeasible
};

struct TrainingResult {
  std::optional<double> cost;  // nullopt: there is no way, or none was found
  bool proven = true;          // false: the deadline was met before the search was over
};
// The least `sum of stages + (micro_batches - 1) * slowest`, all devices used, at most
// Configuration::max_after stages after each.
TrainingResult TrainingCost(const StageProblem& problem, double deadline_seconds);
// The least `number of stages * slowest`, all devices used, memory unlimited.
std::optional<double> InferenceCost(const StageProblem& problem);

// `text` may be gzip data; `name` stands for it in errors, which name the member.
absl::StatusOr<std::vector<RecordedStages>> ParseRecordedStages(std::string text,
                                                                std::string_view name);
absl::StatusOr<std::vector<RecordedStages>> ReadRecordedStages(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_ALPA_STAGES_H_
