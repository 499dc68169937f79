#include "meshwright/hetero/states.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "meshwright/base/infinity.h"

namespace meshwright::transformer {
namespace {

constexpr int64_t kFamilyShare = 30;  // a family has at most one of so many parts of the effort
constexpr int64_t kLeastFamilyEffort = 100'000;
constexpr size_t kMostFamilyStates = 1024;

}  // namespace

// What a layer costs on a lane at least, for each micro-batch.
double MixedStateLister::LayerDollars(size_t lane) const {
  const double seconds = at_.bounds->LeastLayer(lane);
  if (seconds == kInfinity) return kInfinity;
  const MixedFamily& family = at_.record->family;
  return seconds *
         LeastStagePrice(problem_.cluster.groups[family.Group(lane)], family.degrees[lane]) / 3600;
}

// Stages that a lane has room for beside those of its group's other lanes.
int64_t MixedStateLister::Room(const StageCounts& stages, size_t lane) const {
  const MixedCosts& costs = *at_.costs;
  int64_t left = costs.GroupNodes(costs.Group(lane));
  for (size_t other = 0; other < costs.lanes(); ++other) {
    if (other == lane || costs.Group(other) != costs.Group(lane)) continue;
    left -= costs.Nodes(other, stages[other]);
  }
  return costs.SlotsOn(lane, left);
}

std::vector<MixedState> MixedStateLister::Promising(const MixedAtHand& family) {
  at_ = family;
  listed_.clear();
  const MixedCosts& costs = *at_.costs;
  const bool by_stage = at_.record->family.ByStage();
  for (const auto& [cheapest, halves] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    if (halves && !by_stage) continue;
    std::vector<size_t> lanes(costs.lanes());
    std::iota(lanes.begin(), lanes.end(), size_t{0});
    const auto value = [&](size_t lane) {
      return cheapest ? LayerDollars(lane) : at_.bounds->LeastLayer(lane);
    };
    std::stable_sort(lanes.begin(), lanes.end(),
                     [&](size_t a, size_t b) { return value(a) < value(b); });
    MixedState state;
    state.family = at_.index;
    int64_t count = 0;
    for (const size_t lane : lanes) {
      if (at_.record->all_lanes && costs.slots(lane) > 0) {
        state.stages[lane] = 1;
        ++count;
      }
    }
    std::vector<size_t> seen;  // groups
    for (const size_t lane : lanes) {
      int64_t room = Room(state.stages, lane);
      // Of two lanes that share nodes, the first has all that it can, or half.
      const size_t group = costs.Group(lane);
      if (halves && std::find(seen.begin(), seen.end(), group) == seen.end()) {
        room = std::max<int64_t>(state.stages[lane],
                                 std::min(room, costs.SlotsOn(lane, costs.GroupNodes(group) / 2)));
      }
      seen.push_back(group);
      for (int64_t n = state.stages[lane] + 1; n <= room; ++n) {
        if (count >= costs.layers()) break;
        ++count;
        state.stages[lane] = static_cast<int32_t>(n);
        Add(&state);
      }
    }
  }
  return std::move(listed_);
}

std::vector<MixedState> MixedStateLister::All(const MixedAtHand& family) {
  at_ = family;
  listed_.clear();
  MixedState state;
  state.family = at_.index;
  least_layer_dollars_ = kInfinity;
  order_.clear();
  for (size_t lane = 0; lane < at_.costs->lanes(); ++lane) {
    least_layer_dollars_ = std::min(least_layer_dollars_, LayerDollars(lane));
    order_.push_back(lane);
  }
  // Where the effort does not suffice, what lies on the cheapest lanes alone comes first.
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return LayerDollars(a) > LayerDollars(b); });
  family_effort_ = 0;
  Decide(0, at_.costs->layers(), 0, &state);
  effort_ += family_effort_;
  states_ += static_cast<int64_t>(listed_.size());
  std::stable_sort(listed_.begin(), listed_.end(),
                   [&](const MixedState& a, const MixedState& b) { return Before(a, b); });
  for (size_t i = kMostFamilyStates; i < listed_.size(); ++i) {
    ledger_.LeaveOpen(listed_[i].bound, listed_[i].least_dollars());
  }
  listed_.resize(std::min(listed_.size(), kMostFamilyStates));
  return std::move(listed_);
}

bool MixedStateLister::Before(const MixedState& a, const MixedState& b) const {
  const double rate = ledger_.by_cost() ? a.dollars_per_hour : 1,
               other_rate = ledger_.by_cost() ? b.dollars_per_hour : 1;
  return std::pair(a.estimate * rate, a.estimate) < std::pair(b.estimate * other_rate, b.estimate);
}

// Decides the lanes from order_[index] on; `open` stages may follow. `dollars` is what layers that
// have to lie on the lanes so far cost more than on the cheapest, for each micro-batch.
void MixedStateLister::Decide(size_t index, int64_t open, double dollars, MixedState* state) {
  if (index == order_.size()) return Add(state);
  const size_t lane = order_[index];
  const int64_t room = Room(state->stages, lane), most = std::min(open, room);
  const int64_t least = at_.record->all_lanes && at_.costs->slots(lane) > 0 ? 1 : 0;
  for (int64_t i = least; i <= most; ++i) {
    // What is fast comes first, or what is cheap.
    const int64_t n = options_.objective == MixedObjective::kTime ? most - (i - least) : i;
    if (++family_effort_ > std::max(options_.state_effort / kFamilyShare, kLeastFamilyEffort)) {
      ledger_.LeaveOpen(at_.record->seconds, at_.record->dollars);
      break;
    }
    const double more =
        n == 0 ? dollars
               : dollars + static_cast<double>(n) * (LayerDollars(lane) - least_layer_dollars_);
    state->stages[lane] = static_cast<int32_t>(n);
    SetPrice(state);
    if (!ledger_.recording() && !AnyUse(index, open - n, more, *state)) {
      ledger_.LeaveOut(at_.record->seconds);
      continue;
    }
    Decide(index + 1, open - n, more, state);
  }
  state->stages[lane] = 0;
}

void MixedStateLister::SetPrice(MixedState* state) const {
  const MixedCosts& costs = *at_.costs;
  state->nodes.assign(costs.groups(), 0);
  for (size_t lane = 0; lane < costs.lanes(); ++lane) {
    state->nodes[costs.Group(lane)] += costs.Nodes(lane, state->stages[lane]);
  }
  state->dollars_per_hour = 0;
  if (!priced_) return;
  for (size_t group = 0; group < costs.groups(); ++group) {
    state->dollars_per_hour += *PricePerHour(problem_.cluster.groups[group], state->nodes[group]);
  }
}

// Whether the state can be of use if all lanes behind have all the stages they can.
bool MixedStateLister::AnyUse(size_t index, int64_t open, double dollars,
                              const MixedState& state) const {
  StageCounts stages = state.stages;
  for (size_t i = index + 1; i < order_.size(); ++i) {
    stages[order_[i]] = static_cast<int32_t>(std::min(open, Room(state.stages, order_[i])));
  }
  if (!at_.bounds->MayFit(stages, at_.costs->layers(), 0)) return false;
  const size_t slowest = at_.bounds->LeastSlowest(stages, at_.costs->layers());
  if (slowest == at_.bounds->values().size()) return false;
  const double micro_batches = static_cast<double>(at_.costs->micro_batches());
  const double seconds = micro_batches * at_.bounds->values()[slowest];
  if (!ledger_.Open(seconds, state.dollars_per_hour)) return false;
  // Each stage has a layer at least, and the others cost what they cost at least.
  const double all =
      micro_batches * (static_cast<double>(at_.costs->layers()) * least_layer_dollars_ + dollars);
  return ledger_.Useful(seconds, all * (1 - kMixedBoundRounding));
}

void MixedStateLister::Add(MixedState* state) {
  const int64_t count = std::accumulate(state->stages.begin(), state->stages.end(), int64_t{0});
  if (count == 0 || problem_.fixes.pp.value_or(count) != count) return;
  state->bound = at_.bounds->Seconds(state->stages);
  if (state->bound == kInfinity) return;
  SetPrice(state);
  if (ledger_.pareto()) ledger_.RecordBound(*state);
  const double cutoff = ledger_.Cutoff(state->dollars_per_hour);
  if (!ledger_.Open(state->bound, state->dollars_per_hour) ||
      !at_.bounds->MayBeat(state->stages, at_.costs->layers(),
                           PipelineBound(at_.costs->micro_batches()), cutoff)) {
    return;
  }
  state->estimate = at_.bounds->Estimate(state->stages);
  listed_.push_back(*state);
}

}  // namespace meshwright::transformer
