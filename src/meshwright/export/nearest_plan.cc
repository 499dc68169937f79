#include "meshwright/export/nearest_plan.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/degrees/space.h"
#include "meshwright/degrees/step_cost.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::Degree;
using transformer::Precision;

// Whether configurations differ by this one: of placements it counts whether there is one, and the
// panels of a grid go with it.
bool IsDecision(const Degree& degree) {
  if (degree.name.empty()) return degree.key == "place";
  return degree.name.find('.') == std::string_view::npos && degree.key != "panels";
}

// Number of decisions that differ, and by how much.
std::pair<int, double> DistanceOf(const Configuration& a, const Configuration& b) {
  int decisions = 0;
  double powers = 0;
  for (const Degree& degree : transformer::DegreeTable()) {
    const int64_t x = degree.value(a), y = degree.value(b);
    if (x == y || !IsDecision(degree)) continue;
    ++decisions;
    const bool in_powers = degree.words.empty() && degree.least == 1;
    powers += in_powers ? std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)))
                        : std::abs(static_cast<double>(x - y));
  }
  return {decisions, powers};
}

// The GPUs of a launch, to see what fits: memory does not depend on their speed and links, which a
// plan does not have.
Cluster ClusterForMemory(const ModelLaunch& launch) {
  Cluster cluster;
  const DeviceType* const builtin = FindDevice(launch.device);
  cluster.device = builtin != nullptr ? *builtin : BuiltinDevices().front();
  cluster.device.name = launch.device;
  cluster.nodes = launch.nodes;
  cluster.devices_per_node = launch.devices_per_node;
  cluster.intra_node = cluster.device.intra_node;
  cluster.inter_node = cluster.device.inter_node;
  return cluster;
}

// As the command that plans what is nearest runs it: PlanAgainText.
transformer::ChosenFramework FrameworkOf(const ModelLaunch& launch, const ExportTarget& target) {
  transformer::ChosenFramework chosen;
  if (transformer::FindFramework(target.name) != nullptr)
    chosen = transformer::ChooseFramework(target.name, "", launch.model).value_or(chosen);
  if (target.writes_state) chosen.state = launch.state;
  return chosen;
}

}  // namespace

std::string ChangesText(const Configuration& from, const Configuration& to) {
  std::string text;
  for (const Degree& degree : transformer::DegreeTable()) {
    const int64_t before = degree.value(from), after = degree.value(to);
    if (before == after || !IsDecision(degree)) continue;
    StrAppend(&text, text.empty() ? "" : ", ", degree.key.empty() ? degree.name : degree.key, " ",
              ValueText(degree, before), " -> ", ValueText(degree, after));
  }
  return text;
}

std::optional<Configuration> NearestExpressible(const ModelLaunch& launch,
                                                const ExportTarget& target,
                                                const NearestOptions& options) {
  std::optional<Configuration> nearest;
  std::tuple<bool, int, double> least;
  const Configuration& wanted = launch.configuration;
  const Cluster cluster = ClusterForMemory(launch);
  transformer::StepCoster coster(launch.model, launch.workload, cluster,
                                 transformer::BuiltinCostParameters(), FrameworkOf(launch, target));
  const int64_t host_bytes =
      static_cast<int64_t>(transformer::BuiltinCostParameters().Device(launch.device).host_bytes);
  const auto fits = [&](const Configuration& c) {
    const transformer::StepFigures figures = coster.Figures(c);
    return figures.host_bytes <= host_bytes &&
           (!launch.budget_bytes.has_value() || figures.peak_bytes <= *launch.budget_bytes);
  };
  const auto visit = [&](const Configuration& c) {
    const auto [decisions, powers] = DistanceOf(wanted, c);
    const bool needs_script =
        !options.has_script && target.needs_script != nullptr && target.needs_script(launch, c);
    const std::tuple<bool, int, double> distance = {needs_script, decisions, powers};
    if (nearest.has_value() && distance >= least) return;
    Findings findings(/*wording=*/false);
    target.check_configuration(launch, c, findings);
    if (!findings.ok() || (options.has_to_fit && !fits(c))) return;
    nearest = c;
    least = distance;
  };
  const auto search = [&](Precision precision, transformer::ContextKind context, bool offload) {
    transformer::Fixes fixes;
    fixes.context = context;
    fixes = transformer::LaunchableFixes(fixes);
    if (offload) {
      fixes.offload_optimizer = wanted.offload_optimizer;
      fixes.offload_activations = wanted.offload_activations;
      fixes.offload_percent = wanted.offload_percent;
      fixes.offload_layers = wanted.offload_layers;
    }
    if (wanted.recompute_layers == 0) fixes.recompute_layers = 0;
    const transformer::Space space(launch.model, launch.workload,
                                   launch.nodes * launch.devices_per_node, fixes, precision);
    space.ForEach(visit);
  };
  std::set<Precision> precisions = {wanted.precision, Precision::kBf16};
  std::set<transformer::ContextKind> contexts = {wanted.context, transformer::ContextKind::kRing};
  for (const Precision precision : precisions) {
    for (const transformer::ContextKind context : contexts) {
      for (const bool offload : {true, false}) {
        if (offload && !wanted.offload_optimizer && !wanted.offload_activations) continue;
        search(precision, context, offload);
      }
    }
  }
  return nearest;
}

}  // namespace meshwright
