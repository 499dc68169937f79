#ifndef MESHWRIGHT_INTER_STAGES_OVERLAPPED_H_
#define MESHWRIGHT_INTER_STAGES_OVERLAPPED_H_

#include <cstdint>

#include "meshwright/cost/cost_model.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/stages/layer_costs.h"
#include "meshwright/intra/planner.h"

namespace meshwright {

// `cost`, of `plan`, with the seconds that its phases take when collectives are overlapped
// (intra/timeline.h), each phase by itself as each is a program of its own. What a recomputed
// forward phase adds to the backward phase is counted once more, as in Recomputed. Costs that know
// no overlap stay as they are. The launch overhead of a step is not in it.
SliceCost Overlapped(const ProgramSlice& slice, const IntraPlan& plan, const CostModel& cost_model,
                     int64_t micro_batches, bool recompute, SliceCost cost);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_OVERLAPPED_H_
