#ifndef MESHWRIGHT_PLAN_MAKE_CATEGORIZE_H_
#define MESHWRIGHT_PLAN_MAKE_CATEGORIZE_H_

#include <vector>

#include "meshwright/cost/liveness.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/plan/document/memory_category.h"

namespace meshwright {

// What each value (by ValueId) is for, told from the graph's structure alone.
//
// `tied` gives for every output the index into graph.parameters of the parameter it replaces in the
// next step, or -1. `schedule` and `intervals` (by ValueId) say when values live.
std::vector<MemoryCategory> CategorizeValues(const Graph& graph, const std::vector<int32_t>& tied,
                                             const Schedule& schedule,
                                             const std::vector<Interval>& intervals);

// The sum of `bytes` (by ValueId) over the values alive at the peak, by category. What the peak
// holds beyond them (buffers of reshardings) counts as temporaries.
MemoryByCategory PeakByCategory(const PeakMemory& peak, const std::vector<int64_t>& bytes,
                                const std::vector<MemoryCategory>& categories);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_CATEGORIZE_H_
