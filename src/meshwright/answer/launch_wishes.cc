#include "meshwright/answer/launch_wishes.h"

#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/launch_filter.h"

namespace meshwright {

absl::Status AddLaunchFilter(ModelRequest& request) {
  if (request.launch_targets.empty()) return absl::OkStatus();
  const bool any = request.launch_targets == kAnyTarget;
  request.taken_by = any ? "--launchable" : StrCat("--for ", request.launch_targets);
  ModelLaunch launch;
  launch.model = request.model;
  launch.SetDescription(request.description);
  launch.workload = request.workload;
  launch.state = request.framework.state;
  launch.ranks.kinds = {{request.cluster.device.name, request.cluster.device.name}};
  if (any) {
    request.takes = AnyLaunchFilter(std::move(launch));
    return absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(const std::vector<const ExportTarget*> targets,
                      ParseLaunchTargets(request.launch_targets));
  MW_ASSIGN_OR_RETURN(request.takes, LaunchFilter(targets, std::move(launch)));
  return absl::OkStatus();
}

absl::Status AddLaunchFilter(GroupsRequest& request) {
  if (request.launch_targets.empty()) return absl::OkStatus();
  transformer::hetero::Problem& problem = request.problem;
  MW_ASSIGN_OR_RETURN(const std::vector<const ExportTarget*> targets,
                      ParseLaunchTargets(request.launch_targets));
  std::vector<const ExportTarget*> alike;
  for (const ExportTarget* const target : targets) {
    if (target->groups == TakesGroups::kNone) {
      return absl::InvalidArgumentError(
          StrCat("--for: ", target->name,
                 " has no launch over groups of nodes; megatron, nemo and slurm do"));
    }
    if (target->groups == TakesGroups::kAlike) alike.push_back(target);
  }
  ModelLaunch launch;
  launch.model = problem.model;
  launch.SetDescription(request.description);
  launch.workload = problem.workload;
  launch.state = problem.framework.state;
  for (const NodeGroup& group : problem.cluster.groups) {
    launch.ranks.kinds.push_back({group.name, group.cluster.device.name});
  }
  problem.alike = !alike.empty();
  MW_ASSIGN_OR_RETURN(problem.takes, LaunchFilter(alike, std::move(launch)));
  return absl::OkStatus();
}

}  // namespace meshwright
