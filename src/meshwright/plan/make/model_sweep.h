#ifndef MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_
#define MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_model.h"

// How a model's step scales with the number of GPUs.

namespace meshwright {

struct SweepRange {
  int64_t first = 1, last = 1;  // GPUs; first, 2 first, 4 first, ... up to last
};
// "gpus=64..4096".
absl::StatusOr<SweepRange> ParseSweep(std::string_view text);

struct SweepRow {
  int64_t gpus = 0, global_batch = 0;
  std::optional<Plan> plan;  // none: nothing is legal or fits, or was found in time
  bool in_time = true;       // false: the search was ended before it found a plan
  // Tokens a second, and those of each GPU relative to the first row that has a plan; 0 without
  // one.
  double tokens_per_second = 0, efficiency = 0;
};

using ModelPlanner = std::function<absl::StatusOr<Plan>(const ModelRequest&)>;

// The best plan on each number of GPUs of the request's kind: nodes as its cluster has, or one node
// that is not full. Strong scaling keeps the global batch, weak scaling lets it grow from that of
// the request with the GPUs. The request's deadline is of each; where it is stopped the rows end.
// Errors: a number of GPUs that is not of whole nodes; none fits anywhere (resource exhausted) or
// was found in time (deadline exceeded).
absl::StatusOr<std::vector<SweepRow>> SweepModel(const ModelRequest& request,
                                                 const SweepRange& range, bool weak,
                                                 const ModelPlanner& planner = PlanModel);

// The plan on the most GPUs, with all rows that have one. `rows` must have such a row.
Plan SweptPlan(const std::vector<SweepRow>& rows);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_
