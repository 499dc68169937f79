#ifndef MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_
#define MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_

#include <cstdint>
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
};

// The best plan on each number of GPUs of the request's kind: nodes as its cluster has, or one node
// that is not full. Strong scaling keeps the global batch, weak scaling lets it grow from that of
// the request with the GPUs. The request's deadline is of each; where it is stopped the rows end.
// Errors: a number of GPUs that is not of whole nodes; none fits anywhere (resource exhausted) or
// was found in time (deadline exceeded).
absl::StatusOr<std::vector<SweepRow>> SweepModel(const ModelRequest& request,
                                                 const SweepRange& range, bool weak);

// The plan on the most GPUs, with all rows that have one. `rows` must have such a row.
Plan SweptPlan(const std::vector<SweepRow>& rows);

// Speed-up and efficiency are relative to the first row that has a plan, per GPU.
std::string SweepTable(const std::vector<SweepRow>& rows);
// The same with a header line: gpus,global_batch,tp,cp,pp,dp,ep,micro_batch,zero,recompute,
// step_seconds,tokens_per_second,mfu,efficiency,peak_bytes. Rows without a plan are left empty.
std::string SweepCsv(const std::vector<SweepRow>& rows);
// Tokens a second by GPUs, beside what they would be if they grew like these, as a Vega-Lite chart.
std::string SweepPlot(const std::vector<SweepRow>& rows, std::string_view title);
// What to say where rows are of more GPUs than the cluster has, and where they may not be the best.
std::vector<std::string> SweepNotes(const std::vector<SweepRow>& rows, const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_MODEL_SWEEP_H_
