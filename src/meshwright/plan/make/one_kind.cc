#include "meshwright/plan/make/one_kind.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "meshwright/degrees/space.h"

namespace meshwright {
namespace {

// Configurations whose figures the search may work out: some seconds of work.
constexpr int64_t kMostFigures = 2'000'000;

}  // namespace

std::optional<transformer::RankedConfiguration> FasterOfOneKind(
    const GroupsRequest& request, const transformer::hetero::Choice& choice,
    const std::function<bool()>& stop) {
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
  // What is worked out at the same time does not ask whether to stop, so that the count is the same
  // on every machine whenever it is looked at.
  std::atomic<int64_t> figures = 0;
  const transformer::SearchResult found =
      Search(space,
             [&] {
               transformer::CostFunctions costs = transformer::CalibratedCosts(
                   problem.model, problem.workload, cluster, problem.framework);
               costs.figures = [&figures, of = std::move(costs.figures)](
                                   const transformer::Configuration& configuration) {
                 ++figures;
                 return of(configuration);
               };
               return costs;
             },
             {.top = 1,
              .budget_bytes = problem.Budget(group),
              .host_bytes = static_cast<int64_t>(device.host_bytes),
              .stop = [&] { return figures >= kMostFigures || stop(); }});
  constexpr double kSame = 1 - 1e-9;
  if (found.best.empty() || found.best[0].seconds >= kSame * choice.seconds) return std::nullopt;
  return found.best[0];
}

}  // namespace meshwright
