#ifndef MESHWRIGHT_INTER_STAGES_REPLAN_STAGE_H_
#define MESHWRIGHT_INTER_STAGES_REPLAN_STAGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/stages/layer_costs.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// One stage of a pipeline that is planned once more while everything around it stays.
struct StageReplanRequest {
  int32_t begin = 0, end = 0;  // layers [begin, end)
  int64_t micro_batches = 1;
  int64_t sum_parts = 1;  // see SliceRequest
  // How values that come from other stages and go there are kept, by position among the slice's
  // inputs and outputs (SliceRole::kActivation and kGradient); what is not listed is free.
  std::vector<std::pair<int32_t, Sharding>> inputs, outputs;
  std::vector<Fix> fixes;  // by the slice's names; those of parameters are the program's
  PlannerOptions planner;  // space, completion and solver
  // Whether a stage may cost this; the multiplier of memory rises until it does (stage_plans.h).
  std::function<bool(const SliceCost&)> fits;
};

struct ReplannedStage {
  std::shared_ptr<const ProgramSlice> slice;  // all phases, for one micro-batch
  std::shared_ptr<const IntraPlan> plan;
  SliceCost cost;  // of `plan`, nothing recomputed
  bool fits = true;
};

// The fastest such plan, within the solver's gap: at the lowest of a few Lagrange multipliers of
// memory at which it fits, else at the highest. Errors: see Slicer::Slice and PlanIntra; a fix that
// cannot be had is invalid argument.
absl::StatusOr<ReplannedStage> ReplanStage(const Slicer& slicer, const CostModel& cost_model,
                                           const StageReplanRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_REPLAN_STAGE_H_
