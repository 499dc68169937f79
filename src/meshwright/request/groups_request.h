#ifndef MESHWRIGHT_REQUEST_GROUPS_REQUEST_H_
#define MESHWRIGHT_REQUEST_GROUPS_REQUEST_H_

#include "absl/status/statusor.h"
#include "meshwright/plan/make/plan_groups.h"
#include "meshwright/request/plan_options.h"
#include "meshwright/request/subject.h"

namespace meshwright {

// The request for `model`, read, that `asked` describes. Errors name the option at fault.
absl::StatusOr<GroupsRequest> ToGroupsRequest(const Subject& model, const AskedOptions& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_GROUPS_REQUEST_H_
