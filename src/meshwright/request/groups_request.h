#ifndef MESHWRIGHT_REQUEST_GROUPS_REQUEST_H_
#define MESHWRIGHT_REQUEST_GROUPS_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_mixed.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/request/subject.h"

namespace meshwright {

// A model over groups of nodes, with prices or without.
struct GroupsRequest : MixedRequest {
  int64_t point = 0;           // the plan of the front that is chosen
  std::string launch_targets;  // see ModelRequest
};

// The request for `model`, read, that `asked` describes. Errors name the option at fault.
absl::StatusOr<GroupsRequest> ToGroupsRequest(const Subject& model, const AskedOptions& asked);

// Errors: see PlanMixed; also a front without such a point.
absl::StatusOr<MixedAnswer> PlanGroups(const GroupsRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_GROUPS_REQUEST_H_
