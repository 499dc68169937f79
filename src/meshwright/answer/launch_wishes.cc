#include "meshwright/answer/launch_wishes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/export/launch_command.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/plan/make/build_groups_plan.h"

namespace meshwright {

namespace {

// The targets of `all` that run `costed_by`. Where none does and nobody asked for a framework, the
// first is what is costed.
std::vector<const ExportTarget*> TargetsAsCosted(const std::vector<const ExportTarget*>& all,
                                                 const transformer::Model& model,
                                                 transformer::ChosenFramework& costed_by) {
  const auto of = [&](const transformer::Framework* framework) {
    std::vector<const ExportTarget*> some;
    for (const ExportTarget* const target : all) {
      if (transformer::FindFramework(target->name) == framework) some.push_back(target);
    }
    return some;
  };
  std::vector<const ExportTarget*> own = of(costed_by.framework);
  const std::string_view usual = transformer::FrameworkTable().front().name;
  const absl::StatusOr<transformer::ChosenFramework> unasked =
      transformer::ChooseFramework(usual, "", model);
  if (!own.empty() || all.empty() || !unasked.ok() || costed_by != *unasked)
    return own.empty() ? all : own;
  const absl::StatusOr<transformer::ChosenFramework> first =
      transformer::ChooseFramework(all.front()->name, "", model);
  if (first.ok()) costed_by = *first;
  return of(costed_by.framework);
}

// Why no framework takes the launch's model over groups of nodes.
absl::Status NoFrameworkOverGroups(ModelLaunch launch) {
  const auto first =
      std::find_if(ExportTargets().begin(), ExportTargets().end(),
                   [](const ExportTarget& one) { return one.groups == TakesGroups::kAlike; });
  return absl::InvalidArgumentError(
      StrCat("--for any: no framework launches this over groups of nodes: ",
             FromAbsl(LaunchFilter({&*first}, std::move(launch)).status().message())));
}

// What `plan` was asked for, and what can launch it.
void SetLaunch(const std::string& asked, Plan& plan) {
  std::vector<std::string> targets = TargetsThatLaunch(plan);
  const std::vector<std::string> named = absl::StrSplit(asked, ',');
  std::stable_partition(targets.begin(), targets.end(), [&](const std::string& target) {
    return std::find(named.begin(), named.end(), target) != named.end();
  });
  PlanLaunch& launch = plan.model->launch;
  launch.asked = asked;
  if (!targets.empty()) launch.command = LaunchCommandLine(plan, "plan.json", targets.front());
  launch.targets = std::move(targets);
}

// PlanLaunched, but for what can launch the plan.
absl::StatusOr<Plan> PlanWithinWishes(const ModelRequest& request) {
  if (request.cost != ModelCost::kCalibrated) return PlanModel(request);
  ModelRequest launched = request;
  MW_RETURN_IF_ERROR(AddLaunchFilter(launched));
  absl::StatusOr<Plan> plan = PlanModel(launched);
  if (!request.launch_targets.empty()) return plan;
  if (plan.ok()) {
    // The others follow from what was asked.
    plan->options.fixes.clear();
    for (transformer::SingleFix& fix : SplitFixes(request.fixes))
      plan->options.fixes.push_back(std::move(fix.text));
    return plan;
  }
  absl::StatusOr<Plan> any = PlanModel(request);
  if (any.ok()) {
    any->warnings.push_back(
        StrCat("this is what --for none plans, as no launch is written for any framework: ",
               FromAbsl(plan.status().message())));
  }
  return any;
}

}  // namespace

absl::Status AddLaunchFilter(ModelRequest& request) {
  if (request.launch_targets == kNoTarget) return absl::OkStatus();
  const bool any = request.launch_targets.empty() || request.launch_targets == kAnyTarget;
  request.fixes = transformer::LaunchableFixes(request.fixes);
  request.taken_by = StrCat("--for ", any ? kAnyTarget : request.launch_targets.c_str());
  ModelLaunch launch;
  launch.model = request.model;
  launch.SetDescription(request.description);
  launch.workload = request.workload;
  launch.state = request.framework.state;
  launch.ranks.kinds = {{request.cluster.device.name, request.cluster.device.name}};
  if (any) {
    const std::vector<const ExportTarget*> all = TargetsOfFrameworks(launch);
    request.takes =
        AnyLaunchFilter(TargetsAsCosted(all, request.model, request.framework), std::move(launch));
    return absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(const std::vector<const ExportTarget*> targets,
                      ParseLaunchTargets(request.launch_targets));
  MW_ASSIGN_OR_RETURN(request.takes, LaunchFilter(targets, std::move(launch)));
  return absl::OkStatus();
}

absl::StatusOr<Plan> PlanLaunched(const ModelRequest& request) {
  absl::StatusOr<Plan> plan = PlanWithinWishes(request);
  if (plan.ok()) SetLaunch(request.launch_targets, *plan);
  return plan;
}

std::string BeyondLaunches(const ModelRequest& request, const Plan& plan) {
  constexpr double kLeastSaved = 0.0005;  // shares of a step that are not worth a word
  ModelRequest all = request;
  all.top = 1;
  all.deadline_seconds -= plan.planning_seconds;
  if (request.cost != ModelCost::kCalibrated || request.objective != ModelObjective::kTime ||
      !request.launch_targets.empty() || all.deadline_seconds <= 0)
    return "";
  const absl::StatusOr<transformer::ChosenFramework> framework =
      transformer::ChooseFramework(plan.model->framework, "", request.model);
  if (framework.ok() && framework->framework != request.framework.framework)
    all.framework = *framework;
  const absl::StatusOr<Plan> best = PlanModel(all);
  if (!best.ok()) return "";
  const double saved = 1 - best->step_seconds / plan.step_seconds;
  if (saved < kLeastSaved) return "";
  return Hanging("beyond    ",
                 StrCat(absl::StrFormat("another %.2g %% with ", 100 * saved),
                        transformer::ConfigurationText(best->model->configuration),
                        ", of which export writes a launch for no framework: --for none"));
}

Plan GroupsPlanLaunched(const GroupsRequest& request, const GroupsAnswer& answer) {
  Plan plan = BuildGroupsPlan(request, answer);
  SetLaunch(request.launch_targets, plan);
  return plan;
}

absl::Status AddLaunchFilter(GroupsRequest& request) {
  if (request.launch_targets.empty() || request.launch_targets == kNoTarget)
    return absl::OkStatus();
  transformer::hetero::Problem& problem = request.problem;
  ModelLaunch launch;
  launch.model = problem.model;
  launch.SetDescription(request.description);
  launch.workload = problem.workload;
  launch.state = problem.framework.state;
  for (const NodeGroup& group : problem.cluster.groups) {
    launch.ranks.kinds.push_back({group.name, group.cluster.device.name});
  }
  if (request.launch_targets == kAnyTarget) {
    std::vector<const ExportTarget*> targets = TargetsOfFrameworks(launch);
    std::erase_if(targets,
                  [](const ExportTarget* target) { return target->groups == TakesGroups::kNone; });
    if (targets.empty()) return NoFrameworkOverGroups(std::move(launch));
    problem.alike = true;
    problem.takes = AnyLaunchFilter(TargetsAsCosted(targets, problem.model, problem.framework),
                                    std::move(launch));
    return absl::OkStatus();
  }
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
  problem.alike = !alike.empty();
  MW_ASSIGN_OR_RETURN(problem.takes, LaunchFilter(alike, std::move(launch)));
  return absl::OkStatus();
}

}  // namespace meshwright
