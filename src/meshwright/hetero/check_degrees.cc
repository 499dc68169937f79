// The families themselves are asked what each fix may be, with that fix taken away, so that rules
// stand in one place.

#include "meshwright/hetero/check_degrees.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/degrees/space.h"
#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/families.h"

namespace meshwright::transformer::hetero {

Degrees DegreesWith(Problem problem, const Fixes& fixes) {
  problem.fixes = fixes;
  problem.fixes.pp.reset();
  Coster coster(problem);
  FamilySpace space(problem, coster);
  std::set<int> zeros;
  for (const FamilySpace::Choice& choice : space.Choices()) zeros.insert(choice.zero);
  Degrees degrees;
  for (const int64_t together : space.Together()) {
    int64_t stages = 0;  // of the groups, each with the smallest stages that it can have
    for (size_t group = 0; group < problem.cluster.groups.size(); ++group) {
      int64_t most = 0;
      for (const StageDegrees& one : space.Options(group, together)) {
        for (const int zero : zeros) {
          if (zero > 0 && one.dp == 1) continue;  // nothing to shard over
          Family family;
          family.zero = zero;
          const Configuration c = StageConfiguration(problem, one, family);
          for (const char* const key : {"tp", "dp", "mbs", "zero"}) {
            degrees.values[key].insert(std::stoll(FixValue(c, key)));
          }
          most = std::max(most, Slots(problem.cluster.groups[group], one));
        }
      }
      stages += most;
    }
    degrees.most_stages = std::max(degrees.most_stages, stages);
  }
  return degrees;
}

namespace {

// "--fix: pp=99 is not possible over 2x4 fast, 7x4 slow (WHY); VALID".
absl::Status NotPossible(const Problem& problem, const std::string& what, const std::string& why,
                         const std::string& valid) {
  std::string devices;
  const std::vector<NodeGroup>& groups = problem.cluster.groups;
  for (const NodeGroup& group : groups) {
    absl::StrAppend(&devices, devices.empty() ? "" : ", ", group.cluster.nodes, "x",
                    group.cluster.devices_per_node, " ", group.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--fix: ", what, " over ", devices, " (", why, "); ", valid));
}

// What keeps stages from having these degrees; those that are not fixed do not count.
std::string Reason(const Problem& problem, const Fixes& fixes) {
  const StageDegrees degrees = {fixes.tp.value_or(1), fixes.dp.value_or(1),
                                fixes.micro_batch.value_or(1)};
  const std::vector<NodeGroup>& groups = problem.cluster.groups;
  const auto any = [&](const auto& is) { return std::any_of(groups.begin(), groups.end(), is); };
  const auto of_groups = [&](const auto& count) {
    return absl::StrJoin(groups, ", ", [&](std::string* out, const NodeGroup& group) {
      absl::StrAppend(out, count(group), " of ", group.name);
    });
  };
  if (!any([&](const NodeGroup& group) {
        return group.cluster.devices_per_node % degrees.tp == 0;
      })) {
    return absl::StrCat(
        "tp devices are an equal part of a node: ",
        of_groups([](const NodeGroup& group) { return group.cluster.devices_per_node; }));
  }
  const int64_t batch = problem.workload.global_batch;
  if (batch % degrees.together() != 0)
    return absl::StrCat("dp mbs has to divide the global batch of ", batch);
  if (degrees.micro_batch > kMostMicroBatch)
    return absl::StrCat("micro-batches of up to ", kMostMicroBatch, " sequences are searched");
  const bool on_nodes = any([&](const NodeGroup& group) { return Slots(group, degrees) > 0; });
  if (!on_nodes) {
    return absl::StrCat(
        "a stage lies on nodes of one group, on whole ones or an equal part of one, and takes tp "
        "dp = ",
        degrees.devices(), " devices: there are ",
        of_groups([](const NodeGroup& group) { return group.cluster.devices(); }));
  }
  if (fixes.zero.value_or(0) > 0 && degrees.dp == 1)
    return "with dp=1 there is nothing for zero to shard";
  return SizesText(problem.model, problem.workload);
}

absl::Status CheckStages(const Problem& problem, bool others, int64_t most) {
  const int64_t stages = *problem.fixes.pp, layers = problem.model.layers();
  if (stages <= std::min(MostStages(layers), most)) return absl::OkStatus();
  const std::string why =
      stages > MostStages(layers)
          ? absl::StrCat(problem.model.name, " has ", layers,
                         " layers, and a stage one at least but for the first and the last")
          : absl::StrCat("the nodes hold at most ", Counted(most, "stage"),
                         others ? " with the other fixes" : "",
                         ", each of which lies on nodes of one group");
  return NotPossible(problem, absl::StrCat("pp=", stages, " is not possible"), why,
                     absl::StrCat("valid are 1 to ", std::min(MostStages(layers), most)));
}

}  // namespace

absl::Status CheckDegrees(const Problem& problem) {
  const Fixes& fixes = problem.fixes;
  const std::vector<SingleFix> split = SplitFixes(fixes);
  if (split.empty()) return absl::OkStatus();
  const Degrees fixed = DegreesWith(problem, fixes);
  if (!fixed.empty()) {
    return fixes.pp.has_value() ? CheckStages(problem, split.size() > 1, fixed.most_stages)
                                : absl::OkStatus();
  }
  const Degrees free = DegreesWith(problem, {});
  for (const bool alone : {true, false}) {
    for (const SingleFix& fix : split) {
      const Degrees others = alone ? free : DegreesWith(problem, fix.others);
      const auto valid = others.values.find(fix.key);
      if (valid == others.values.end()) continue;
      const std::string value = fix.text.substr(fix.key.size() + 1);
      if (valid->second.count(std::stoll(value)) > 0) continue;
      Fixes single;
      const Degree* const degree = FindDegree(fix.key);
      degree->set_fix(single, degree->fix(fixes));
      return NotPossible(
          problem,
          absl::StrCat(fix.text, alone ? " is not possible" : " does not go with the other fixes"),
          Reason(problem, alone ? single : fixes),
          absl::StrCat(alone ? "valid are " : "with them valid are ",
                       absl::StrJoin(valid->second, ", ")));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright::transformer::hetero
