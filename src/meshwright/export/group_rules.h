#ifndef MESHWRIGHT_EXPORT_GROUP_RULES_H_
#define MESHWRIGHT_EXPORT_GROUP_RULES_H_

#include "absl/status/status.h"
#include "meshwright/export/export_options.h"
#include "meshwright/export/target.h"

// Plans over groups of nodes that a target cannot run, and the nearest that it can.

namespace meshwright {

// Whether `target` can run the stages of a launch over groups.
void CheckTakesGroups(const ModelLaunch& launch, const ExportTarget& target, Findings& findings);

// `findings` of such a launch, and a command for the nearest plan without any: over the same groups
// where the target takes such plans, else on the nodes of one group. The plan that it names has
// been made.
absl::Status RefuseGroups(const Plan& plan, const ModelLaunch& launch, const ExportTarget& target,
                          const ExportOptions& options, const Findings& findings);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_GROUP_RULES_H_
