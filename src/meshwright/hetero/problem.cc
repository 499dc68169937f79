#include "meshwright/hetero/problem.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/degree_table.h"

namespace meshwright::transformer::hetero {

bool Family::ByStage() const {
  std::set<size_t> seen;
  for (size_t stage_class = 0; stage_class < degrees.size(); ++stage_class) {
    if (degrees[stage_class].used() && !seen.insert(Group(stage_class)).second) return true;
  }
  return false;
}

std::optional<StageDegrees> Family::Common() const {
  std::optional<StageDegrees> common;
  for (const StageDegrees& one : degrees) {
    if (!one.used()) continue;
    if (common.has_value() && *common != one) return std::nullopt;
    common = one;
  }
  return common;
}

int64_t Family::together() const {
  for (const StageDegrees& one : degrees) {
    if (one.used()) return one.together();
  }
  return 0;
}

Configuration StageConfiguration(const Problem& problem, const StageDegrees& degrees,
                                 const Family& family) {
  Configuration c;
  c.tp = degrees.tp;
  c.sequence_parallel = degrees.tp > 1 && problem.fixes.sequence_parallel.value_or(true);
  c.dp = degrees.dp;
  c.micro_batch = degrees.micro_batch;
  c.zero = family.ZeroOf(degrees);
  c.recompute = family.recompute;
  c.precision = problem.precision;
  return c;
}

int64_t Slots(const NodeGroup& group, const StageDegrees& degrees, int64_t nodes) {
  if (!degrees.used()) return 0;
  const int64_t per_node = group.cluster.devices_per_node, devices = degrees.devices();
  if (per_node % degrees.tp != 0) return 0;
  if (per_node % devices == 0) return nodes * (per_node / devices);
  return devices % per_node == 0 ? nodes / (devices / per_node) : 0;
}

int64_t Slots(const NodeGroup& group, const StageDegrees& degrees) {
  return Slots(group, degrees, group.cluster.nodes);
}

int64_t Nodes(const NodeGroup& group, const StageDegrees& degrees, int64_t stages) {
  const int64_t per_node = group.cluster.devices_per_node, devices = degrees.devices();
  if (devices >= per_node) return stages * (devices / per_node);
  const int64_t each = per_node / devices;
  return (stages + each - 1) / each;
}

namespace {

// What is searched over groups of nodes; anything else is as a configuration usually has it.
constexpr std::string_view kSearched[] = {"tp", "dp", "pp", "mbs", "zero", "recompute", "sp"};

absl::Status CheckFixes(const Fixes& fixes) {
  for (const Degree& degree : DegreeTable()) {
    const std::optional<int64_t> fixed = degree.fix(fixes);
    if (!fixed.has_value()) continue;
    const bool searched = std::count(std::begin(kSearched), std::end(kSearched), degree.key) > 0;
    if (degree.key == "zero" ? *fixed <= 1 : searched) continue;
    const int64_t usual = degree.value(Configuration());
    if (!searched && *fixed == usual) continue;
    return absl::InvalidArgumentError(
        StrCat("--fix: ", degree.key, "=", ValueText(degree, *fixed),
               " is not planned over groups of nodes: tp, dp, pp, mbs, zero (0 or 1) and recompute "
               "are searched, and sp, layers and order can be fixed",
               searched ? "" : StrCat(", and ", degree.key, " is ", ValueText(degree, usual))));
  }
  return absl::OkStatus();
}

absl::Status CheckProfile(const Problem& problem) {
  const int64_t layers = problem.model.layers();
  if (static_cast<int64_t>(problem.profile->entries()) != layers + 2) {
    return absl::InvalidArgumentError(StrCat(
        "--profile: found ", problem.profile->entries(), " entries, but ", problem.model.name,
        " has ", layers, " layers, and so ", layers + 2, " with embedding and head"));
  }
  // What was not measured on some devices is the model's, but a profile of none of them is another
  // cluster's.
  std::vector<std::string> devices;
  for (const NodeGroup& group : problem.cluster.groups) {
    for (const std::string& name : {group.name, group.cluster.device.name}) {
      if (problem.profile->NearestDegree(name, 1) > 0) return absl::OkStatus();
    }
    devices.push_back(StrCat(group.cluster.device.name, ", group ", group.name));
  }
  return absl::InvalidArgumentError(StrCat("--profile: nothing is measured on ",
                                           absl::StrJoin(devices, ", nor on "), "; found ",
                                           problem.profile->Measured()));
}

}  // namespace

absl::Status ResolveStages(Problem* problem) {
  Fixes& fixes = problem->fixes;
  const std::vector<int64_t>& layers = fixes.stage_layers;
  const int64_t all = std::accumulate(layers.begin(), layers.end(), int64_t{0});
  if (!layers.empty() && all != problem->model.layers()) {
    return absl::InvalidArgumentError(StrCat("--fix: layers=", absl::StrJoin(layers, "-"), " is ",
                                             all, " layers, but ", problem->model.name, " has ",
                                             problem->model.layers()));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] >=
        LeastLayers(static_cast<int64_t>(i), std::ssize(layers) - 1 - static_cast<int64_t>(i)))
      continue;
    return absl::InvalidArgumentError(
        StrCat("--fix: layers=", absl::StrJoin(layers, "-"),
               " has a stage without a layer that is neither "
               "the first nor the last: these have embedding and head, the others nothing else"));
  }
  for (const std::string& name : fixes.stage_groups) {
    const std::vector<NodeGroup>& groups = problem->cluster.groups;
    const auto named = std::find_if(groups.begin(), groups.end(),
                                    [&](const NodeGroup& one) { return one.name == name; });
    if (named == groups.end()) {
      std::vector<std::string> names;
      names.reserve(groups.size());
      for (const NodeGroup& group : groups) names.push_back(group.name);
      return absl::InvalidArgumentError(
          StrCat("--fix: order: found \"", name,
                 "\", expected groups of the cluster: ", absl::StrJoin(names, ", ")));
    }
    problem->stage_groups.push_back(named - groups.begin());
  }
  for (const auto& [key, size] : {std::pair("layers", std::ssize(layers)),
                                  std::pair("order", std::ssize(fixes.stage_groups))}) {
    if (size == 0) continue;
    if (fixes.pp.value_or(size) != size) {
      return absl::InvalidArgumentError(
          StrCat("--fix: ", key, " is of ", Counted(size, "stage"), ", but there are ", *fixes.pp,
                 !layers.empty() && !fixes.stage_groups.empty() ? " by pp or layers" : " by pp"));
    }
    fixes.pp = size;
  }
  return absl::OkStatus();
}

absl::Status CheckProblem(const Problem& problem) {
  MW_RETURN_IF_ERROR(CheckFixes(problem.fixes));
  const int64_t layers = problem.model.layers();
  if (layers > kMostLayers) {
    return absl::InvalidArgumentError(StrCat("models of at most ", kMostLayers,
                                             " layers are planned over groups of nodes; ",
                                             problem.model.name, " has ", layers));
  }
  return problem.profile.has_value() ? CheckProfile(problem) : absl::OkStatus();
}

}  // namespace meshwright::transformer::hetero
