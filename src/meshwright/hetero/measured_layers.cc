#include "meshwright/hetero/measured_layers.h"

#include <algorithm>
#include <string>

#include "meshwright/degrees/step_cost.h"

namespace meshwright::transformer::hetero {
namespace {

// What the profile calls the group's devices: by the group's name, where it has that.
const std::string& MeasuredName(const Problem& problem, size_t group) {
  const NodeGroup& nodes = problem.cluster.groups[group];
  const bool by_name = problem.profile->NearestDegree(nodes.name, 1) > 0;
  return by_name ? nodes.name : nodes.cluster.device.name;
}

// Of both passes of all entries.
double ProfileSeconds(const LayerProfile& profile, const std::string& device,
                      const StageDegrees& degrees) {
  double seconds = 0;
  const auto layers = profile.Find(device, degrees.tp, degrees.micro_batch);
  for (const LayerTime& layer : *layers) seconds += layer.forward + layer.backward;
  return seconds;
}

// ... by the model.
double ModelSeconds(const Problem& problem, const CostParameters& parameters, size_t group,
                    const StageDegrees& degrees) {
  Cluster cluster = problem.cluster.groups[group].cluster;
  cluster.nodes = std::max<int64_t>(1, degrees.devices() / cluster.devices_per_node);
  StepCoster coster(problem.model, problem.workload, cluster, parameters, problem.framework);
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

MeasuredLayers FindMeasured(const Problem& problem, const CostParameters& parameters, size_t group,
                            const StageDegrees& degrees) {
  const LayerProfile& profile = *problem.profile;
  const std::string& device = MeasuredName(problem, group);
  MeasuredLayers found;
  found.times = profile.Find(device, degrees.tp, degrees.micro_batch);
  found.nearest_tp = profile.NearestDegree(device, degrees.tp);
  if (found.times.has_value() || found.nearest_tp == 0) return found;
  StageDegrees measured = degrees;
  measured.tp = found.nearest_tp;
  found.scale = ProfileSeconds(profile, device, measured) /
                ModelSeconds(problem, parameters, group, measured);
  return found;
}

std::optional<Extrapolation> FindExtrapolation(const Problem& problem, size_t group,
                                               const StageDegrees& degrees) {
  if (!problem.profile.has_value()) return std::nullopt;
  const LayerProfile& profile = *problem.profile;
  const std::string& device = MeasuredName(problem, group);
  // Of a degree that was not measured the nearest one's micro-batches count.
  StageDegrees at = degrees;
  if (!profile.Find(device, degrees.tp, 1).has_value())
    at.tp = profile.NearestDegree(device, degrees.tp);
  if (at.tp == 0) return std::nullopt;
  StageDegrees measured = at;
  measured.micro_batch = profile.MostMeasured(device, at.tp);
  if (measured.micro_batch >= degrees.micro_batch) return std::nullopt;
  Extrapolation found;
  found.measured = measured.micro_batch;
  found.times = ProfileSeconds(profile, device, at) / ProfileSeconds(profile, device, measured);
  const auto model_seconds = [&](const StageDegrees& one) {
    return ModelSeconds(problem, BuiltinCostParameters(), group, one);
  };
  found.model_times = model_seconds(at) / model_seconds(measured);
  return found;
}

}  // namespace meshwright::transformer::hetero
