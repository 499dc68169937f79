#ifndef MESHWRIGHT_EXPLAIN_COMPUTE_PARTS_H_
#define MESHWRIGHT_EXPLAIN_COMPUTE_PARTS_H_

#include <vector>

#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/text/largest_first.h"

namespace meshwright {

// What the seconds of computation of a model's step consist of: its own flops at the device's peak
// (MFU of the step), flops that are recomputed at peak (HFU beyond MFU), and what kernels take
// beyond that. They add up to the computation; with the other parts of the step, to the step: all
// but the first is where the missing MFU goes. Empty where parts and MFU are not of the same
// devices: over groups of nodes, and where kernels take less than the peak would.
std::vector<NamedAmount> ComputeParts(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_COMPUTE_PARTS_H_
