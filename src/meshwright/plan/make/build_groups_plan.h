#ifndef MESHWRIGHT_PLAN_MAKE_BUILD_GROUPS_PLAN_H_
#define MESHWRIGHT_PLAN_MAKE_BUILD_GROUPS_PLAN_H_

#include "meshwright/plan/document/plan.h"
#include "meshwright/plan/make/plan_groups.h"

namespace meshwright {

// The plan of an answer: the chosen one of its front, whose stages are those of a pipeline, with
// the other choices of nodes beside it. The cluster's parts are the nodes that it takes of each
// group, numbered so that a group's stages lie on them in the order of the pipeline.
Plan BuildGroupsPlan(const GroupsRequest& request, const GroupsAnswer& answer);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_BUILD_GROUPS_PLAN_H_
