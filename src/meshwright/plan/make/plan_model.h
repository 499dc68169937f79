#ifndef MESHWRIGHT_PLAN_MAKE_PLAN_MODEL_H_
#define MESHWRIGHT_PLAN_MAKE_PLAN_MODEL_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/degrees/search.h"
#include "meshwright/model/model.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

enum class ModelCost {
  kCalibrated,
  kNersc,  // published/nersc/nersc.h
};

// How often a job fails, and what checkpoints take.
struct FailureRequest {
  double gpu_mtbf_seconds = 0;  // mean time between failures of one GPU, its share of the node's
  // What a GPU writes in a second; training stands still while it does.
  double checkpoint_bytes_per_second = 0;
  double restart_seconds = 0;
};

// In place of targets' names: one at least of all that there are, or nothing.
inline constexpr char kAnyTarget[] = "any", kNoTarget[] = "none";

// The largest batch that is accepted, in sequences of a step.
inline constexpr int64_t kMaxGlobalBatch = 1 << 30;

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
  // Wall clock for all searches of the calibrated model; the best so far is planned at it. And
  // asked often, from any thread: once it says true they end likewise.
  double deadline_seconds = std::numeric_limits<double>::infinity();
  std::function<bool()> stop;  // null: never
  std::vector<InputFile> inputs;
  ModelCost cost = ModelCost::kCalibrated;
  transformer::ChosenFramework framework;  // of the calibrated model
  std::string network;                     // that the user gave and `cluster` has; empty: none
  std::optional<int64_t> mtp;  // trained modules, as the user asked; `model` has no others
  std::optional<FailureRequest> failures;
  // What has to be able to launch the plan: "megatron,nemo", kAnyTarget or kNoTarget; empty:
  // kAnyTarget where that is possible. Planners go by `takes`, into which answer/launch_wishes.h
  // turns it.
  std::string launch_targets;
  // What may be planned, and in words what that is; null: everything.
  std::function<bool(const transformer::Configuration&)> takes;
  std::string taken_by;  // "--for megatron"
};

// The best configuration by the request's model of cost, the next best, and why; where the search
// was ended before it was over, `gap` says by how much others may be better. Errors: invalid
// argument for a space without configurations, resource exhausted if none fits (what would is
// said), deadline exceeded if the search was ended before it found one.
absl::StatusOr<Plan> PlanModel(const ModelRequest& request);

// Bytes of a checkpoint: weights, their master copies and Adam's two moments.
double CheckpointBytes(int64_t parameters, const transformer::StateOptions& state,
                       transformer::Precision precision);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_PLAN_MODEL_H_
