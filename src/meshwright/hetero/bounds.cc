// The slowest stage takes at least the least time in which stages of these stage classes can take
// all layers, each as many neighbouring ones as it can in that time. A stage j that takes t of that
// or more, with w stages behind it, makes a step take at least the work of one micro-batch and (M -
// 1) t - u F (schedule.h), u = min(w, M - 1), and M t in any case; w is less than the number
// of stages and F at most a known share of t. A larger t costs more in these terms and lets more
// layers lie on fast stage classes, so that the least over all t counts; every stage but the first
// and the last has at least one layer. Memory bounds how many layers stages hold by how many are
// behind them, and so have micro-batches in flight. What a step of less than T leaves each place:
// places.cc.

#include "meshwright/hetero/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace meshwright::transformer::hetero {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Ascending, each once.
void SortValues(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// By value: the most layers of a stage that takes no more, `least` being of each number of layers.
std::vector<int32_t> MostByValue(const std::vector<double>& values,
                                 const std::vector<double>& least) {
  std::vector<int32_t> most;
  size_t count = 0;
  for (const double value : values) {
    while (count + 1 < least.size() && least[count + 1] <= value) ++count;
    most.push_back(static_cast<int32_t>(count));
  }
  return most;
}

}  // namespace

Bounds::Bounds(const Costs& costs) : costs_(costs) {
  const int64_t layers = costs.layers();
  std::vector<double> alone(layers, kNever);  // by layer: the least that it adds to a stage
  // By stage class and micro-batches in flight: the most layers of a stage, wherever it begins.
  std::vector<std::vector<int64_t>> most_held(costs.stage_classes(),
                                              std::vector<int64_t>(MostStages(layers) + 1));
  ReadCells(&most_held, &alone);
  MakeHeld(&most_held);
  const double micro_batches = static_cast<double>(costs.micro_batches());
  for (LeastStage& least : least_) {
    for (int64_t count = layers; count-- > 1;) {
      least.both[count] = std::min(least.both[count], least.both[count + 1]);
      least.update[count] = std::min(least.update[count], least.update[count + 1]);
    }
    least.whole.push_back(0);
    for (int64_t count = 1; count <= layers; ++count) {
      least.whole.push_back(micro_batches * least.both[count] + least.update[count]);
      if (least.both[count] == kNever) continue;
      values_.push_back(least.both[count]);
      wholes_.push_back(least.whole[count]);
    }
  }
  SortValues(&values_);
  SortValues(&wholes_);
  for (const LeastStage& least : least_) {
    most_layers_.push_back(MostByValue(values_, least.both));
    most_of_whole_.push_back(MostByValue(wholes_, least.whole));
    least_layer_.push_back(least.both[1]);
    if (least.both[1] < kNever) fastest_.push_back(least_layer_.size() - 1);
  }
  std::sort(fastest_.begin(), fastest_.end(),
            [&](size_t a, size_t b) { return least_layer_[a] < least_layer_[b]; });
  layer_work_.assign(layers + 1, 0);
  for (int64_t i = 0; i < layers; ++i) layer_work_[i + 1] = layer_work_[i] + alone[i];
}

void Bounds::ReadCells(std::vector<std::vector<int64_t>>* most_held, std::vector<double>* alone) {
  const int64_t layers = costs_.layers();
  least_update_ = least_embedding_ = least_head_ = kNever;
  for (size_t stage_class = 0; stage_class < costs_.stage_classes(); ++stage_class) {
    LeastStage& least = least_.emplace_back();
    least.both.assign(layers + 1, kNever);
    least.update.assign(layers + 1, kNever);
    least.both[0] = least.update[0] = 0;
    if (costs_.slots(stage_class) == 0) continue;
    // Of embedding, layers and head, counted through, as the table lists them.
    for (int64_t first = 0; first < layers + 2; ++first) {
      StageContent content = {std::max<int64_t>(0, first - 1), 0, first == 0, false};
      for (int64_t last = first; last < layers + 2; ++last) {
        content.ends = last == layers + 1;
        content.layers += last > 0 && !content.ends ? 1 : 0;
        const Cell& cell = costs_.CellAt(stage_class, content);
        if (cell.most_in_flight == 0) break;
        if (cell.both() > 0) {
          forward_share_ = std::max(forward_share_, cell.forward / cell.both());
          least_forward_share_ = std::min(least_forward_share_, cell.forward / cell.both());
        }
        if (content.begins) least_update_ = std::min(least_update_, cell.update);
        const int64_t count = content.layers;
        if (count == 0) {
          double& end = content.begins ? least_embedding_ : least_head_;
          end = std::min(end, cell.both());
          continue;
        }
        least.both[count] = std::min(least.both[count], cell.both());
        least.update[count] = std::min(least.update[count], cell.update);
        int64_t& held = (*most_held)[stage_class][cell.most_in_flight];
        held = std::max(held, count);
        if (first == last) (*alone)[content.first] = std::min((*alone)[content.first], cell.both());
      }
    }
  }
}

void Bounds::MakeHeld(std::vector<std::vector<int64_t>>* most_held) {
  const int64_t layers = costs_.layers();
  const int64_t stages = MostStages(layers);
  held_.assign(costs_.stage_classes() + 1, std::vector<int64_t>(stages + 1));
  for (std::vector<int64_t>& held : *most_held) {
    for (int64_t i = stages; i-- > 1;) held[i] = std::max(held[i], held[i + 1]);
  }
  for (int64_t behind = 0; behind < stages; ++behind) {
    const int64_t in_flight = std::min(costs_.micro_batches(), behind + 1);
    int64_t best = 0;
    for (size_t stage_class = 0; stage_class < costs_.stage_classes(); ++stage_class) {
      const int64_t held = (*most_held)[stage_class][in_flight];
      held_[stage_class][behind + 1] = held_[stage_class][behind] + held;
      best = std::max(best, held);
    }
    held_.back()[behind + 1] = held_.back()[behind] + best;
  }
}

size_t Bounds::LeastEnough(const StageCounts& stages, int64_t layers, size_t values,
                           const std::vector<std::vector<int32_t>>& most_layers) const {
  const auto enough = [&](size_t value) {
    int64_t most = 0;
    for (size_t stage_class = 0; stage_class < costs_.stage_classes(); ++stage_class) {
      most += int64_t{stages[stage_class]} * most_layers[stage_class][value];
    }
    return most >= layers;
  };
  size_t low = 0, high = values;
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

bool Bounds::MayFit(const StageCounts& stages, int64_t layers, int64_t behind) const {
  // A stage class's stages hold the most if they are the last ones.
  const int64_t most = MostStages(costs_.layers());
  const auto held = [&](size_t stage_class, int64_t count) {
    const std::vector<int64_t>& sums = held_[stage_class];
    return sums[std::min(most, behind + count)] - sums[std::min(most, behind)];
  };
  int64_t each = 0, open = 0;
  for (size_t stage_class = 0; stage_class < costs_.stage_classes(); ++stage_class) {
    each += held(stage_class, stages[stage_class]);
    open += stages[stage_class];
  }
  return each >= layers && held(costs_.stage_classes(), open) >= layers;
}

double Bounds::LeastSum(const StageCounts& stages, int64_t layers, int64_t behind,
                        size_t value) const {
  // Stages without a layer are at best of the slowest stage classes.
  const int64_t all = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  int64_t with_layer = LeastLayersOf(all, behind), open = layers - with_layer;
  StageCounts taken = {};
  double sum = 0;
  for (const size_t stage_class : fastest_) {
    taken[stage_class] = std::min(stages[stage_class], static_cast<int32_t>(with_layer));
    with_layer -= taken[stage_class];
    sum += static_cast<double>(taken[stage_class]) * least_layer_[stage_class];
  }
  for (const size_t stage_class : fastest_) {
    const int64_t most = int64_t{stages[stage_class]} * most_layers_[stage_class][value];
    const int64_t more = std::min(open, most - taken[stage_class]);
    if (more <= 0) continue;
    sum += static_cast<double>(more) * least_layer_[stage_class];
    open -= more;
  }
  return sum;
}

double Bounds::LeastSends(const StageCounts& stages, int64_t open, bool decided) const {
  // Each node is entered from another one, but for the last stage's; one of a stage class may hold
  // decided stages.
  const int64_t sends = decided ? open : open - 1;
  int64_t nodes = decided ? 0 : -1;
  for (size_t stage_class = 0; stage_class < costs_.stage_classes(); ++stage_class) {
    if (stages[stage_class] == 0) continue;
    const int64_t each = costs_.stages_per_node(stage_class);
    nodes += (stages[stage_class] + each - 1) / each - (decided ? 1 : 0);
  }
  return 2 * (static_cast<double>(nodes) * costs_.least_send_between_nodes() +
              static_cast<double>(sends - nodes) * costs_.least_send());
}

double Bounds::Seconds(const StageCounts& stages, int64_t layers,
                       const PipelineBound& behind) const {
  const int64_t open = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  if (LeastLayersOf(open, behind.stages()) > layers || (open == 0 && layers > 0)) return kNever;
  if (!MayFit(stages, layers, behind.stages())) return kNever;
  const int64_t all = open + behind.stages();
  const double end =
      (open > 0 ? least_update_ + costs_.LeastTied(all) : 0) + costs_.fixed_seconds();
  if (open == 0) return std::max(behind.seconds() + end, behind.end_seconds() + end);
  const size_t slowest = LeastSlowest(stages, layers);
  if (slowest == values_.size()) return kNever;
  const double t = values_[slowest];
  const double least_sends = LeastSends(stages, open, behind.stages() > 0) - behind.least_send();
  const double work = LeastWork(layers, behind.stages());
  const double micro_batches = static_cast<double>(costs_.micro_batches());
  const double more =
      micro_batches - 1 -
      static_cast<double>(std::min(all, costs_.micro_batches()) - 1) * forward_share_;
  double least = kNever;
  for (size_t value = slowest; value < values_.size(); ++value) {
    if (work + more * values_[value] >= least) break;
    least = std::min(least, std::max(work, LeastSum(stages, layers, behind.stages(), value)) +
                                more * values_[value]);
  }
  // A stage sends to a neighbour at least once a micro-batch.
  const double send = all > 1 ? costs_.least_send() : 0;
  double bound = std::max(work + least_sends + behind.seconds(), micro_batches * (t + send));
  // As the first stage lets micro-batches in.
  const int64_t rounds = (costs_.micro_batches() - 1) / all + 1;
  bound = std::max(bound, static_cast<double>(rounds) *
                              (LeastSum(stages, layers, behind.stages(), values_.size() - 1) +
                               least_sends + behind.sum()));
  const double waits = micro_batches - static_cast<double>(std::min(all, costs_.micro_batches()));
  bound = std::max(bound, least + waits * send + least_sends + behind.sum());
  // Updates that end later than the first stage's.
  const size_t longest = LeastLongest(stages, layers);
  const double forward = least_forward_share_ * work + least_sends / 2;
  const double ends =
      std::max(longest < wholes_.size() ? wholes_[longest] + micro_batches * send : kNever,
               behind.stages() > 0 ? forward + behind.end_seconds() : 0);
  return std::max(bound + end, ends + costs_.fixed_seconds());
}

double Bounds::Estimate(const StageCounts& stages) const {
  const size_t slowest = LeastSlowest(stages, costs_.layers());
  if (slowest == values_.size()) return kNever;
  const int64_t count = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  const size_t longest = LeastLongest(stages, costs_.layers());
  if (longest == wholes_.size()) return kNever;
  // As if all stages were like the slowest.
  const double sends =
      static_cast<double>(costs_.micro_batches() * std::min<int64_t>(count - 1, 2));
  return wholes_[longest] + static_cast<double>(count - 1) * values_[slowest] +
         sends * costs_.least_send();
}

}  // namespace meshwright::transformer::hetero
