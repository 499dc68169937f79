#include "meshwright/export/nearest_plan.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/space.h"
#include "meshwright/degrees/step_cost.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::Precision;

struct Decision {
  const char* name;
  int64_t (*value)(const Configuration& c);
  bool is_degree;  // counts in powers of two
};

constexpr std::array<Decision, 24> kDecisions = {{
    {"tp", [](const Configuration& c) { return c.tp; }, true},
    {"sp", [](const Configuration& c) { return int64_t{c.sequence_parallel}; }, false},
    {"tp2", [](const Configuration& c) { return c.tp2; }, true},
    {"cp", [](const Configuration& c) { return c.cp; }, true},
    {"context", [](const Configuration& c) { return static_cast<int64_t>(c.context); }, false},
    {"dp", [](const Configuration& c) { return c.dp; }, true},
    {"pp", [](const Configuration& c) { return c.pp; }, true},
    {"vp", [](const Configuration& c) { return c.virtual_stages; }, true},
    {"schedule", [](const Configuration& c) { return static_cast<int64_t>(c.schedule); }, false},
    {"ends", [](const Configuration& c) { return int64_t{c.ends_as_layers}; }, false},
    {"ep", [](const Configuration& c) { return c.ep; }, true},
    {"etp", [](const Configuration& c) { return c.etp; }, true},
    {"mbs", [](const Configuration& c) { return c.micro_batch; }, true},
    {"zero", [](const Configuration& c) { return int64_t{c.zero}; }, false},
    {"shard", [](const Configuration& c) { return c.shard; }, false},
    {"recompute", [](const Configuration& c) { return static_cast<int64_t>(c.recompute); }, false},
    {"recompute_layers", [](const Configuration& c) { return c.recompute_layers; }, false},
    {"recompute_stages", [](const Configuration& c) { return c.recompute_stages; }, false},
    {"place", [](const Configuration& c) { return int64_t{!c.inside.in_order()}; }, false},
    {"offload_optimizer", [](const Configuration& c) { return int64_t{c.offload_optimizer}; },
     false},
    {"offload_percent", [](const Configuration& c) { return c.offload_percent; }, false},
    {"offload_activations", [](const Configuration& c) { return int64_t{c.offload_activations}; },
     false},
    {"offload_layers", [](const Configuration& c) { return c.offload_layers; }, false},
    {"precision", [](const Configuration& c) { return static_cast<int64_t>(c.precision); }, false},
}};

// Number of decisions that differ, and by how much.
std::pair<int, double> DistanceOf(const Configuration& a, const Configuration& b) {
  int decisions = 0;
  double powers = 0;
  for (const Decision& decision : kDecisions) {
    const int64_t x = decision.value(a), y = decision.value(b);
    if (x == y) continue;
    ++decisions;
    powers += decision.is_degree
                  ? std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)))
                  : std::abs(static_cast<double>(x - y));
  }
  return {decisions, powers};
}

// As the user writes it in --fix.
std::string DecisionText(const Decision& decision, const Configuration& c) {
  if (std::string_view(decision.name) == "precision")
    return std::string(PrecisionName(c.precision));
  return transformer::FixValue(c, decision.name);
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

}  // namespace

std::string ChangesText(const Configuration& from, const Configuration& to) {
  std::string text;
  for (const Decision& decision : kDecisions) {
    if (decision.value(from) == decision.value(to)) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", decision.name, " ",
                    DecisionText(decision, from), " -> ", DecisionText(decision, to));
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
  transformer::StepCoster coster(launch.model, launch.workload, cluster);
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
