#ifndef MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_
#define MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/words.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_model.h"

// How a model's step scales with the number of GPUs, the global batch or the length of sequences.

namespace meshwright {

enum class SweepAxis { kGpus, kBatch, kSequence };
template <>
inline constexpr auto kWords<SweepAxis> = std::to_array<std::string_view>({"gpus", "batch", "seq"});

struct SweepRange {
  int64_t first = 1, last = 1;  // first, 2 first, 4 first, ... up to last
  SweepAxis axis = SweepAxis::kGpus;
};
// "gpus=64..4096", "batch=64..1024" (sequences), "seq=2048..16384" (tokens).
absl::StatusOr<SweepRange> ParseSweep(std::string_view text);

struct SweepRow {
  int64_t gpus = 0, global_batch = 0, sequence = 0;
  std::optional<Plan> plan;  // none: nothing is legal or fits, or was found in time
  bool in_time = true;       // false: the search was ended before it found a plan
  // Tokens a second, and those of each GPU relative to the first row that has a plan; 0 without
  // one.
  double tokens_per_second = 0, efficiency = 0;
};

using ModelPlanner = std::function<absl::StatusOr<Plan>(const ModelRequest&)>;

// What rows of a sweep differ in: GPUs, with which a batch may grow; else the batch or the
// sequence.
template <typename Row>
SweepAxis SweptAxis(const std::vector<Row>& rows) {
  const auto differ = [&rows](int64_t Row::*member) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Row& row) { return row.*member != rows.front().*member; });
  };
  if (differ(&Row::gpus)) return SweepAxis::kGpus;
  if (differ(&Row::global_batch)) return SweepAxis::kBatch;
  return differ(&Row::sequence) ? SweepAxis::kSequence : SweepAxis::kGpus;
}

// The best plan for each value of the range, everything else as requested. Numbers of GPUs are of
// nodes as the request's cluster has, or of one node that is not full; strong scaling keeps the
// global batch, weak scaling lets it grow from that of the request with the GPUs. The request's
// deadline is of each; where it is stopped the rows end. Errors: a number of GPUs that is not of
// whole nodes; none fits anywhere (resource exhausted) or was found in time (deadline exceeded).
absl::StatusOr<std::vector<SweepRow>> SweepModel(const ModelRequest& request,
                                                 const SweepRange& range, bool weak,
                                                 const ModelPlanner& planner = PlanModel);

// The plan of the last row that has one, with all that do. `rows` must have such a row.
Plan SweptPlan(const std::vector<SweepRow>& rows);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_
