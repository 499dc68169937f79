// The slowest stage takes at least the least time in which stages of these groups can take all
// layers, each as many neighbouring ones as it can in that time. A stage j that takes t of that or
// more, with w stages behind it, makes a step take at least the work of one micro-batch and (M - 1)
// t - w F (mixed_schedule.h), and M t in any case; w is less than the number of stages and F at
// most a known share of t. A larger t costs more in these terms and lets more layers lie on fast
// groups, so that the least over all t counts; every stage has at least one layer. Memory bounds
// how many layers stages hold by how many are behind them, and so have micro-batches in flight.

#include "meshwright/transformer/mixed_bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace meshwright::transformer {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

MixedBounds::MixedBounds(const MixedCosts& costs) : costs_(costs) {
  const int64_t layers = costs.layers();
  // By group and number of layers: the least time of such a stage, wherever it begins.
  std::vector<std::vector<double>> least(costs.groups(), std::vector<double>(layers + 1, kNever));
  // By layer: the least that it adds to a stage, on any group.
  std::vector<double> alone(layers, kNever);
  // By group and micro-batches in flight: the most layers of a stage, wherever it begins.
  std::vector<std::vector<int64_t>> most_held(costs.groups(), std::vector<int64_t>(layers + 1));
  least_update_ = kNever;
  for (size_t group = 0; group < costs.groups(); ++group) {
    if (costs.slots(group) == 0) continue;
    for (int64_t first = 0; first < layers; ++first) {
      for (int64_t count = 1; first + count <= layers; ++count) {
        const MixedCell& cell = costs.Cell(group, first, count);
        if (cell.most_in_flight == 0) break;
        least[group][count] = std::min(least[group][count], cell.both());
        int64_t& held = most_held[group][cell.most_in_flight];
        held = std::max(held, count);
        if (cell.both() > 0) {
          forward_share_ = std::max(forward_share_, cell.forward / cell.both());
        }
        if (count == 1) alone[first] = std::min(alone[first], cell.both());
        if (first == 0) least_update_ = std::min(least_update_, cell.update);
      }
    }
    for (int64_t count = layers; count-- > 1;) {
      least[group][count] = std::min(least[group][count], least[group][count + 1]);
    }
    for (int64_t count = 1; count <= layers; ++count) {
      if (least[group][count] < kNever) values_.push_back(least[group][count]);
    }
  }
  held_.assign(costs.groups() + 1, std::vector<int64_t>(layers + 1));
  for (std::vector<int64_t>& held : most_held) {
    for (int64_t i = layers; i-- > 1;) held[i] = std::max(held[i], held[i + 1]);
  }
  for (int64_t behind = 0; behind < layers; ++behind) {
    const int64_t in_flight = std::min(costs.micro_batches(), behind + 1);
    int64_t best = 0;
    for (size_t group = 0; group < costs.groups(); ++group) {
      held_[group][behind + 1] = held_[group][behind] + most_held[group][in_flight];
      best = std::max(best, most_held[group][in_flight]);
    }
    held_.back()[behind + 1] = held_.back()[behind] + best;
  }
  std::sort(values_.begin(), values_.end());
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
  for (size_t group = 0; group < costs.groups(); ++group) {
    std::vector<int32_t>& most = most_layers_.emplace_back();
    int32_t count = 0;
    for (const double value : values_) {
      while (count < layers && least[group][count + 1] <= value) ++count;
      most.push_back(count);
    }
  }
  least_layer_.assign(costs.groups(), kNever);
  for (size_t group = 0; group < costs.groups(); ++group) {
    if (costs.slots(group) == 0 || layers == 0) continue;
    least_layer_[group] = least[group][1];
    if (least[group][1] < kNever) fastest_.push_back(group);
  }
  std::sort(fastest_.begin(), fastest_.end(),
            [&](size_t a, size_t b) { return least_layer_[a] < least_layer_[b]; });
  least_work_.assign(layers + 1, 0);
  for (int64_t i = 0; i < layers; ++i) least_work_[i + 1] = least_work_[i] + alone[i];
}

size_t MixedBounds::LeastSlowest(const StageCounts& stages, int64_t layers) const {
  const auto enough = [&](size_t value) {
    int64_t most = 0;
    for (size_t group = 0; group < costs_.groups(); ++group) {
      most += int64_t{stages[group]} * most_layers_[group][value];
    }
    return most >= layers;
  };
  size_t low = 0, high = values_.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (enough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

bool MixedBounds::MayFit(const StageCounts& stages, int64_t layers, int64_t behind) const {
  // A group's stages hold the most if they are the last ones.
  const int64_t most = costs_.layers();
  const auto held = [&](size_t group, int64_t count) {
    const std::vector<int64_t>& sums = held_[group];
    return sums[std::min(most, behind + count)] - sums[std::min(most, behind)];
  };
  int64_t each = 0, open = 0;
  for (size_t group = 0; group < costs_.groups(); ++group) {
    each += held(group, stages[group]);
    open += stages[group];
  }
  return each >= layers && held(costs_.groups(), open) >= layers;
}

double MixedBounds::LeastSum(const StageCounts& stages, int64_t layers, size_t value) const {
  int64_t open = layers;
  double sum = 0;
  for (const size_t group : fastest_) {
    open -= stages[group];
    sum += static_cast<double>(stages[group]) * least_layer_[group];
  }
  for (const size_t group : fastest_) {
    const int64_t more = std::min(open, int64_t{stages[group]} * (most_layers_[group][value] - 1));
    if (more <= 0) continue;
    sum += static_cast<double>(more) * least_layer_[group];
    open -= more;
  }
  return sum;
}

double MixedBounds::Seconds(const StageCounts& stages, int64_t layers,
                            const PipelineBound& behind) const {
  const int64_t open = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  if (open > layers || (open == 0 && layers > 0)) return kNever;
  if (!MayFit(stages, layers, behind.stages())) return kNever;
  const double end = (open > 0 ? least_update_ : 0) + costs_.fixed_seconds();
  if (open == 0) return behind.seconds() + end;
  const size_t slowest = LeastSlowest(stages, layers);
  if (slowest == values_.size()) return kNever;
  const double t = values_[slowest];
  const int64_t all = open + behind.stages();
  // Sends between the open stages, and to the first that is decided. Each node is entered from
  // another one, but for the last stage's; one of a group may hold decided stages.
  const bool decided = behind.stages() > 0;
  const int64_t sends = decided ? open : open - 1;
  int64_t nodes = decided ? 0 : -1;
  for (size_t group = 0; group < costs_.groups(); ++group) {
    if (stages[group] == 0) continue;
    const int64_t each = costs_.stages_per_node(group);
    nodes += (stages[group] + each - 1) / each - (decided ? 1 : 0);
  }
  const double least_sends = 2 * (static_cast<double>(nodes) * costs_.least_send_between_nodes() +
                                  static_cast<double>(sends - nodes) * costs_.least_send());
  const double work = least_work_[layers];
  const double micro_batches = static_cast<double>(costs_.micro_batches());
  const double more =
      std::max(0.0, micro_batches - 1 - static_cast<double>(all - 1) * forward_share_);
  double least = kNever;
  for (size_t value = slowest; value < values_.size(); ++value) {
    if (work + more * values_[value] >= least) break;
    least =
        std::min(least, std::max(work, LeastSum(stages, layers, value)) + more * values_[value]);
  }
  double bound = std::max(work + least_sends + behind.seconds(), micro_batches * t);
  // As the first stage lets micro-batches in.
  const int64_t rounds = (costs_.micro_batches() - 1) / all + 1;
  bound =
      std::max(bound, static_cast<double>(rounds) * (LeastSum(stages, layers, values_.size() - 1) +
                                                     least_sends + behind.sum()));
  bound = std::max(bound, least + least_sends + behind.sum());
  return bound + end;
}

double MixedBounds::Estimate(const StageCounts& stages) const {
  const size_t slowest = LeastSlowest(stages, costs_.layers());
  if (slowest == values_.size()) return kNever;
  const int64_t count = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  // As if all stages were like the slowest.
  return static_cast<double>(costs_.micro_batches() + count - 1) * values_[slowest];
}

}  // namespace meshwright::transformer
