// Turned round, a step of less than T leaves every place in the pipeline a most t: with W the work
// and sends of a micro-batch, P and R their parts before and behind the stage, and r = (M - 1) / (w
// + 1) rounded down,
//
//   P + M t,   W + (M - 1) t - u F   and, where r > 0,   W + (M - 1) t + r R - r w t
//
// are all less than T (schedule.h, whose passes have their sends), and so are they with the stage's
// update and without the backward part of P. So the last stages have to be quick, and the first
// ones less so. If the stages, each stage class's at the places where they have most slack, cannot
// hold all layers, no plan takes less than T. With fractions of layers fast stage classes are best
// at the places with most time. And layers that do not fit before or at a place lie behind it,
// which makes R larger, and so P.

#include <algorithm>
#include <functional>
#include <numeric>

#include "meshwright/base/infinity.h"
#include "meshwright/hetero/bounds.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr double kPlaceRounding = 1e-12;
constexpr int kPlaceRounds = 4;

}  // namespace

int64_t Bounds::MostLayers(size_t stage_class, const Place& place, int64_t behind) const {
  const LeastStage& least = least_[stage_class];
  const int64_t at = std::min(MostStages(costs_.layers()) - 1, behind);
  int64_t low = 0, high = held_[stage_class][at + 1] - held_[stage_class][at];
  while (low < high) {
    const int64_t n = (low + high + 1) / 2;
    if (place.Takes(least.both[n], least.update[n])) {
      low = n;
    } else {
      high = n - 1;
    }
  }
  return low;
}

// ... of the last or the first of the open stages, which has at most `most`; 0 too if it cannot
// even be without a layer.
int64_t Bounds::MostLayersAtEnds(size_t stage_class, int64_t i, int64_t most, int64_t layers,
                                 int64_t behind) const {
  const int64_t open = static_cast<int64_t>(places_.size());
  const int64_t in_flight = std::min(costs_.micro_batches(), behind + i + 1);
  for (int64_t n = most; n > 0; --n) {
    if (open == 1 && n < layers) return 0;
    const Cell& cell =
        costs_.CellAt(stage_class, {i == 0 ? layers - n : 0, n, i + 1 == open, behind + i == 0});
    if (cell.most_in_flight >= in_flight && places_[i].Takes(cell)) return n;
  }
  return 0;
}

// Into `room_`.
void Bounds::FindSlack(size_t stage_class, int64_t layers, int64_t behind) const {
  const int64_t open = static_cast<int64_t>(places_.size());
  const int64_t least = LeastLayersOf(open, behind);
  slack_.clear();
  for (int64_t i = 0; i < open; ++i) {
    const int64_t others = std::max<int64_t>(0, least - LeastLayers(open - 1 - i, behind + i));
    int64_t most = std::min(layers - others, MostLayers(stage_class, places_[i], behind + i));
    // Which layers the last open stage ends with is known, and with which the first begins.
    if (i == 0 || i + 1 == open) most = MostLayersAtEnds(stage_class, i, most, layers, behind);
    slack_.push_back(most);
  }
}

bool Bounds::HaveSlack(const StageCounts& stages, int64_t layers, int64_t behind) const {
  const int64_t open = static_cast<int64_t>(places_.size());
  longest_.clear();
  for (Place& place : places_) {
    longest_.push_back(place.both);
    place.most_layers = 0;
  }
  std::sort(longest_.begin(), longest_.end(), std::greater<>());
  int64_t each = 0, any = 0;
  double fractions = 0;
  size_t next = 0;
  for (const size_t stage_class : fastest_) {
    const int64_t count = stages[stage_class];
    if (count == 0) continue;
    FindSlack(stage_class, layers, behind);
    for (int64_t i = 0; i < open; ++i) {
      places_[i].most_layers = std::max(places_[i].most_layers, slack_[i]);
    }
    std::nth_element(slack_.begin(), slack_.begin() + (count - 1), slack_.end(), std::greater<>());
    each += std::accumulate(slack_.begin(), slack_.begin() + count, int64_t{0});
    for (int64_t i = 0; i < count; ++i) fractions += longest_[next++] / least_layer_[stage_class];
  }
  for (int64_t i = 0; i < open; ++i) {
    if (places_[i].most_layers < LeastLayers(open - 1 - i, behind + i)) return false;
    any += places_[i].most_layers;
  }
  constexpr double kAlmost = 1 - 1e-9;
  return each >= layers && any >= layers && fractions >= static_cast<double>(layers) * kAlmost;
}

void Bounds::SetPlaces(int64_t layers, const PipelineBound& behind, double work,
                       double cutoff) const {
  const int64_t open = static_cast<int64_t>(places_.size());
  const double tied = costs_.LeastTied(open + behind.stages());
  const double end = cutoff - costs_.fixed_seconds(), limit = end - least_update_ - tied;
  const double micro_batches = static_cast<double>(costs_.micro_batches());
  const double send = costs_.least_send();
  int64_t last = 0,
          first = 0;  // layers that places behind this one can have, and with those before
  for (const Place& place : places_) first += place.most_layers;
  for (int64_t i = 0; i < open; ++i) {
    Place& place = places_[i];
    const int64_t w = behind.stages() + i, rounds = (costs_.micro_batches() - 1) / (w + 1);
    const int64_t before_it = open - 1 - i;
    // The layers of the open stages behind are all but those that stages up to this one can have.
    const int64_t least_behind = std::max<int64_t>(0, i - (behind.stages() > 0 ? 0 : 1));
    const int64_t layers_behind = std::max(least_behind, layers - first);
    last += place.most_layers;
    first -= place.most_layers;
    const int64_t layers_before = std::max(LeastLayersOf(before_it, w + 1), layers - last);
    const double before = static_cast<double>(before_it);
    const double passes = layer_work_[layers_before] + (before > 0 ? least_embedding_ : 0);
    // Sends to the next stage and to the one before, of which the first is a part of the forward
    // pass.
    const double next_send = w > 0 ? send : 0, both_sends = next_send + (before > 0 ? send : 0);
    const double head = i > 0 && behind.stages() == 0 ? least_head_ : 0;
    const double rest = behind.sum() - behind.least_send() + layer_work_[layers] -
                        layer_work_[layers - layers_behind] + head +
                        2 * send * static_cast<double>(behind.stages() > 0 ? i + 1 : i) - next_send;
    const double u = std::min(static_cast<double>(w), micro_batches - 1), less = u * forward_share_;
    const double turns = static_cast<double>(rounds), pairs = static_cast<double>(rounds * w);
    const auto at_most = [&](double factor, double seconds) {
      if (factor > 0) place.both = std::min(place.both, seconds / factor);
    };
    const double sent = u * next_send;  // in passes that do not count
    place.both =
        (limit - passes - send * std::max(0.0, 2 * before - 1)) / micro_batches - both_sends;
    at_most(micro_batches - 1 - less, limit - work - (micro_batches - 1) * both_sends + sent);
    if (rounds > 0) {
      const double one = micro_batches - 1 - static_cast<double>(w);
      const double all = micro_batches - 1 - pairs;
      at_most(one, limit - work - rest - one * both_sends);
      at_most(all, limit - work - turns * rest - all * both_sends);
    }
    place.both *= 1 + kPlaceRounding;
    // The first stage has nothing before it, and all but itself behind.
    const bool is_first = i + 1 == open;
    const double ends =
        (end - least_forward_share_ * passes - send * before - (is_first ? tied : 0)) *
        (1 + kPlaceRounding);
    const auto whole = [&](double pairs_of_passes, double less_forward, double limit_seconds) {
      return Place::Whole{pairs_of_passes - less_forward * forward_share_,
                          limit_seconds - pairs_of_passes * both_sends + less_forward * next_send};
    };
    place.whole = {{whole(micro_batches, 0, ends), whole(micro_batches, u, ends - rest),
                    whole(micro_batches - pairs, 0, ends - (rounds > 0 ? turns + 1 : 1) * rest)}};
    if (rounds == 0) place.whole[2] = place.whole[1];
    if (is_first) {
      place.whole[1] = whole(micro_batches - 1, u, ends - work);
      if (rounds > 0)
        place.whole[2] = whole(micro_batches - 1 - pairs, 0, ends - work - turns * rest);
    }
  }
}

bool Bounds::MayBeat(const StageCounts& stages, int64_t layers, const PipelineBound& behind,
                     double cutoff) const {
  cutoff *= 1 + kPlaceRounding;
  if (Seconds(stages, layers, behind) >= cutoff) return false;
  const int64_t open = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  if (open == 0 || cutoff == kInfinity) return true;
  const double sends =
      LeastSends(stages, open, behind.stages() > 0) - behind.least_send() + behind.sum();
  places_.assign(open, Place{kInfinity, {}, layers});
  double longest = kInfinity;
  int64_t before = -1;
  // Shorter stages make for more work on slow stage classes, and for more of it elsewhere.
  for (int round = 0; round < kPlaceRounds; ++round) {
    const auto value = std::upper_bound(values_.begin(), values_.end(), longest);
    if (value == values_.begin() && layers > 0) return false;
    const size_t at = std::max<int64_t>(0, value - values_.begin() - 1);
    const double work = sends + std::max(LeastWork(layers, behind.stages()),
                                         LeastSum(stages, layers, behind.stages(), at));
    if (work >= cutoff) return false;
    SetPlaces(layers, behind, work, cutoff);
    if (!HaveSlack(stages, layers, behind.stages())) return false;
    longest = 0;
    int64_t slack = 0;
    for (const Place& place : places_) {
      longest = std::max(longest, place.both);
      slack += place.most_layers;
    }
    if (slack == before) break;
    before = slack;
  }
  return true;
}

bool Bounds::MostLayersByPlace(int64_t stages, double passes, double cutoff,
                               LayersByPlace* most) const {
  const int64_t layers = costs_.layers();
  const PipelineBound none(costs_.micro_batches());
  const double work = std::max(passes, LeastWork(layers, 0)) +
                      2 * static_cast<double>(stages - 1) * costs_.least_send();
  if (work >= cutoff) return false;
  const int64_t others = std::max<int64_t>(0, LeastLayersOf(stages, 0) - 1);
  places_.assign(stages, Place{kInfinity, {}, layers - others});
  most->resize(costs_.stage_classes());
  for (int round = 0; round < kPlaceRounds; ++round) {
    SetPlaces(layers, none, work, cutoff * (1 + kPlaceRounding));
    for (Place& place : places_) place.most_layers = 0;
    for (size_t stage_class = 0; stage_class < costs_.stage_classes(); ++stage_class) {
      std::vector<int32_t>& here = (*most)[stage_class];
      here.assign(stages, 0);
      if (costs_.slots(stage_class) == 0) continue;
      FindSlack(stage_class, layers, 0);
      for (int64_t i = 0; i < stages; ++i) {
        here[i] = static_cast<int32_t>(slack_[i]);
        places_[i].most_layers = std::max(places_[i].most_layers, slack_[i]);
      }
    }
    int64_t any = 0;
    for (int64_t i = 0; i < stages; ++i) {
      if (places_[i].most_layers < LeastLayers(stages - 1 - i, i)) return false;
      any += places_[i].most_layers;
    }
    if (any < layers) return false;
  }
  return true;
}

double Bounds::Tightened(const StageCounts& stages, double most) const {
  constexpr int kHalvings = 12;
  const PipelineBound none(costs_.micro_batches());
  double low = Seconds(stages), high = most;
  if (low >= high || !MayBeat(stages, costs_.layers(), none, high)) return std::max(low, high);
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (MayBeat(stages, costs_.layers(), none, middle) ? high : low) = middle;
  }
  return low;
}

}  // namespace meshwright::transformer::hetero
