#ifndef MESHWRIGHT_PLAN_MAKE_PLAN_BY_NERSC_H_
#define MESHWRIGHT_PLAN_MAKE_PLAN_BY_NERSC_H_

#include "absl/status/statusor.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_model.h"

namespace meshwright {

// The best configuration by the published NERSC model (docs/nersc.md), the next best, and why.
// Tensor parallelism is 1D, SUMMA, 2D sequence parallelism (tp x cp with gathered keys) or any, as
// the fixes `grid` and `context` say. Errors: invalid argument for a model, device, precision,
// objective or fix that the NERSC model does not know; resource exhausted if nothing fits.
absl::StatusOr<Plan> PlanByNersc(const ModelRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_PLAN_BY_NERSC_H_
