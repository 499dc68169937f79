#ifndef MESHWRIGHT_PLAN_MAKE_ONE_KIND_H_
#define MESHWRIGHT_PLAN_MAKE_ONE_KIND_H_

#include <functional>
#include <optional>

#include "meshwright/degrees/search.h"
#include "meshwright/hetero/search.h"
#include "meshwright/plan/make/plan_groups.h"

namespace meshwright {

// The best configuration on the nodes of `choice` if it takes less time: on nodes of one kind more
// is searched than over groups of them (context and expert parallelism, interleaved schedules,
// placements, offloading). None where nodes are of several kinds, and where the request is of
// pipelines over groups alone: with measured layers, fixed stages, or a launch of Slurm's. What is
// found by some counted work counts, or until `stop`, asked from any thread, says true.
std::optional<transformer::RankedConfiguration> FasterOfOneKind(
    const GroupsRequest& request, const transformer::hetero::Choice& choice,
    const std::function<bool()>& stop);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_ONE_KIND_H_
