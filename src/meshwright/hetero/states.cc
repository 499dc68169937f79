#include "meshwright/hetero/states.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "meshwright/base/infinity.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr int64_t kFamilyShare = 30;  // a family has at most one of so many parts of the effort
constexpr int64_t kLeastFamilyEffort = 100'000;
constexpr size_t kMostFamilyStates = 1024;

}  // namespace

// The least that a layer costs on a stage class, for each micro-batch.
double StateLister::LayerDollars(size_t stage_class) const {
  const double seconds = at_.bounds->LeastLayer(stage_class);
  if (seconds == kInfinity) return kInfinity;
  const Family& family = at_.record->family;
  return seconds *
         LeastStagePrice(problem_.cluster.groups[family.Group(stage_class)],
                         family.degrees[stage_class]) /
         3600;
}

// Stages that a stage class can hold beside those of its group's other stage classes.
int64_t StateLister::Slack(const StageCounts& stages, size_t stage_class) const {
  const Costs& costs = *at_.costs;
  int64_t left = costs.GroupNodes(costs.Group(stage_class));
  for (size_t other = 0; other < costs.stage_classes(); ++other) {
    if (other == stage_class || costs.Group(other) != costs.Group(stage_class)) continue;
    left -= costs.Nodes(other, stages[other]);
  }
  return costs.SlotsOn(stage_class, left);
}

std::vector<State> StateLister::Promising(const FamilyCache& family) {
  at_ = family;
  listed_.clear();
  const Costs& costs = *at_.costs;
  const bool by_stage = at_.record->family.ByStage();
  for (const auto& [cheapest, halves] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    if (halves && !by_stage) continue;
    std::vector<size_t> stage_classes(costs.stage_classes());
    std::iota(stage_classes.begin(), stage_classes.end(), size_t{0});
    const auto value = [&, cheapest = cheapest](size_t stage_class) {
      return cheapest ? LayerDollars(stage_class) : at_.bounds->LeastLayer(stage_class);
    };
    std::stable_sort(stage_classes.begin(), stage_classes.end(),
                     [&](size_t a, size_t b) { return value(a) < value(b); });
    State state;
    state.family = at_.index;
    int64_t count = 0;
    for (const size_t stage_class : stage_classes) {
      if (at_.record->all_stage_classes && costs.slots(stage_class) > 0) {
        state.stages[stage_class] = 1;
        ++count;
      }
    }
    std::vector<size_t> seen;  // groups
    for (const size_t stage_class : stage_classes) {
      int64_t slack = Slack(state.stages, stage_class);
      // The first of two stage classes that share nodes has all that it can, or half.
      const size_t group = costs.Group(stage_class);
      if (halves && std::find(seen.begin(), seen.end(), group) == seen.end()) {
        slack = std::max<int64_t>(
            state.stages[stage_class],
            std::min(slack, costs.SlotsOn(stage_class, costs.GroupNodes(group) / 2)));
      }
      seen.push_back(group);
      for (int64_t n = state.stages[stage_class] + 1; n <= slack; ++n) {
        if (count >= MostStages(costs.layers())) break;
        ++count;
        state.stages[stage_class] = static_cast<int32_t>(n);
        Add(&state);
      }
    }
  }
  return std::move(listed_);
}

std::vector<State> StateLister::All(const FamilyCache& family) {
  at_ = family;
  listed_.clear();
  State state;
  state.family = at_.index;
  least_layer_dollars_ = kInfinity;
  order_.clear();
  for (size_t stage_class = 0; stage_class < at_.costs->stage_classes(); ++stage_class) {
    least_layer_dollars_ = std::min(least_layer_dollars_, LayerDollars(stage_class));
    order_.push_back(stage_class);
  }
  // Where the effort does not suffice, what lies on the cheapest stage classes alone comes first.
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return LayerDollars(a) > LayerDollars(b); });
  family_effort_ = 0;
  Decide(0, MostStages(at_.costs->layers()), 0, &state);
  effort_ += family_effort_;
  states_ += static_cast<int64_t>(listed_.size());
  std::stable_sort(listed_.begin(), listed_.end(),
                   [&](const State& a, const State& b) { return Before(a, b); });
  for (size_t i = kMostFamilyStates; i < listed_.size(); ++i) {
    archive_.LeaveOpen(listed_[i].bound, listed_[i].least_dollars());
  }
  listed_.resize(std::min(listed_.size(), kMostFamilyStates));
  return std::move(listed_);
}

bool StateLister::Before(const State& a, const State& b) const {
  const double rate = archive_.by_cost() ? a.dollars_per_hour : 1,
               other_rate = archive_.by_cost() ? b.dollars_per_hour : 1;
  return std::pair(a.estimate * rate, a.estimate) < std::pair(b.estimate * other_rate, b.estimate);
}

// Decides the stage classes from order_[index] on; `open` stages may follow. `dollars` is what
// layers that have to lie on the stage classes so far cost more than on the cheapest, for each
// micro-batch.
void StateLister::Decide(size_t index, int64_t open, double dollars, State* state) {
  if (index == order_.size()) return Add(state);
  const size_t stage_class = order_[index];
  const int64_t slack = Slack(state->stages, stage_class), most = std::min(open, slack);
  const int64_t least = at_.record->all_stage_classes && at_.costs->slots(stage_class) > 0 ? 1 : 0;
  for (int64_t i = least; i <= most; ++i) {
    // Fast states come first, or cheap ones.
    const int64_t n = options_.objective == Objective::kTime ? most - (i - least) : i;
    if (++family_effort_ > std::max(options_.state_effort / kFamilyShare, kLeastFamilyEffort)) {
      archive_.LeaveOpen(at_.record->seconds, at_.record->dollars);
      break;
    }
    const int64_t with_layer = std::max<int64_t>(0, n - kStagesWithoutLayer);
    const double more = with_layer == 0
                            ? dollars
                            : dollars + static_cast<double>(with_layer) *
                                            (LayerDollars(stage_class) - least_layer_dollars_);
    state->stages[stage_class] = static_cast<int32_t>(n);
    SetPrice(state);
    if (!archive_.recording() && !AnyUse(index, open - n, more, *state)) {
      archive_.LeaveOut(at_.record->seconds);
      continue;
    }
    Decide(index + 1, open - n, more, state);
  }
  state->stages[stage_class] = 0;
}

void StateLister::SetPrice(State* state) const {
  const Costs& costs = *at_.costs;
  state->nodes.assign(costs.groups(), 0);
  for (size_t stage_class = 0; stage_class < costs.stage_classes(); ++stage_class) {
    state->nodes[costs.Group(stage_class)] += costs.Nodes(stage_class, state->stages[stage_class]);
  }
  state->dollars_per_hour = 0;
  if (!priced_) return;
  for (size_t group = 0; group < costs.groups(); ++group) {
    state->dollars_per_hour += *PricePerHour(problem_.cluster.groups[group], state->nodes[group]);
  }
}

// Whether the state can be of use if all stage classes behind have all the stages they can.
bool StateLister::AnyUse(size_t index, int64_t open, double dollars, const State& state) const {
  StageCounts stages = state.stages;
  for (size_t i = index + 1; i < order_.size(); ++i) {
    stages[order_[i]] = static_cast<int32_t>(std::min(open, Slack(state.stages, order_[i])));
  }
  if (!at_.bounds->MayFit(stages, at_.costs->layers(), 0)) return false;
  const size_t slowest = at_.bounds->LeastSlowest(stages, at_.costs->layers());
  if (slowest == at_.bounds->values().size()) return false;
  const double micro_batches = static_cast<double>(at_.costs->micro_batches());
  const double seconds = micro_batches * at_.bounds->values()[slowest];
  if (!archive_.Open(seconds, state.dollars_per_hour)) return false;
  // The layers of these stages, and what the others cost at least.
  const double all =
      micro_batches * (static_cast<double>(at_.costs->layers()) * least_layer_dollars_ + dollars);
  return archive_.Useful(seconds, all * (1 - kBoundRounding));
}

bool StateLister::HasFixedGroups(const StageCounts& stages) const {
  std::vector<int64_t> left(at_.costs->groups());
  for (const size_t group : problem_.stage_groups) ++left[group];
  for (size_t stage_class = 0; stage_class < at_.costs->stage_classes(); ++stage_class) {
    left[at_.costs->Group(stage_class)] -= stages[stage_class];
  }
  return std::all_of(left.begin(), left.end(), [](int64_t count) { return count == 0; });
}

void StateLister::Add(State* state) {
  const int64_t count = std::accumulate(state->stages.begin(), state->stages.end(), int64_t{0});
  if (count == 0 || problem_.fixes.pp.value_or(count) != count) return;
  if (!problem_.stage_groups.empty() && !HasFixedGroups(state->stages)) return;
  state->bound = at_.bounds->Seconds(state->stages);
  if (state->bound == kInfinity) return;
  SetPrice(state);
  if (archive_.pareto()) archive_.RecordBound(*state);
  const double cutoff = archive_.Cutoff(state->dollars_per_hour);
  if (!archive_.Open(state->bound, state->dollars_per_hour) ||
      !at_.bounds->MayBeat(state->stages, at_.costs->layers(),
                           PipelineBound(at_.costs->micro_batches()), cutoff)) {
    return;
  }
  state->estimate = at_.bounds->Estimate(state->stages);
  listed_.push_back(*state);
}

}  // namespace meshwright::transformer::hetero
