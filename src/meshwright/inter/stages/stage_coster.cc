#include "meshwright/inter/stages/stage_coster.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/infinity.h"

namespace meshwright {
namespace {

LayerSums SumLayers(const std::vector<int32_t>& kinds, const std::vector<SliceCost>& costs) {
  LayerSums sums;
  sums.before.emplace_back();
  sums.impossible.push_back(0);
  for (int32_t kind : kinds) {
    const SliceCost& layer = costs[kind];
    SliceCost sum = sums.before.back();
    const bool possible = layer.forward >= 0;
    if (possible) {
      sum.forward += layer.forward;
      sum.backward += layer.backward;
      sum.weight_gradient += layer.weight_gradient;
      sum.update += layer.update;
      sum.state_bytes += layer.state_bytes;
      sum.in_flight_bytes += layer.in_flight_bytes;
      sum.input_bytes += layer.input_bytes;
    }
    sums.before.push_back(sum);
    sums.impossible.push_back(sums.impossible.back() + (possible ? 0 : 1));
  }
  return sums;
}

SliceCost Difference(const SliceCost& end, const SliceCost& begin) {
  SliceCost sum;
  sum.forward = end.forward - begin.forward;
  sum.backward = end.backward - begin.backward;
  sum.weight_gradient = end.weight_gradient - begin.weight_gradient;
  sum.update = end.update - begin.update;
  sum.state_bytes = end.state_bytes - begin.state_bytes;
  sum.in_flight_bytes = end.in_flight_bytes - begin.in_flight_bytes;
  sum.input_bytes = end.input_bytes - begin.input_bytes;
  return sum;
}

// What fits with all micro-batches in flight need not take less memory than others.
class Domination {
 public:
  Domination(int64_t micro_batches, int64_t memory_bytes)
      : micro_batches_(micro_batches), memory_bytes_(memory_bytes) {}

  std::vector<StageVariant> Undominated(const std::vector<StageVariant>& options) const {
    std::vector<StageVariant> kept;
    for (const StageVariant& option : options) {
      const auto dominates = [&](const StageVariant& k) {
        return Dominates(k.stage, option.stage);
      };
      if (std::any_of(kept.begin(), kept.end(), dominates)) continue;
      kept.erase(
          std::remove_if(kept.begin(), kept.end(),
                         [&](const StageVariant& k) { return Dominates(option.stage, k.stage); }),
          kept.end());
      kept.push_back(option);
    }
    return kept;
  }

 private:
  bool AlwaysFits(const StageOption& option) const {
    return option.fixed_bytes + micro_batches_ * option.bytes_in_flight <= memory_bytes_;
  }
  bool Dominates(const StageOption& a, const StageOption& b) const {
    return a.seconds <= b.seconds && a.once_seconds <= b.once_seconds &&
           (AlwaysFits(a) ||
            (a.fixed_bytes <= b.fixed_bytes && a.bytes_in_flight <= b.bytes_in_flight));
  }

  const int64_t micro_batches_, memory_bytes_;
};

}  // namespace

SliceCost Recomputed(SliceCost cost) {
  cost.backward += cost.forward;
  cost.working_bytes += cost.in_flight_bytes - cost.input_bytes;
  cost.in_flight_bytes = cost.input_bytes;
  return cost;
}

LayerTable Beside(const LayerTable& table) {
  LayerTable overlapped;
  overlapped.micro_batches = table.micro_batches;
  overlapped.kinds = table.kinds;
  overlapped.costs = table.costs;
  for (std::vector<std::optional<MeshCosts>>& meshes : overlapped.costs) {
    for (std::optional<MeshCosts>& costs : meshes) {
      if (!costs.has_value()) continue;
      costs->variants = costs->overlapped;
      for (size_t k = 0; k < costs->variants.size(); ++k) {
        costs->bound[k] = kInfinity;
        for (const SliceCost& cost : costs->variants[k]) {
          if (cost.forward < 0) continue;
          costs->bound[k] = std::min(costs->bound[k], cost.forward + cost.backward);
        }
      }
    }
  }
  return overlapped;
}

StageCoster::StageCoster(const Layers& layers, const std::vector<Submesh>& submeshes,
                         const PipelineRequest& request)
    : layers_(layers), submeshes_(submeshes), request_(request) {
  const std::vector<int32_t>& kinds = layers_.kind;
  run_end_.assign(kinds.size(), static_cast<int32_t>(kinds.size()));
  for (size_t l = kinds.size(); l-- > 1;) {
    run_end_[l - 1] = kinds[l - 1] == kinds[l] ? run_end_[l] : static_cast<int32_t>(l);
  }
}

bool StageCoster::Sum(LayerTable* table) const {
  const std::vector<int32_t>& kinds = layers_.kind;
  bool any = false;
  table->sums.resize(submeshes_.size());
  table->bounds_before.resize(submeshes_.size());
  for (size_t s = 0; s < submeshes_.size(); ++s) {
    table->sums[s].resize(table->costs[s].size());
    table->bounds_before[s].resize(table->costs[s].size());
    for (size_t m = 0; m < table->costs[s].size(); ++m) {
      const std::optional<MeshCosts>& costs = table->costs[s][m];
      if (!costs.has_value()) continue;
      any = true;
      for (size_t w = 0; w < costs->layouts.size(); ++w) {
        std::vector<SliceCost> kept, recomputed;
        for (const std::vector<SliceCost>& variants : costs->variants) {
          kept.push_back(variants[w]);
          recomputed.push_back(variants[w].forward < 0 ? variants[w] : Recomputed(variants[w]));
        }
        table->sums[s][m].push_back(SumLayers(kinds, kept));
        table->sums[s][m].push_back(SumLayers(kinds, recomputed));
      }
      std::vector<double>& bounds = table->bounds_before[s][m];
      bounds.push_back(0);
      for (int32_t kind : kinds) bounds.push_back(bounds.back() + costs->bound[kind]);
    }
  }
  return any;
}

double StageCoster::SendSeconds(const Submesh& submesh, int64_t bytes) const {
  const Cluster& cluster = request_.clusters[submesh.cluster];
  const bool inside = submesh.devices() * 2 <= cluster.devices_per_node ||
                      (cluster.nodes == 1 && request_.clusters.size() == 1);
  const Link& link = inside ? cluster.intra_node : cluster.inter_node;
  return bytes == 0 ? 0 : link.latency_seconds + static_cast<double>(bytes) / link.achievable();
}

StageTimes StageCoster::TimesOf(const Submesh& submesh, const SliceCost& cost,
                                const ScheduleKind& schedule) const {
  StageTimes times;
  times.forward = cost.forward;
  times.backward = cost.backward;
  times.weight_gradient = schedule.splits_backward ? cost.weight_gradient : 0;
  times.update = cost.update;
  times.send_forward = SendSeconds(submesh, cost.activation_bytes);
  times.send_backward = SendSeconds(submesh, cost.gradient_bytes);
  times.fixed_bytes = cost.state_bytes + cost.working_bytes;
  times.bytes_in_flight = cost.in_flight_bytes;
  return times;
}

SliceCost StageCoster::SumOf(const LayerTable& table, int32_t begin, int32_t end, size_t submesh,
                             size_t mesh, size_t variant, bool recompute) const {
  const LayerSums& sums = table.sums[submesh][mesh][variant * 2 + (recompute ? 1 : 0)];
  if (sums.impossible[end] > sums.impossible[begin]) return {.forward = -1};
  const MeshCosts& costs = *table.costs[submesh][mesh];
  const std::vector<int32_t>& kinds = layers_.kind;
  SliceCost sum = Difference(sums.before[end], sums.before[begin]);
  for (int32_t l = begin; l < end; l = run_end_[l]) {
    const SliceCost& layer = costs.variants[kinds[l]][variant];
    const int64_t working = recompute ? Recomputed(layer).working_bytes : layer.working_bytes;
    sum.working_bytes = std::max(sum.working_bytes, working);
  }
  sum.activation_bytes = costs.variants[kinds[end - 1]][variant].activation_bytes;
  sum.gradient_bytes = costs.variants[kinds[begin]][variant].gradient_bytes;
  return sum;
}

std::vector<StageVariant> StageCoster::OptionsOf(const LayerTable& table, int32_t begin,
                                                 int32_t end, int32_t submesh, int32_t mesh,
                                                 int64_t chunks) const {
  std::vector<StageVariant> options;
  const int64_t memory = request_.memory_bytes[submeshes_[submesh].cluster];
  for (size_t m = 0; m < table.costs[submesh].size(); ++m) {
    if (mesh != kAnyMesh && static_cast<size_t>(mesh) != m) continue;
    if (!table.costs[submesh][m].has_value()) continue;
    for (size_t w = 0; w < table.costs[submesh][m]->layouts.size(); ++w) {
      for (const bool recompute : {false, true}) {
        if (recompute && !request_.recompute) continue;
        StageVariant option{.mesh = static_cast<int32_t>(m),
                            .variant = static_cast<int32_t>(w),
                            .recompute = recompute,
                            .cost = SumOf(table, begin, end, submesh, m, w, recompute),
                            .stage = {}};
        const SliceCost& cost = option.cost;
        if (cost.forward < 0) continue;
        const Submesh& devices = submeshes_[submesh];
        option.stage = {
            .seconds = cost.forward + cost.backward + SendSeconds(devices, cost.activation_bytes) +
                       SendSeconds(devices, cost.gradient_bytes),
            .backward_seconds = cost.backward + SendSeconds(devices, cost.gradient_bytes),
            .once_seconds = cost.update,
            .fixed_bytes = cost.state_bytes + cost.working_bytes,
            .bytes_in_flight = cost.in_flight_bytes};
        if (option.stage.fixed_bytes + option.stage.bytes_in_flight > memory) continue;
        options.push_back(option);
      }
    }
  }
  return Domination(table.micro_batches, memory / chunks).Undominated(options);
}

}  // namespace meshwright
