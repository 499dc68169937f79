#include "meshwright/export/group_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/units.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/export/launch_filter.h"
#include "meshwright/export/nearest_plan.h"
#include "meshwright/export/plan_again.h"
#include "meshwright/export/refusal.h"
#include "meshwright/hetero/search.h"
#include "meshwright/plan/make/build_groups_plan.h"
#include "meshwright/plan/make/groups_text.h"
#include "meshwright/request/asked_of_plan.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::Fixes;
using transformer::hetero::StageDegrees;

// Degrees of the plan's stages, those of the most devices first.
std::vector<StageDegrees> DegreesByDevices(const StagesOverGroups& over) {
  std::map<StageDegrees, int64_t> devices;
  for (const StagesOverGroups::Stage& stage : over.stages) {
    const StageDegrees degrees = {stage.tp, stage.dp, stage.micro_batch};
    devices[degrees] += degrees.devices();
  }
  std::vector<std::pair<int64_t, StageDegrees>> order;
  order.reserve(devices.size());
  for (const auto& [degrees, count] : devices) order.emplace_back(-count, degrees);
  std::sort(order.begin(), order.end());
  std::vector<StageDegrees> all;
  all.reserve(order.size());
  for (const auto& [count, degrees] : order) all.push_back(degrees);
  return all;
}

// What is kept of the plan's decisions: fewer and fewer.
struct Kept {
  bool tp, dp, micro_batch, pp, others;
};
constexpr Kept kKept[] = {
    {true, true, true, true, true},     {true, true, true, false, true},
    {true, true, false, false, true},   {true, true, false, false, false},
    {true, false, false, true, false},  {true, false, false, false, false},
    {false, false, false, true, false}, {false, false, false, false, false},
};

Fixes FixesKept(const Kept& kept, const StageDegrees& degrees, const Configuration& c) {
  Fixes fixes;
  if (kept.tp) fixes.tp = degrees.tp;
  if (kept.dp) fixes.dp = degrees.dp;
  if (kept.micro_batch) fixes.micro_batch = degrees.micro_batch;
  if (kept.pp) fixes.pp = c.pp;
  if (kept.others) {
    fixes.zero = c.zero;
    fixes.recompute = c.recompute;
  }
  return fixes;
}

// The best within `request`'s fixes; none if there is no plan, or the target does not run it after
// all.
std::optional<transformer::hetero::Choice> BestTaken(const GroupsRequest& request,
                                                     const ExportTarget& target) {
  const absl::StatusOr<transformer::hetero::Result> result =
      SearchPlans(request.problem, request.options);
  if (!result.ok() || result->front.empty()) return std::nullopt;
  GroupsAnswer answer;
  answer.result = *result;
  answer.result.front.resize(1);
  transformer::hetero::Coster coster(request.problem);
  answer.figures.push_back(coster.FiguresOf(answer.result.front[0].plan));
  const absl::StatusOr<ModelLaunch> launch = ReadModelLaunch(BuildGroupsPlan(request, answer), 0);
  if (!launch.ok()) return std::nullopt;
  Findings findings(/*wording=*/false);
  CheckTakesGroups(*launch, target, findings);
  target.check_configuration(*launch, launch->configuration, findings);
  if (!findings.ok()) return std::nullopt;
  return answer.result.front[0];
}

// Over the same groups, all of whose stages have the same degrees.
std::string NearestAlike(const Plan& plan, const ModelLaunch& launch, const ExportTarget& target) {
  AskedOptions asked = AskedOf(plan);
  asked.steps = 0;  // the nearest may take longer and cost more
  asked.max_time.clear();
  asked.max_cost = 0;
  const absl::StatusOr<PlanningRequest> planned = RequestOf(plan, asked);
  if (!planned.ok()) {
    return StrCat(planned.status().message(), ", so the nearest is not known; plan with --for ",
                  target.name);
  }
  GroupsRequest request = std::get<GroupsRequest>(*planned);
  request.problem.alike = true;
  ModelLaunch of_filter = launch;
  of_filter.over_groups.reset();
  auto takes = LaunchFilter({&target}, std::move(of_filter));
  if (!takes.ok()) return std::string(takes.status().message());
  request.problem.takes = *std::move(takes);
  request.options.proof_effort = 0;  // any plan will do, without a bound
  for (const Kept& kept : kKept) {
    for (const StageDegrees& degrees : DegreesByDevices(*launch.over_groups)) {
      request.problem.fixes = FixesKept(kept, degrees, launch.configuration);
      std::optional<transformer::hetero::Choice> choice = BestTaken(request, target);
      if (!choice.has_value()) continue;
      // What is named is what these alone leave.
      const StageDegrees common = *choice->plan.family.Common();
      Configuration c;
      c.pp = static_cast<int64_t>(choice->plan.stages.size());
      c.zero = choice->plan.family.zero;
      c.recompute = choice->plan.family.recompute;
      request.problem.fixes = FixesKept(kKept[0], common, c);
      choice = BestTaken(request, target);
      if (!choice.has_value()) continue;
      asked.fixes.clear();
      for (const transformer::SingleFix& fix : SplitFixes(request.problem.fixes)) {
        asked.fixes.push_back(fix.text);
      }
      return StrCat("the nearest that it can is ", GroupsDegreesText(request, choice->plan), " on ",
                    NodesText(request, choice->nodes), StepAgainst(plan, choice->seconds),
                    ", which is planned by", PlanAgainText(plan, target, asked),
                    "\n  (without --fix: the best that it can)");
    }
  }
  return "nor any other plan over these nodes; --to slurm runs a program of your own";
}

// Nodes of one group, or some devices of one of its nodes.
struct GroupPart {
  const PlanNodeGroup* group;
  int64_t nodes, devices_per_node;
  bool fewer;  // than the plan has of the group
};

// How many other numbers of a group's nodes are tried.
constexpr int64_t kMostOtherCounts = 8;

// What the plan uses of each group, then all of it, then fewer and fewer; the most devices first.
std::vector<GroupPart> GroupParts(const std::vector<PlanNodeGroup>& groups) {
  std::vector<std::pair<std::pair<int, int64_t>, GroupPart>> ranked;
  for (const PlanNodeGroup& group : groups) {
    const auto add = [&](int rank, int64_t nodes, int64_t devices) {
      ranked.push_back({{rank, -nodes * devices}, {&group, nodes, devices, rank == 2}});
    };
    const int64_t per_node = group.devices_per_node;
    if (group.used_nodes > 0) add(0, group.used_nodes, per_node);
    if (group.used_nodes < group.nodes) add(1, group.nodes, per_node);
    const int64_t step = std::max<int64_t>(1, group.nodes / kMostOtherCounts);
    for (int64_t nodes = group.nodes - step; nodes >= 1; nodes -= step) add(2, nodes, per_node);
    for (int64_t devices = per_node / 2; devices >= 1; devices /= 2) add(2, 1, devices);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<GroupPart> parts;
  parts.reserve(ranked.size());
  for (const auto& [rank, part] : ranked) parts.push_back(part);
  return parts;
}

// The part of a launch over groups that lies on one of them, as if there were no others; none of
// devices that have no name.
std::optional<ModelLaunch> OnGroupAlone(const Plan& plan, const ModelLaunch& launch,
                                        const GroupPart& part) {
  const PlanNodeGroup& group = *part.group;
  const DeviceType* const device = FindDevice(group.device);
  if (device == nullptr) return std::nullopt;
  ModelLaunch alone = launch;
  alone.over_groups.reset();
  alone.device = group.device;
  alone.nodes = part.nodes;
  alone.devices_per_node = part.devices_per_node;
  alone.ranks = EqualNodes(group.device, part.nodes, part.devices_per_node);
  alone.budget_bytes = device->memory_bytes;
  const std::string& memory = plan.options.memory;
  if (memory == "unlimited") alone.budget_bytes.reset();
  if (memory != "unlimited" && memory != "device") {
    const absl::StatusOr<int64_t> bytes = ParseBytes(memory);
    if (!bytes.ok()) return std::nullopt;
    alone.budget_bytes = *bytes;
  }
  if (group.tp > 0) {
    alone.configuration.tp = group.tp;
    alone.configuration.dp = group.dp;
    alone.configuration.micro_batch = group.micro_batch;
    alone.configuration.pp = group.stages;
  }
  return alone;
}

std::string NearestAlone(const Plan& plan, const ModelLaunch& launch, const ExportTarget& target,
                         const NearestOptions& options) {
  // What needs no program of the user's own goes before what does, and that before fewer devices.
  for (const auto& [fewer, script] :
       {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    for (const GroupPart& part : GroupParts(plan.groups->groups)) {
      if (part.fewer != fewer) continue;
      const std::optional<ModelLaunch> alone = OnGroupAlone(plan, launch, part);
      if (!alone.has_value()) continue;
      const std::optional<Configuration> found = NearestExpressible(*alone, target, options);
      if (!found.has_value()) continue;
      const bool needs_script = !options.has_script && target.needs_script != nullptr &&
                                target.needs_script(*alone, *found);
      if (needs_script != script) continue;
      const AskedOptions asked = AskedOnNodes(
          plan, {part.nodes, part.devices_per_node, part.group->device}, *found, launch.model);
      const std::string where = part.devices_per_node < part.group->devices_per_node
                                    ? Counted(part.devices_per_node, "device") + " of a node"
                                    : Counted(part.nodes, "node");
      return StrCat("the nearest that it can is on ", where, " of ", part.group->name,
                    " alone: ", transformer::ConfigurationText(*found), ", which is planned by",
                    PlanAgainText(plan, target, asked, needs_script));
    }
  }
  return "nor any plan on the nodes of one group that has a built-in device type";
}

}  // namespace

void CheckTakesGroups(const ModelLaunch& launch, const ExportTarget& target, Findings& findings) {
  const StagesOverGroups& over = *launch.over_groups;
  switch (target.groups) {
    case TakesGroups::kAny:
      return;
    case TakesGroups::kAlike:
      findings.Require(
          over.same_degrees,
          "groups: all ranks share tp, dp and the micro-batch, and here groups of nodes "
          "have their own");
      findings.Require(over.ranks.equal_processes() > 0,
                       "groups: every node runs equally many processes, and here some of their "
                       "devices are left over or nodes differ");
      findings.Require(over.in_order,
                       "groups: ranks follow the pipeline, and here a node has stages that do not "
                       "follow each other");
      return;
    case TakesGroups::kNone:
      findings.Require(false,
                       "groups: its stages are all alike, and those of a plan over groups of "
                       "nodes have layers of their own");
  }
}

absl::Status RefuseGroups(const Plan& plan, const ModelLaunch& launch, const ExportTarget& target,
                          const ExportOptions& options, const Findings& findings) {
  std::string text =
      absl::StrCat("--to ", target.name, " cannot express this plan: ", SentencesText(findings));
  if (target.groups != TakesGroups::kNone) {
    return absl::InvalidArgumentError(StrCat(text, "; ", NearestAlike(plan, launch, target)));
  }
  std::vector<std::string> takers;
  for (const ExportTarget& other : ExportTargets()) {
    if (other.groups != TakesGroups::kNone) takers.emplace_back(other.name);
  }
  return absl::InvalidArgumentError(StrCat(
      text, "; targets that take plans over groups of nodes are ", absl::StrJoin(takers, ", "),
      "; ", NearestAlone(plan, launch, target, {.has_script = !options.script.empty()})));
}

}  // namespace meshwright
