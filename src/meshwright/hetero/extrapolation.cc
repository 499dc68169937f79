#include "meshwright/hetero/extrapolation.h"

#include <algorithm>
#include <string>

#include "meshwright/degrees/step_cost.h"

namespace meshwright::transformer::hetero {
namespace {

// Of both passes of all layers.
double ProfileSeconds(const LayerProfile& profile, const std::string& device,
                      const StageDegrees& degrees) {
  double seconds = 0;
  const auto layers = profile.Find(device, degrees.tp, degrees.micro_batch);
  for (const LayerTime& layer : *layers) seconds += layer.forward + layer.backward;
  return seconds;
}

double ModelSeconds(const Problem& problem, const Cluster& cluster, const StageDegrees& degrees) {
  StepCoster coster(problem.model, problem.workload, cluster);
  const AllBlockCosts blocks = coster.AllBlocks(StageConfiguration(problem, degrees, Family()));
  double seconds = 0;
  size_t first = 0;
  for (const Stack& stack : problem.model.stacks) {
    for (const int32_t kind : stack.layers) seconds += blocks.layers[first + kind][0].total();
    first += stack.kinds.size();
  }
  return seconds + blocks.embedding[0].total() + blocks.head[0].total();
}

}  // namespace

std::optional<Extrapolation> FindExtrapolation(const Problem& problem, size_t group,
                                               const StageDegrees& degrees) {
  if (!problem.profile.has_value()) return std::nullopt;
  const NodeGroup& nodes = problem.cluster.groups[group];
  const LayerProfile& profile = *problem.profile;
  const bool by_name = profile.Find(nodes.name, degrees.tp, degrees.micro_batch).has_value();
  const std::string& device = by_name ? nodes.name : nodes.cluster.device.name;
  StageDegrees measured = degrees;
  measured.micro_batch = profile.MostMeasured(device, degrees.tp);
  if (measured.micro_batch == 0 || measured.micro_batch >= degrees.micro_batch) return std::nullopt;
  Cluster stage = nodes.cluster;
  stage.nodes = std::max<int64_t>(1, degrees.devices() / stage.devices_per_node);
  Extrapolation found;
  found.measured = measured.micro_batch;
  found.times =
      ProfileSeconds(profile, device, degrees) / ProfileSeconds(profile, device, measured);
  found.model_times =
      ModelSeconds(problem, stage, degrees) / ModelSeconds(problem, stage, measured);
  return found;
}

}  // namespace meshwright::transformer::hetero
