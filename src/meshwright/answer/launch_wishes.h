#ifndef MESHWRIGHT_ANSWER_LAUNCH_WISHES_H_
#define MESHWRIGHT_ANSWER_LAUNCH_WISHES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_groups.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/request/groups_request.h"

namespace meshwright {

// The plan of a model for what its `launch_targets` name. Where they are left open, for a framework
// if one can run any configuration that fits; else for none, with a warning that says why. It says
// what launches it. Errors: AddLaunchFilter's and PlanModel's.
absl::StatusOr<Plan> PlanLaunched(const ModelRequest& request);
// The plan of `answer`, with what launches it.
Plan GroupsPlanLaunched(const GroupsRequest& request, const GroupsAnswer& answer);
// Of `plan`, which PlanLaunched gave: a line on what is faster but launched by no framework; empty
// where there is nothing, or targets were named.
std::string BeyondLaunches(const ModelRequest& request, const Plan& plan);

// Turns `launch_targets` of a request into what its planner may take. Errors: a target that there
// is not, that takes no such plan or cannot express the model.
absl::Status AddLaunchFilter(ModelRequest& request);
absl::Status AddLaunchFilter(GroupsRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_LAUNCH_WISHES_H_
