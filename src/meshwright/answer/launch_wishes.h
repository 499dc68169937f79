#ifndef MESHWRIGHT_ANSWER_LAUNCH_WISHES_H_
#define MESHWRIGHT_ANSWER_LAUNCH_WISHES_H_

#include "absl/status/status.h"
#include "meshwright/plan/make/plan_model.h"
#include "meshwright/request/groups_request.h"

namespace meshwright {

// Turns `launch_targets` of a request into what its planner may take. Errors: a target that there
// is not, that takes no such plan or cannot express the model.
absl::Status AddLaunchFilter(ModelRequest& request);
absl::Status AddLaunchFilter(GroupsRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANSWER_LAUNCH_WISHES_H_
