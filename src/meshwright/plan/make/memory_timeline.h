#ifndef MESHWRIGHT_PLAN_MAKE_MEMORY_TIMELINE_H_
#define MESHWRIGHT_PLAN_MAKE_MEMORY_TIMELINE_H_

#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/memory_category.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// Memory of a device while `graph` runs as `intra` says, values counted by `categories` (by
// ValueId), buffers of reshardings as temporaries. Linear in the program.
PlanMemoryTimeline MemoryTimeline(const Graph& graph, const IntraPlan& intra,
                                  const std::vector<MemoryCategory>& categories);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_MEMORY_TIMELINE_H_
