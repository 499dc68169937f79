#ifndef MESHWRIGHT_PLAN_PLAN_MODEL_H_
#define MESHWRIGHT_PLAN_PLAN_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/plan/plan.h"
#include "meshwright/transformer/fixes.h"
#include "meshwright/transformer/model.h"
#include "meshwright/transformer/search.h"

namespace meshwright {

enum class ModelObjective {
  kTime,
  kGpus,    // the fewest that the batch fits on, and of these configurations the fastest
  kMemory,  // the least on the fullest GPU
};
std::optional<ModelObjective> FindModelObjective(
    std::string_view name);  // "time", "gpus", "memory"

struct ModelRequest {
  transformer::Model model;
  std::string description;  // text that the model was read from
  transformer::Workload workload;
  Cluster cluster;
  transformer::Fixes fixes;
  transformer::Precision precision = transformer::Precision::kBf16;
  std::optional<int64_t> budget_bytes;  // that a GPU may use; none: unlimited
  ModelObjective objective = ModelObjective::kTime;
  int64_t top = 10;
  int threads = 2;
  std::vector<PlanInput> inputs;
};

// The best configuration by the calibrated model, the next best, and why. Errors: invalid argument
// for a space without configurations, resource exhausted if none fits (what would is said).
absl::StatusOr<Plan> PlanModel(const ModelRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_PLAN_MODEL_H_
