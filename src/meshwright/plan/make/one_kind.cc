#include "meshwright/plan/make/one_kind.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "meshwright/degrees/space.h"

namespace meshwright {
namespace {

// For the search; what it found by then counts.
constexpr std::chrono::seconds kMostTime(10);

}  // namespace

std::optional<transformer::RankedConfiguration> FasterOfOneKind(
    const GroupsRequest& request, const transformer::hetero::Choice& choice) {
  const transformer::hetero::Problem& problem = request.problem;
  const bool pipelines_only = problem.profile.has_value() || problem.alike || problem.takes ||
                              !problem.fixes.stage_layers.empty() ||
                              !problem.fixes.stage_groups.empty();
  const auto used = std::count_if(choice.nodes.begin(), choice.nodes.end(),
                                  [](int64_t nodes) { return nodes > 0; });
  if (pipelines_only || used != 1) return std::nullopt;
  size_t group = 0;
  while (choice.nodes[group] == 0) ++group;
  Cluster cluster = problem.cluster.groups[group].cluster;
  cluster.nodes = choice.nodes[group];
  const transformer::Space space(problem.model, problem.workload, cluster.devices(), problem.fixes,
                                 problem.precision, cluster.devices_per_node,
                                 cluster.fabric.unit_nodes);
  const transformer::DeviceParameters device =
      transformer::BuiltinCostParameters().Device(cluster.device.measured_as());
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  const transformer::SearchResult found =
      Search(space,
             [&] {
               return transformer::CalibratedCosts(problem.model, problem.workload, cluster,
                                                   problem.framework);
             },
             {.top = 1,
              .budget_bytes = problem.Budget(group),
              .host_bytes = static_cast<int64_t>(device.host_bytes),
              .stop = [&] { return std::chrono::steady_clock::now() >= end; }});
  constexpr double kSame = 1 - 1e-9;
  if (found.best.empty() || found.best[0].seconds >= kSame * choice.seconds) return std::nullopt;
  return found.best[0];
}

}  // namespace meshwright
